/**
 * Stands in for undici in the bundle. The client library loads all of it (950 KB, 4 MiB at rest) for requests that the
 * operator makes with node:https instead; nothing of it is ever called.
 */
function never(): never {
  throw new Error("the operator makes its requests with node:https")
}
export { never as Agent, never as ProxyAgent, never as fetch }
