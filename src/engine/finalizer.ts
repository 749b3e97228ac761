/** The entry in `metadata.finalizers` that keeps an object until its end has been seen to. */
import type { KubernetesObject } from "../resources/meta.ts"
import type { Ref } from "./action.ts"
import type { Step } from "./plan.ts"

/** Nothing when it is there already. */
export const hold = (kind: Ref["kind"], object: KubernetesObject, finalizer: string): ReadonlyArray<Step> => {
  const { finalizers = [] } = object.metadata
  return finalizers.includes(finalizer) ? [] : [step("hold until its end is told", "Hold", kind, object, [...finalizers, finalizer])]
}

/** Nothing when it is gone already. */
export const release = (kind: Ref["kind"], object: KubernetesObject, finalizer: string): ReadonlyArray<Step> => {
  const { finalizers = [] } = object.metadata
  return finalizers.includes(finalizer)
    ? [
        step(
          "its end is told",
          "Release",
          kind,
          object,
          finalizers.filter((each) => each !== finalizer),
        ),
      ]
    : []
}

const step = (
  why: string,
  _tag: "Hold" | "Release",
  kind: Ref["kind"],
  { metadata: { name, namespace, resourceVersion } }: KubernetesObject,
  finalizers: ReadonlyArray<string>,
): Step => ({
  why,
  actions: [{ _tag, ref: { kind, name, ...(namespace === undefined ? {} : { namespace }) }, resourceVersion, finalizers }],
  onFailure: "stop",
})
