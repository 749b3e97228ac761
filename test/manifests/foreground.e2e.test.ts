/** Deletions that would take the pods from running invocations are refused by the installed policy. */
import { beforeAll, describe, expect, it } from "vitest"
import { documents } from "../../sandbox/install.ts"
import type { KubernetesClient } from "../../sandbox/kubernetes-client.ts"
import { connect, committedCrd, editions, eventually, install, refusal } from "../support/api-server.ts"

describe.each(editions)("in the vocabulary $edition", (vocabulary) => {
  const { group, version, kind, plural, finalizer } = vocabulary.resources.deployment
  const namespace = `foreground-${vocabulary.edition}`
  const path = (name: string) => `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${name}`
  let client: KubernetesClient

  const held = async (name: string): Promise<void> => {
    const spec = { template: { spec: { containers: [] } }, restate: { register: { url: "http://admin:9070" } } }
    await client.create(path(""), { apiVersion: `${group}/${version}`, kind, metadata: { name, finalizers: [finalizer] }, spec })
  }

  beforeAll(async () => {
    client = await connect()
    await install(client, committedCrd(vocabulary, "deployment"))
    await client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
    for (const object of documents(`dist-manifests/${vocabulary.edition}/install.yaml`))
      if (object.kind?.startsWith("ValidatingAdmissionPolicy") === true) await client.apply(object)
    // A policy takes a moment until it is in force: objects are used up until the first refusal.
    let tries = 0
    await eventually(async () => {
      const name = `probe-${tries++}`
      await held(name)
      await refusal(client.delete(path(name), { propagationPolicy: "Foreground" }))
    })
  })

  it.each(["Foreground", "Orphan"])("refuses %s and says what to do instead", async (propagationPolicy) => {
    await held(`held-${propagationPolicy.toLowerCase()}`)
    const { message } = await refusal(client.delete(path(`held-${propagationPolicy.toLowerCase()}`), { propagationPolicy }))
    expect(message).toContain(propagationPolicy)
    expect(message).toContain("delete in the background")
  })

  it.each([
    ["background", { propagationPolicy: "Background" }],
    ["default", {}],
  ])("lets a deletion by %s pass", async (what, options) => {
    await held(`passes-${what}`)
    await client.delete(path(`passes-${what}`), options)
    expect(await client.get(path(`passes-${what}`))).toMatchObject({ metadata: { deletionTimestamp: expect.any(String) } })
  })
})
