import { setTimeout as sleep } from "node:timers/promises"
import { ApiError } from "./kubernetes-client.ts"

const everyMs = 200

/**
 * Writes until the API server has taken it, as a kubelet does: the server may be away for a while. Ends without the write
 * when there is nothing to write to any more (404), when it is another's by now (409), or when the caller has given up.
 */
export const insist = async (write: () => Promise<unknown>, givenUp: () => boolean = () => false): Promise<void> => {
  while (!givenUp()) {
    try {
      await write()
      return
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return
      await sleep(everyMs, undefined, { ref: false })
    }
  }
}
