/** Many readers of the same: each at its own pace, and at its own cost. */
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Exit, Fiber, FiberId, Scope, Stream } from "effect"
import { Hub } from "../src/internal/hub.js"
import { macrotask } from "./gateWire.js"

const settled = Effect.repeatN(macrotask, 2)

/** Values are as large as they say; counts how many were measured. */
const make = (bounds: { readonly count: number; readonly size: number }) => {
  const measured: Array<number> = []
  const sizeOf = (value: number) => {
    measured.push(value)
    return value
  }
  return { hub: new Hub<number>({ ...bounds, sizeOf }), measured }
}

/** What it reads from now on, as it reads it. */
const reading = (hub: Hub<number>) =>
  Effect.gen(function*() {
    const read: Array<number> = []
    const stream = yield* hub.subscribe
    yield* Effect.forkScoped(Stream.runForEach(stream, (value) => Effect.sync(() => read.push(value))))
    yield* settled
    return read
  })

const publishAll = (hub: Hub<number>, values: ReadonlyArray<number>) =>
  Effect.sync(() => values.map((_) => hub.publish(_)))

const read = <A>(stream: Stream.Stream<A>, count: number) =>
  Effect.map(Stream.runCollect(Stream.take(stream, count)), Chunk.toReadonlyArray)

describe("Hub", () => {
  it.scoped("a fast reader loses nothing where a slow one loses the oldest", () =>
    Effect.gen(function*() {
      const { hub } = make({ count: 100, size: 10 })
      const slow = yield* hub.subscribe
      const fast = yield* reading(hub)
      const lost: Array<number> = []
      for (const value of [6, 5, 4, 3, 8, 1]) {
        lost.push(hub.publish(value))
        yield* settled
      }
      assert.deepStrictEqual(fast, [6, 5, 4, 3, 8, 1])
      assert.deepStrictEqual(lost, [0, 1, 0, 1, 2, 0])
      assert.deepStrictEqual(yield* read(slow, 2), [8, 1])
    }))

  it.scoped("each of several slow readers is bounded, and what they lose together is counted once", () =>
    Effect.gen(function*() {
      const { hub, measured } = make({ count: 100, size: 10 })
      const first = yield* hub.subscribe
      assert.deepStrictEqual(yield* publishAll(hub, [4, 5]), [0, 0])
      const second = yield* hub.subscribe
      assert.deepStrictEqual(yield* publishAll(hub, [6, 7, 9]), [2, 1, 1])
      assert.deepStrictEqual(yield* read(first, 1), [9])
      assert.deepStrictEqual(yield* read(second, 1), [9])
      assert.deepStrictEqual(measured, [4, 5, 6, 7, 9], "once, for both of them")
    }))

  it.scoped("a reader that has caught up has all its room again", () =>
    Effect.gen(function*() {
      const { hub } = make({ count: 100, size: 10 })
      const slow = yield* hub.subscribe
      for (let round = 0; round < 3; round++) {
        assert.deepStrictEqual(yield* publishAll(hub, [1, 3, 7]), [0, 0, 1])
        assert.deepStrictEqual(yield* read(slow, 2), [3, 7])
      }
    }))

  it.scoped("nothing is measured for nobody, for a reader that waits, or for one that has left", () =>
    Effect.gen(function*() {
      const { hub, measured } = make({ count: 100, size: 10 })
      assert.deepStrictEqual(yield* publishAll(hub, [20, 20]), [0, 0])
      const scope = yield* Scope.make()
      const fast = yield* Scope.extend(reading(hub), scope)
      yield* publishAll(hub, [20])
      yield* settled
      assert.deepStrictEqual(fast, [20])
      const slow = yield* Scope.extend(hub.subscribe, scope)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* publishAll(hub, [20, 20]), [0, 0])
      assert.deepStrictEqual(measured, [])
      assert.deepStrictEqual(yield* read(slow, 1), [], "nothing is kept for it")
    }))

  it.scoped("who waits gets the next one beside as many as may wait, and an interruption loses none", () =>
    Effect.gen(function*() {
      const { hub } = make({ count: 2, size: 10 })
      const stream = yield* hub.subscribe
      const waiting = yield* Effect.fork(Stream.runDrain(stream))
      yield* settled
      waiting.unsafeInterruptAsFork(FiberId.none)
      const lost = yield* publishAll(hub, [1, 2, 3])
      assert.deepStrictEqual(lost, [0, 0, 0])
      yield* Fiber.await(waiting)
      assert.deepStrictEqual(yield* read(stream, 3), [1, 2, 3])
    }))

  it.scoped("after the end every reader has ended, and keeps nothing", () =>
    Effect.gen(function*() {
      const { hub, measured } = make({ count: 100, size: 10 })
      const slow = yield* hub.subscribe
      const waiting = yield* Effect.fork(Stream.runCollect(yield* hub.subscribe))
      yield* settled
      yield* publishAll(hub, [1])
      yield* settled
      yield* hub.shutdown
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Fiber.join(waiting)), [1])
      assert.deepStrictEqual(yield* read(slow, 1), [])
      measured.length = 0
      const late = yield* hub.subscribe
      assert.deepStrictEqual(yield* publishAll(hub, [20, 20]), [0, 0])
      assert.deepStrictEqual(measured, [])
      assert.deepStrictEqual(yield* read(late, 1), [])
    }))
})
