/** Nonsense, refusals and absences: each is told clearly, costs nobody else anything, and removes nothing. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { KubernetesObject } from "../../sandbox/kubernetes-types.ts"
import type { User } from "../../sandbox/user.ts"
import { waitFor } from "../../sandbox/wait.ts"
import { OperatorWorld, type Spec } from "../support/operator-world.ts"

describe("beside a healthy object", () => {
  let world: OperatorWorld
  let healthy: User
  beforeAll(async () => {
    world = await OperatorWorld.start()
    healthy = await world.user("healthy")
    await world.apply(healthy)
    await healthy.ready("greeter:v1")
  })
  afterAll(() => world?.stop())

  const apply = async (name: string, change: (spec: Spec) => void): Promise<User> => {
    const user = await world.user("broken", name)
    await world.apply(user, change)
    return user
  }
  const warnings = async (user: User) => (await user.events()).filter(({ type }) => type === "Warning")

  it("a cluster that does not exist is named, with one event, and the pods run already", async () => {
    const user = await apply("no-cluster", (spec) => (spec.restate.register = { cluster: "nowhere" }))
    const { message } = await user.condition("FailedReconcile")
    expect(message).toContain("spec.restate.register.cluster")
    expect(message).toContain('"nowhere"')
    expect(await user.versions()).toHaveLength(1)
    const told = await waitFor("the event", async () => ((await warnings(user)).length > 0 ? warnings(user) : undefined))
    expect(told.map(({ note }) => note)).toEqual([message])
  })

  it("a cluster that is not ready is waited for, and registration follows at once when it is (scenario 45)", async () => {
    await world.sandbox.client.apply<KubernetesObject & { spec: object }>({
      apiVersion: "durable.dev/v1",
      kind: "ServiceCluster",
      // Left alone by the operator, so that the test can say when it is ready.
      metadata: { name: "main", annotations: { "durable.dev/reconcile": "disabled" } },
      spec: { storage: { storageRequestBytes: 1 }, compute: { image: "none" } },
    })
    const user = await apply("with-cluster", (spec) => (spec.restate.register = { cluster: "main" }))
    await user.condition("ClusterNotReady")
    const conditions = [{ type: "Ready", status: "True", reason: "Test", message: "", lastTransitionTime: new Date().toISOString() }]
    await world.sandbox.client.patch("/apis/durable.dev/v1/serviceclusters/main/status", { status: { conditions } })
    // Nobody serves service.main.svc.cluster.local here: that it is tried shows that the wait is over.
    const { message } = await user.condition("AdminCallRejected", 20_000)
    expect(message).toContain("503")
  })

  it("an image that does not exist leaves the version unready and says how many pods are missing", async () => {
    const user = await apply("no-image", (spec) => (spec.template.spec["containers"] = [{ name: "app", image: "nowhere:v1" }]))
    const { message } = await user.condition("ReplicaSetPodNotReady")
    expect(message).toContain("0 of 1 pods")
  })

  it("a pod that fits nowhere leaves the version unready", async () => {
    const user = await apply("too-big", (spec) => (spec.template.spec["nodeSelector"] = { moon: "base" }))
    await user.condition("ReplicaSetPodNotReady")
  })

  it("an endpoint that is no SDK gives the server's own words, and one event", async () => {
    const user = await apply("no-sdk", (spec) => {
      spec.template.spec["containers"] = [
        {
          name: "app",
          image: "greeter:v1",
          command: [process.execPath, "-e", "require('http2').createServer((q,s)=>s.end('hello')).listen(9080,process.env.HOST)"],
          readinessProbe: { tcpSocket: { port: 9080 } },
        },
      ]
    })
    const { message } = await user.condition("AdminCallRejected")
    expect(message).toMatch(/META00\d\d/)
    const told = await waitFor("the event", async () => ((await warnings(user)).length > 0 ? warnings(user) : undefined))
    expect(told).toHaveLength(1)
  })

  it("an endpoint that is down gives the server's own words", async () => {
    // Ready by a port of its own, with nobody behind the one that the Service leads to.
    const elsewhere = "require('net').createServer().listen(9081,process.env.HOST)"
    const user = await apply("down", (spec) => {
      spec.template.spec["containers"] = [
        {
          name: "app",
          image: "greeter:v1",
          command: [process.execPath, "-e", elsewhere],
          ports: [{ name: "service", containerPort: 9080 }],
          readinessProbe: { tcpSocket: { port: 9081 } },
        },
      ]
    })
    expect((await user.condition("AdminCallRejected")).message).toMatch(/META00\d\d/)
  })

  it.each([
    ["answers 500", 500, "application/json", '{"message":"broken","restate_code":null}', "AdminCallRejected", "broken"],
    ["answers HTML", 200, "text/html", "<html><body>Welcome</body></html>", "AdminCallFailed", "<html>"],
  ])("an admin API that %s is quoted, and nothing is removed", async (what, status, type, body, reason, words) => {
    const server = createServer((_, response) => response.writeHead(status, { "content-type": type }).end(body))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port }: Pick<AddressInfo, "port"> = Object.assign({ port: 0 }, server.address())
    try {
      const user = await apply(
        `admin-${what.replace(/\W+/g, "-")}`.toLowerCase(),
        (spec) => (spec.restate.register = { url: `http://127.0.0.1:${port}` }),
      )
      const { message } = await user.condition(reason)
      expect(message).toContain(words)
      expect(await user.versions()).toHaveLength(1)
    } finally {
      server.close()
    }
  })

  it("an admin API that is down is a failed call", async () => {
    const user = await apply("admin-down", (spec) => (spec.restate.register = { url: "http://127.0.0.1:9" }))
    await user.condition("AdminCallFailed")
    expect(await user.versions()).toHaveLength(1)
  })

  it("two register targets and a selector that does not match are refused at admission", async () => {
    await expect(apply("two", (spec) => (spec.restate.register = { url: "http://a:1", cluster: "main" }))).rejects.toThrow(
      /spec\.restate\.register/,
    )
    await expect(apply("selector", (spec) => (spec.selector = { matchLabels: { app: "other" } }))).rejects.toThrow(/selector/)
  })

  it("has cost the healthy object nothing: it rolls over as ever", async () => {
    await healthy.setImage("greeter:v2")
    await healthy.ready("greeter:v2", 20_000)
    expect(await healthy.call("greet", "Ada")).toBe("v2: hello Ada")
  })
})
