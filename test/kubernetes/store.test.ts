import { assert, describe, it } from "@effect/vitest"
import { Store, type StoreChange } from "#src/runtime/store.ts"
import type { KubernetesObject } from "#src/resources/meta.ts"
import { dice } from "./random.ts"

interface Thing extends KubernetesObject {
  readonly data?: { readonly [field: string]: string }
}

const thing = (
  version: number,
  data: { readonly [field: string]: string } = {},
  more: { readonly name?: string; readonly uid?: string; readonly owner?: string } & Partial<KubernetesObject["metadata"]> = {},
): Thing => {
  const { name = "a", uid = "1", owner, ...metadata } = more
  return {
    apiVersion: "v1",
    kind: "Thing",
    metadata: { name, uid, resourceVersion: String(version), ...(owner === undefined ? {} : { labels: { owner } }), ...metadata },
    data,
  }
}

const newStore = () =>
  new Store<Thing>((object) => (object.metadata.labels?.["owner"] === undefined ? [] : [["owner", object.metadata.labels["owner"]]]))

/** A write from begin to end with its response in between. */
const write = (store: Store<Thing>, response: Thing, written: unknown = { data: response.data }, between: () => void = () => undefined) => {
  store.begin(undefined, response.metadata.name)
  between()
  store.put(response, written)
  return store.end(undefined, response.metadata.name)
}

const versions = (change: StoreChange<Thing> | undefined) =>
  change === undefined ? undefined : [change.before?.metadata.resourceVersion, change.after?.metadata.resourceVersion]

describe("the store", () => {
  it("has the response of a write before the watch does", () => {
    const store = newStore()
    store.replace([thing(1)], "1")
    write(store, thing(5, { a: "1" }))
    assert.strictEqual(store.get(undefined, "a")?.metadata.resourceVersion, "5")
  })

  it("an object that lost its label, which a watch calls deleted, is back when it has it again", () => {
    const store = newStore()
    store.replace([thing(1), thing(1, {}, { name: "b", uid: "2" })], "1")
    store.remove(thing(2))
    write(store, thing(3, { a: "1" }))
    assert.strictEqual(store.get(undefined, "a")?.metadata.resourceVersion, "3")
    assert.isUndefined(store.upsert(thing(3, { a: "1" })))
    assert.deepStrictEqual(versions(store.upsert(thing(4))), ["3", "4"])
    // Also when the watch is the first to know, and when it was a list that left it out.
    store.remove(thing(5))
    assert.deepStrictEqual(versions(store.upsert(thing(6))), [undefined, "6"])
    store.replace([], "7")
    assert.deepStrictEqual(versions(store.upsert(thing(8))), [undefined, "8"])
    // What was written before its end stays gone.
    write(store, thing(7, {}, { name: "b", uid: "2" }))
    assert.isUndefined(store.get(undefined, "b"))
  })

  it("an older event never takes a newer state back", () => {
    const store = newStore()
    store.replace([thing(1)], "1")
    write(store, thing(5, { a: "1" }))
    store.upsert(thing(3, { b: "1" }))
    assert.strictEqual(store.get(undefined, "a")?.metadata.resourceVersion, "5")
  })

  it("the echo of a write wakes nobody, whether it comes after the response or before", () => {
    const after = newStore()
    after.replace([thing(1)], "1")
    assert.isUndefined(write(after, thing(2, { a: "1" })))
    assert.isUndefined(after.upsert(thing(2, { a: "1" })))
    const before = newStore()
    before.replace([thing(1)], "1")
    let heard: unknown
    const end = write(before, thing(2, { a: "1" }), undefined === heard ? { data: { a: "1" } } : {}, () => {
      heard = before.upsert(thing(2, { a: "1" }))
    })
    assert.deepStrictEqual([heard, end], [undefined, undefined])
  })

  it("the echo of a creation wakes nobody", () => {
    const store = newStore()
    store.replace([], "1")
    assert.isUndefined(write(store, thing(2, { a: "1" })))
    assert.isUndefined(store.upsert(thing(2, { a: "1" })))
  })

  it("a foreign change that a response brought along is told when the watch has caught up", () => {
    const store = newStore()
    store.replace([thing(1)], "1")
    assert.isUndefined(write(store, thing(3, { theirs: "1", ours: "1" }), { data: { ours: "1" } }))
    assert.isUndefined(store.upsert(thing(2, { theirs: "1" })))
    assert.deepStrictEqual(versions(store.upsert(thing(3, { theirs: "1", ours: "1" }))), ["1", "3"])
  })

  it("a write that changed nothing does not swallow the foreign change whose resourceVersion it was answered with", () => {
    for (const echoFirst of [true, false]) {
      const store = newStore()
      store.replace([thing(1)], "1")
      const event = () => store.upsert(thing(2, { theirs: "1" }))
      const end = write(store, thing(2, { theirs: "1" }), { data: { ours: "1" } }, echoFirst ? event : undefined)
      assert.deepStrictEqual(versions(echoFirst ? end : event()), ["1", "2"], `echo first: ${echoFirst}`)
    }
  })

  it("a foreign change during a write that fails is told at its end", () => {
    const store = newStore()
    store.replace([thing(1)], "1")
    store.begin(undefined, "a")
    assert.isUndefined(store.upsert(thing(2)))
    assert.deepStrictEqual(versions(store.end(undefined, "a")), ["1", "2"])
  })

  it("the content of the watch wins over that of a subresource's response", () => {
    const store = newStore()
    store.replace([thing(1, { replicas: "1" })], "1")
    write(store, thing(3, { replicas: "2" }), { data: { replicas: "2" } })
    assert.deepStrictEqual(versions(store.upsert(thing(3, { replicas: "2", theirs: "1" }))), ["1", "3"])
    assert.strictEqual(store.get(undefined, "a")?.data?.["theirs"], "1")
  })

  it("a deleted object is hidden at once, and until the watch says so", () => {
    const store = newStore()
    store.replace([thing(1, {}, { owner: "x" })], "1")
    store.tombstone(undefined, "a", "1")
    assert.isUndefined(store.get(undefined, "a"))
    assert.isUndefined(store.upsert(thing(2, {}, { owner: "x" })))
    assert.deepStrictEqual(store.list("owner", "x"), [])
    assert.deepStrictEqual(versions(store.remove(thing(3, {}, { owner: "x" }))), ["2", undefined])
  })

  it("a tombstone is for one UID: the object made anew under that name is there", () => {
    const store = newStore()
    store.replace([thing(1)], "1")
    store.tombstone(undefined, "a", "1")
    write(store, thing(5, {}, { uid: "2" }))
    assert.strictEqual(store.get(undefined, "a")?.metadata.uid, "2")
    store.remove(thing(4))
    assert.strictEqual(store.get(undefined, "a")?.metadata.uid, "2")
    store.tombstone(undefined, "a", "1")
    assert.strictEqual(store.get(undefined, "a")?.metadata.uid, "2")
  })

  it("a response that comes after the deletion does not bring the object back", () => {
    const store = newStore()
    store.replace([thing(1)], "1")
    store.begin(undefined, "a")
    store.remove(thing(3))
    store.put(thing(2, { a: "1" }), {})
    store.end(undefined, "a")
    assert.isUndefined(store.get(undefined, "a"))
  })

  it("the write that takes the last finalizer of a terminating object away is its end", () => {
    const store = newStore()
    store.replace([thing(1, {}, { finalizers: ["x"] })], "1")
    write(store, thing(2, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }))
    assert.isUndefined(store.get(undefined, "a"))
  })

  it("a list is what is there: changes, additions and deletions since the last one are told", () => {
    const store = newStore()
    store.replace([thing(1), thing(2, {}, { name: "b", uid: "2" })], "2")
    const changes = store.replace([thing(4), thing(5, {}, { name: "c", uid: "3" })], "6")
    assert.deepStrictEqual(changes.map(versions), [
      ["1", "4"],
      [undefined, "5"],
      ["2", undefined],
    ])
  })

  it("a list that was taken before a creation does not delete what was created", () => {
    const store = newStore()
    store.replace([], "1")
    write(store, thing(5))
    assert.deepStrictEqual(store.replace([], "4"), [])
    assert.strictEqual(store.get(undefined, "a")?.metadata.resourceVersion, "5")
  })

  it("a list from before what the watch told means a restored backup: all is taken from the list", () => {
    const store = newStore()
    store.replace([thing(100, { a: "new" }), thing(90, {}, { name: "b", uid: "2" })], "100")
    store.replace([thing(10, { a: "old" })], "50")
    assert.deepStrictEqual([store.get(undefined, "a")?.data?.["a"], store.get(undefined, "b")], ["old", undefined])
    assert.isDefined(store.upsert(thing(60)))
  })

  it("indexes follow the objects, sorted by name", () => {
    const store = newStore()
    store.replace([thing(1, {}, { name: "b", uid: "2", owner: "x" }), thing(1, {}, { name: "a", owner: "x" })], "1")
    assert.deepStrictEqual(
      store.list("owner", "x").map(({ metadata }) => metadata.name),
      ["a", "b"],
    )
    store.upsert(thing(2, {}, { name: "b", uid: "2", owner: "y" }))
    assert.deepStrictEqual([store.list("owner", "x").length, store.list("owner", "y").length], [1, 1])
    store.remove(thing(3, {}, { owner: "x" }))
    assert.deepStrictEqual(store.list("owner", "x"), [])
  })

  it("for any order of responses and events: in the end all is as on the server, and no foreign change went untold", () => {
    for (let seed = 0; seed < 500; seed++) {
      const d = dice(seed)
      const store = newStore()
      let server = thing(1)
      store.replace([server], "1")
      let told: Thing | undefined = server
      const events: Array<Thing> = []
      const responses: Array<{ readonly response: Thing; readonly written: unknown }> = []
      const hear = (change: StoreChange<Thing> | undefined) => {
        if (change !== undefined) told = change.after
      }
      let foreign = 0
      for (let step = 0; step < 20 || events.length > 0 || responses.length > 0; step++) {
        const move = d.below(step < 20 ? 5 : 2)
        if (move === 0 && events.length > 0) hear(store.upsert(events.shift() ?? server))
        else if (move === 1 && responses.length > 0) {
          const { response, written } = responses.shift() ?? { response: server, written: {} }
          store.put(response, written)
          hear(store.end(undefined, "a"))
        } else if (move === 2) {
          foreign += 1
          server = thing(Number(server.metadata.resourceVersion) + 1, { ...server.data, theirs: String(foreign) })
          events.push(server)
        } else if (move > 2) {
          store.begin(undefined, "a")
          const ours = String(d.below(3))
          // Half of the writes change nothing, and are answered with what is there.
          if (server.data?.["ours"] !== ours) {
            server = thing(Number(server.metadata.resourceVersion) + 1, { ...server.data, ours })
            events.push(server)
          }
          responses.push({ response: server, written: { data: { ours } } })
        }
      }
      assert.deepStrictEqual(store.get(undefined, "a"), server, `seed ${seed}`)
      if (foreign > 0) assert.strictEqual(told?.data?.["theirs"], String(foreign), `seed ${seed}`)
    }
  })
})
