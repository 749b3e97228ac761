/**
 * How Node is to run the operator. V8 lets its nursery grow to 16 MiB and keeps it, which is a fifth of all the memory
 * the operator needs: 1 MiB costs a little more collecting. The old space is bounded, so that a leak ends in a restart
 * and not on the node's OOM killer.
 */
export const nodeOptions: ReadonlyArray<string> = ["--max-semi-space-size=1", "--max-old-space-size=160"]
