/** The Service of a version, and where it leads. */
import { describe, expect, it } from "vitest"
import { service } from "../../src/deployment/service.ts"
import { deployment, nameOf, version, vocabulary } from "../support/given.ts"

const targetOf = (...containers: ReadonlyArray<ReadonlyArray<object>>): unknown => {
  const spec = { template: { spec: { containers: containers.map((ports, index) => ({ name: `c${index}`, ports })) } } }
  const { body } = service(deployment("v1", { spec }), version("v1", {}, { spec }), vocabulary)
  return JSON.parse(JSON.stringify(body)).spec.ports
}

describe("the Service of a version", () => {
  it.each([
    ["the port with our name, wherever it is", [[{ containerPort: 1 }], [{ containerPort: 2 }, { name: "service", containerPort: 3 }]], 3],
    ["the first port of all, without one of our name", [[{ containerPort: 1 }, { containerPort: 2 }], [{ containerPort: 3 }]], 1],
    ["9080, without ports", [[], []], 9080],
  ])("leads to %s (scenario 65)", (_, containers, targetPort) => {
    expect(targetOf(...containers)).toEqual([{ name: "service", port: 9080, protocol: "TCP", targetPort }])
  })

  it("finds the pods of its version only, and goes with its ReplicaSet", () => {
    const set = version("v1")
    expect(service(deployment("v1"), set, vocabulary)).toMatchObject({
      ref: { kind: "Service", namespace: "default", name: nameOf("v1") },
      body: { metadata: { ownerReferences: [{ kind: "ReplicaSet", uid: set.metadata.uid }] } },
    })
  })
})
