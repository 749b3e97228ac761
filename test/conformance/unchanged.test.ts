/** Law 4 on the real API server, for whole objects of the kinds that operators apply. */
import { assert, beforeAll, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Desired } from "#src/engine/action.ts"
import { ObjectReader } from "#src/kubernetes/objects.ts"
import { parse } from "#src/kubernetes/json.ts"
import { withQuery } from "#src/kubernetes/paths.ts"
import { Transport } from "#src/kubernetes/transport.ts"
import { canonical, unchanged } from "#src/kubernetes/unchanged.ts"
import type { KubernetesObject } from "#src/resources/meta.ts"
import { installed, live, newNamespace, vocabulary } from "./live.ts"

type Body = Desired["body"]

const { main } = vocabulary.managers
const reader = new ObjectReader(vocabulary)

/** Sends an apply, whether it would change anything or not. */
const send = Effect.fnUntraced(function* (path: string, body: Body, manager: string) {
  const transport = yield* Transport
  const query = { fieldManager: manager, force: "true" }
  const answer = yield* transport.send({
    method: "PATCH",
    path: withQuery(path, query),
    contentType: "application/apply-patch+yaml",
    verb: "patch",
    resource: "test",
    body: JSON.stringify(body),
  })
  // Event is the kind without a trim: whole objects are compared here.
  const object: KubernetesObject | undefined = reader.read("Event", parse(answer.text))
  if (answer.status >= 300 || object === undefined) return yield* Effect.die(new Error(`${answer.status} ${answer.text}`))
  return object
})

const named = (type: { readonly apiVersion: string; readonly kind: string }, name: string, body: Body): Body => {
  const { metadata, ...rest } = canonical(body)
  return { ...rest, ...type, metadata: { ...(typeof metadata === "object" ? metadata : {}), name } }
}

/** Sends an apply until nobody else writes in between: controllers report status on their own time. */
const quiet = Effect.fnUntraced(function* (path: string, body: Body, manager: string) {
  let object = yield* send(path, body, manager)
  for (let tries = 0; tries < 20; tries++) {
    const again = yield* send(path, body, manager)
    if (again.metadata.resourceVersion === object.metadata.resourceVersion) return object
    object = again
    yield* Effect.sleep(25)
  }
  return yield* Effect.die(new Error(`moved by the same apply again and again: ${JSON.stringify(body)}`))
})

/** Does this apply move the object? A controller's write in between looks like it, so it must be seen three times. */
const moves = Effect.fnUntraced(function* (path: string, from: Body, to: Body, manager: string) {
  for (let tries = 0; tries < 3; tries++) {
    const before = yield* quiet(path, from, manager)
    const after = yield* send(path, to, manager)
    if (after.metadata.resourceVersion === before.metadata.resourceVersion) return false
  }
  return true
})

/**
 * Applies one state of an object after another. After each: nothing is left to apply, applying it again moves nothing,
 * and of the other states those that are called unchanged are. Gives those that are called changed and are not.
 */
const settles = Effect.fnUntraced(function* (
  type: { readonly apiVersion: string; readonly kind: string },
  path: string,
  states: ReadonlyArray<Body>,
  manager = main,
  subresource?: string,
) {
  const unnecessary: Array<string> = []
  const target = subresource === undefined ? path : `${path}/${subresource}`
  for (const state of [...states, ...states.toReversed()]) {
    const object = yield* quiet(target, named(type, "thing", state), manager)
    assert.isTrue(unchanged(state, object, manager, subresource), `left over after an apply: ${JSON.stringify({ state, object })}`)
    for (const other of states) {
      const before = yield* quiet(target, named(type, "thing", state), manager)
      const says = unchanged(other, before, manager, subresource)
      const moved = yield* moves(target, named(type, "thing", state), named(type, "thing", other), manager)
      if (says) assert.isFalse(moved, `called unchanged, and moved: ${JSON.stringify({ other, before })}`)
      else if (!moved) unnecessary.push(JSON.stringify(other))
    }
  }
  return unnecessary
})

/** `apis/…/namespaces/<new>/<plural>/thing` */
const thing = (api: string, plural: string) => Effect.map(newNamespace, (namespace) => `/${api}/namespaces/${namespace}/${plural}/thing`)

const none = (unnecessary: ReadonlyArray<string>) => assert.deepStrictEqual(unnecessary, [], "called changed, and did not move")

const labels = { app: "greeter", "app.kubernetes.io/managed-by": vocabulary.operator }
const port = { name: "service", port: 9080, protocol: "TCP", targetPort: "service" }

const condition = (status: string, at: string) => ({
  type: "Ready",
  status,
  reason: "Deployed",
  message: "m",
  lastTransitionTime: at,
  observedGeneration: 1,
})

describe("unchanged, as the API server sees it", () => {
  beforeAll(installed)

  live(
    "holds for the Service of a version",
    Effect.gen(function* () {
      const namespace = yield* newNamespace
      const owners: Array<string> = []
      // Owners that exist: the garbage collector would take the Service away.
      for (const name of ["one", "two"])
        owners.push(
          (yield* send(
            `/api/v1/namespaces/${namespace}/configmaps/${name}`,
            named({ apiVersion: "v1", kind: "ConfigMap" }, name, {}),
            main,
          )).metadata.uid,
        )
      const owner = (index: number) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        name: index === 0 ? "one" : "two",
        uid: owners[index] ?? "",
        controller: true,
        blockOwnerDeletion: true,
      })
      none(
        yield* settles({ apiVersion: "v1", kind: "Service" }, `/api/v1/namespaces/${namespace}/services/thing`, [
          { metadata: { labels, ownerReferences: [owner(0)] }, spec: { type: "ClusterIP", selector: { app: "greeter" }, ports: [port] } },
          {
            metadata: { labels, annotations: { a: "1", b: "1000m" }, ownerReferences: [owner(0)] },
            spec: { type: "ClusterIP", selector: { app: "greeter", hash: "x" }, ports: [port] },
          },
          {
            metadata: { labels: { ...labels, more: "1" }, annotations: { b: "1" }, ownerReferences: [owner(1)] },
            spec: { type: "ClusterIP", selector: { hash: "x" }, ports: [{ ...port, targetPort: 8080 }] },
          },
          {
            metadata: { labels, annotations: {} },
            spec: { selector: { hash: "x" }, ports: [{ name: "service", port: 9080, targetPort: "8080x" }] },
          },
          {
            metadata: { labels, annotations: null, ownerReferences: [] },
            spec: { selector: { hash: "x" }, ports: [port, { name: "two", port: 81 }] },
          },
        ]),
      )
    }),
  )

  live(
    "holds for maps that are shared with others, one manager a key",
    Effect.gen(function* () {
      const namespace = yield* newNamespace
      const type = { apiVersion: "apps/v1", kind: "ReplicaSet" }
      const path = `/apis/apps/v1/namespaces/${namespace}/replicasets/thing`
      const spec = {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "a", image: "x" }] } },
      }
      const made = named(type, "thing", { metadata: { annotations: { made: "1", shared: "1" } }, spec })
      // The ReplicaSet controller writes the status once, at a moment of its own; from then on it lets the object be.
      const seen = (object: KubernetesObject) => JSON.stringify(object).includes('"observedGeneration":1')
      while (!seen(yield* send(path, made, "somebody-else"))) yield* Effect.sleep("50 millis")
      const { annotations, deploymentId, removal } = vocabulary.managers
      for (const manager of [annotations, deploymentId, removal])
        for (const wanted of [{}, { [manager]: "1" }, { shared: "1" }, { [manager]: "2", shared: "1" }, { [manager]: "2", x: "" }, {}]) {
          const body = { metadata: { annotations: wanted } }
          const before = yield* send(path, named(type, "thing", { metadata: { annotations: { probe: "1" } } }), "prober")
          const says = unchanged(body, before, manager)
          const object = yield* send(path, named(type, "thing", body), manager)
          assert.strictEqual(
            object.metadata.resourceVersion === before.metadata.resourceVersion,
            says,
            `${manager} ${JSON.stringify(wanted)}`,
          )
          assert.isTrue(unchanged(body, object, manager))
        }
    }),
  )

  live(
    "holds for a HorizontalPodAutoscaler, quantities and atomic lists included",
    Effect.map(
      Effect.flatMap(thing("apis/autoscaling/v2", "horizontalpodautoscalers"), (path) =>
        settles({ apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler" }, path, [
          { spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "ReplicaSet", name: "x" }, minReplicas: 1, maxReplicas: 3 } },
          {
            spec: {
              scaleTargetRef: { apiVersion: "apps/v1", kind: "ReplicaSet", name: "x" },
              maxReplicas: 3,
              metrics: [
                { type: "Resource", resource: { name: "cpu", target: { type: "AverageValue", averageValue: "1000m" } } },
                { type: "Pods", pods: { metric: { name: "qps" }, target: { type: "AverageValue", averageValue: "1.5k" } } },
              ],
              behavior: { scaleDown: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] } },
            },
          },
          {
            spec: {
              scaleTargetRef: { apiVersion: "apps/v1", kind: "ReplicaSet", name: "x" },
              minReplicas: 2,
              maxReplicas: 3,
              metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } }],
              behavior: { scaleUp: { stabilizationWindowSeconds: 0 } },
            },
          },
        ]),
      ),
      none,
    ),
  )

  live(
    "holds for a StatefulSet with all that pods have",
    Effect.map(
      Effect.flatMap(thing("apis/apps/v1", "statefulsets"), (path) =>
        settles({ apiVersion: "apps/v1", kind: "StatefulSet" }, path, [
          statefulSet({ name: "a", image: "x" }, {}),
          statefulSet(
            {
              name: "a",
              image: "x",
              command: ["run"],
              ports: [
                { name: "one", containerPort: 1 },
                { containerPort: 2, protocol: "UDP" },
              ],
              env: [
                { name: "A", value: "1" },
                { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
                { name: "CPU", valueFrom: { resourceFieldRef: { containerName: "a", resource: "limits.cpu", divisor: "1m" } } },
              ],
              resources: { requests: { cpu: "1000m", memory: "1.5Gi" }, limits: { cpu: 2, memory: "2048Mi" } },
              volumeMounts: [
                { name: "data", mountPath: "/data" },
                { name: "config", mountPath: "/etc/config", readOnly: true },
              ],
              readinessProbe: { httpGet: { port: "one", path: "/health" } },
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
            },
            {
              volumes: [
                { name: "config", configMap: { name: "c" } },
                { name: "tmp", emptyDir: {} },
                { name: "sized", emptyDir: { sizeLimit: "1024Mi" } },
              ],
              tolerations: [{ key: "a", operator: "Exists" }],
              securityContext: { fsGroup: 1000 },
              affinity: {
                podAntiAffinity: {
                  preferredDuringSchedulingIgnoredDuringExecution: [
                    { weight: 1, podAffinityTerm: { topologyKey: "host", labelSelector: { matchLabels: labels } } },
                  ],
                },
              },
              topologySpreadConstraints: [
                { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway", labelSelector: { matchLabels: labels } },
              ],
            },
          ),
        ]),
      ),
      none,
    ),
  )

  live(
    "holds for a NetworkPolicy, a PodDisruptionBudget and a ConfigMap",
    Effect.gen(function* () {
      none(
        yield* settles(
          { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" },
          yield* thing("apis/networking.k8s.io/v1", "networkpolicies"),
          [
            { spec: { podSelector: { matchLabels: labels }, policyTypes: ["Ingress"] } },
            { spec: { podSelector: {}, policyTypes: ["Ingress"], ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }] } },
            {
              spec: {
                podSelector: {},
                policyTypes: ["Ingress"],
                ingress: [{ from: [{ namespaceSelector: {} }], ports: [{ port: 80, protocol: "UDP" }] }],
              },
            },
          ],
        ),
      )
      none(
        yield* settles({ apiVersion: "policy/v1", kind: "PodDisruptionBudget" }, yield* thing("apis/policy/v1", "poddisruptionbudgets"), [
          { spec: { maxUnavailable: 1, selector: { matchLabels: labels } } },
          { spec: { maxUnavailable: "50%", selector: { matchLabels: { a: "b" } } } },
        ]),
      )
      none(
        yield* settles({ apiVersion: "v1", kind: "ConfigMap" }, yield* thing("api/v1", "configmaps"), [
          { data: { a: "1" } },
          { data: { a: "1000m", b: "" } },
          { metadata: { labels }, data: { b: "" } },
        ]),
      )
    }),
  )

  live(
    "holds for the status of a ServiceDeployment",
    Effect.gen(function* () {
      const { group, kind, plural, version } = vocabulary.resources.deployment
      const namespace = yield* newNamespace
      const type = { apiVersion: `${group}/${version}`, kind }
      const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}/thing`
      yield* send(
        path,
        named(type, "thing", { spec: { template: { spec: { containers: [] } }, restate: { register: { url: "http://x" } } } }),
        "user",
      )
      const states: ReadonlyArray<Body> = [
        { status: { replicas: 0, desiredReplicas: 1, conditions: [condition("False", "2026-01-01T00:00:00Z")] } },
        {
          status: {
            replicas: 1,
            desiredReplicas: 1,
            deploymentId: "dp_1",
            labelSelector: "a=b",
            conditions: [condition("True", "2026-01-01T00:00:01Z"), { ...condition("True", "2026-01-01T00:00:01Z"), type: "Stalled" }],
          },
        },
        { status: { replicas: 1, collisionCount: 1, observedGeneration: 2, conditions: [condition("True", "2026-01-01T00:00:01Z")] } },
      ]
      none(yield* settles(type, path, [...states, {}, { status: { replicas: 0 } }], main, "status"))
    }),
  )
})

function statefulSet(container: Body, pod: Body): Body {
  return {
    spec: {
      serviceName: "x",
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { ...pod, containers: [container] } },
      volumeClaimTemplates: [
        { metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1024Mi" } } } },
      ],
    },
  }
}
