import { assert, describe, it } from "@effect/vitest"
import { HttpFixture } from "@mcp-runtime/testing"
import { Cause, Effect, Exit } from "effect"
import { Server } from "node:http"

/** Every server that listens is out of file descriptors. */
const withoutDescriptors = Effect.acquireRelease(
  Effect.sync(() => {
    const { listen } = Server.prototype
    Server.prototype.listen = function(this: Server) {
      process.nextTick(() => this.emit("error", Object.assign(new Error("too many open files"), { code: "EMFILE" })))
      return this
    } as typeof listen
    return listen
  }),
  (listen) =>
    Effect.sync(() => {
      Server.prototype.listen = listen
    })
)

describe("HttpFixture: listen", () => {
  it.live("dies with the error when it can't listen, and does not hang", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.scoped(Effect.zipRight(withoutDescriptors, Effect.exit(HttpFixture.make())))
      assert(Exit.isFailure(exit))
      assert.include(String(Cause.squash(exit.cause)), "too many open files")
      yield* Effect.scoped(HttpFixture.make())
    }))
})
