/**
 * What a server may say to a connection without doing harm.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { connect, ready, settled, stdio } from "./kit.js"

describe("notifications", () => {
  it.scoped("a method that is the name of something every object has is one like any other", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio)
      yield* ready(connection)
      const methods = [
        "constructor",
        "__proto__",
        "toString",
        "hasOwnProperty",
        "notifications/tools/list_changed",
        "last"
      ]
      const heard = yield* connection.notifications.pipe(
        Stream.map((_) => _.method),
        Stream.takeUntil((_) => _ === "last"),
        Stream.runCollect,
        Effect.fork
      )
      yield* settled
      for (const method of methods) yield* server.notify(method)
      yield* settled
      const collected = yield* Fiber.poll(heard)
      assert.isTrue(collected._tag === "Some", "not everything was heard")
      assert.deepStrictEqual([...(yield* Fiber.join(heard))], methods)
    }))
})
