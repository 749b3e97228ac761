/**
 * How Node is to run the operator, for memory. Measured with 100 objects, which is noisy by a few MiB: 132 MiB at rest
 * without any of this, 111 to 115 with it. V8 would let its nursery grow to 16 MiB and keep it; 1 MiB instead of 2 saves
 * nothing more and costs a third more time in the collector (src/telemetry/memory.ts gives back what a burst leaves: 107 MiB
 * at rest). The old space is bounded, so that a leak ends in a restart
 * and not with the machine's OOM killer.
 */
export const nodeOptions: ReadonlyArray<string> = ["--max-semi-space-size=2", "--max-old-space-size=160"]

/** glibc gives each thread an arena of its own, and Node has a dozen threads that hardly allocate. */
export const nodeEnvironment: { readonly [variable: string]: string } = { MALLOC_ARENA_MAX: "1" }
