module durable.dev/sandbox/pause

go 1.24
