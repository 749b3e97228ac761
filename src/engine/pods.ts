/** Why pods do not come up, in one line that stands still while nothing changes. */
import type { ContainerStatus, Pod } from "../resources/kubernetes.ts"

/** undefined: the pods say nothing that explains it. The first reason that people would want to know, of any of the pods. */
export const trouble = (pods: ReadonlyArray<Pod>): string | undefined =>
  signs.map((sign) => pods.map(sign).find((text) => text !== undefined)).find((text) => text !== undefined)

type Sign = (pod: Pod) => string | undefined

const ofContainers =
  (sign: (container: ContainerStatus) => string | undefined): Sign =>
  ({ status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(sign).find((text) => text !== undefined)

const signs: ReadonlyArray<Sign> = [
  ({ status }) => {
    const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled")
    return scheduled?.status === "False" ? `cannot be scheduled: ${firstLine(scheduled.message ?? scheduled.reason ?? "")}` : undefined
  },
  // ErrImagePull and ImagePullBackOff take turns, with texts of their own: here they are one.
  ofContainers(({ image, name, state }) =>
    /Image/.test(state?.waiting?.reason ?? "") ? `image "${image ?? ""}" of container ${name} cannot be pulled` : undefined,
  ),
  ofContainers(({ name, state }) =>
    (state?.waiting?.reason ?? "").endsWith("Error")
      ? `container ${name}: ${state?.waiting?.reason ?? ""}: ${firstLine(state?.waiting?.message ?? "")}`
      : undefined,
  ),
  // The text of a CrashLoopBackOff tells how long it waits, which changes each time.
  ofContainers(({ lastState, name, ready, state }) => {
    const ended = state?.terminated ?? lastState?.terminated
    return ended === undefined || ready === true || ended.exitCode === 0
      ? undefined
      : `container ${name} ends with exit code ${ended.exitCode}${ended.reason === undefined ? "" : ` (${ended.reason})`}`
  }),
  ({ status }) => (status?.phase === "Running" ? "the pods run, and their readiness probe fails" : undefined),
]

/** What others say, as much of it as anybody reads. */
const firstLine = (text: string): string => text.split("\n", 1)[0]?.slice(0, 300) ?? ""
