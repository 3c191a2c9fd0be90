/**
 * One bound on the requests of all servers.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { begun, ending, fake, isDone, over, settled } from "./kit.js"

/** Servers whose calls hang until they are let go; who is under way, in order. */
const hanging = (names: string) =>
  Effect.gen(function*() {
    const underWay: Array<string> = []
    const order: Array<string> = []
    const waiting: Array<{ readonly name: string; readonly go: Deferred.Deferred<void> }> = []
    let most = 0
    const all = yield* Effect.forEach(names.split(" "), (name) =>
      fake(name, {
        tools: [{
          name: "hang",
          call: () =>
            Effect.gen(function*() {
              const go = yield* Deferred.make<void>()
              underWay.push(name)
              order.push(name)
              waiting.push({ name, go })
              most = Math.max(most, underWay.length)
              yield* Effect.ensuring(
                Deferred.await(go),
                Effect.sync(() => void underWay.splice(underWay.indexOf(name), 1))
              )
              return "done"
            })
        }]
      }))
    const letOneGo = Effect.zipRight(
      Effect.suspend(() => Deferred.succeed(waiting.shift()!.go, undefined)),
      settled
    )
    return { all, underWay, order, letOneGo, most: () => most }
  })

describe("McpManager: requests", () => {
  it.scoped("never more than so many under way over all servers; the turns go round by server", () =>
    Effect.gen(function*() {
      const { all, letOneGo, most, order, underWay } = yield* hanging("a b c")
      const manager = yield* over(all, { requests: 2 })
      yield* manager.connectAll
      const call = (name: string) => begun(manager.callTool(name, { name: "hang" }))
      const calls = [
        ...yield* Effect.forEach(["a", "a", "a", "a", "a", "a"], call),
        ...yield* Effect.forEach(["b", "b", "c", "c"], call)
      ]
      assert.deepStrictEqual(underWay, ["a", "a"])
      for (let i = 0; i < 10; i++) {
        assert.strictEqual(underWay.length, Math.min(2, 10 - i))
        yield* letOneGo
      }
      assert.strictEqual(most(), 2)
      assert.strictEqual(order.length, 10)
      // Those that came last did not wait for all that one server had before them.
      assert.isBelow(order.lastIndexOf("c"), 9)
      assert.isTrue(order.slice(2, 6).includes("b") && order.slice(2, 6).includes("c"))
      for (const one of calls) assert.strictEqual(ending(yield* Fiber.join(one)), "success")
    }))

  it.scoped("connecting and listing need no turn: a server is connected while all turns are taken", () =>
    Effect.gen(function*() {
      const { all, letOneGo } = yield* hanging("a b")
      const manager = yield* over(all, { requests: 1 })
      yield* manager.connect("a")
      const call = yield* begun(manager.callTool("a", { name: "hang" }))
      const connecting = yield* begun(manager.connectAll)
      assert.isTrue(yield* isDone(connecting))
      assert.strictEqual(ending(yield* Fiber.join(connecting)), "success")
      const other = yield* begun(manager.callTool("b", { name: "hang" }))
      assert.isFalse(yield* isDone(other))
      yield* letOneGo
      yield* letOneGo
      assert.strictEqual(ending(yield* Fiber.join(call)), "success")
      assert.strictEqual(ending(yield* Fiber.join(other)), "success")
    }))

  it.scoped("a server that is closed or disconnected gives its turns back", () =>
    Effect.gen(function*() {
      const { all, letOneGo } = yield* hanging("a b")
      const manager = yield* over(all, { requests: 1 })
      yield* manager.connectAll
      const lost = yield* begun(manager.callTool("a", { name: "hang" }))
      const next = yield* begun(manager.callTool("b", { name: "hang" }))
      yield* manager.disconnect("a")
      yield* settled
      assert.match(ending(yield* Fiber.join(lost)), /^a: /)
      assert.isFalse(yield* isDone(next))
      yield* Effect.forEach([1, 2], () => Effect.exit(letOneGo))
      assert.strictEqual(ending(yield* Fiber.join(next)), "success")
    }))

  it.scoped("a bound is of one manager", () =>
    Effect.gen(function*() {
      const { all, underWay } = yield* hanging("a")
      const [one, other] = [yield* over(all, { requests: 1 }), yield* over(all, { requests: 1 })]
      yield* begun(one.callTool("a", { name: "hang" }))
      yield* begun(one.callTool("a", { name: "hang" }))
      yield* begun(other.callTool("a", { name: "hang" }))
      assert.deepStrictEqual(underWay, ["a", "a"])
    }))
})
