/**
 * Alone in its file, because the timers of undici must be born under the fake clock.
 */
import { assert, it } from "@effect/vitest"
import * as UndiciExchange from "@mcp-runtime/node/UndiciExchange"
import { Effect } from "effect"
import { vi } from "vitest"
import { open } from "../../core/test/exchangeContract.js"
import { httpServer, send } from "../../core/test/exchangeServer.js"

it.live("H10: a quiet stream is not cut, however long it is quiet", () =>
  Effect.gen(function*() {
    yield* Effect.acquireRelease(
      Effect.sync(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] })),
      () => Effect.sync(() => vi.useRealTimers())
    )
    let more: (() => void) | undefined
    const server = yield* httpServer((arrived, response) => {
      if (arrived.body === "quiet") more = () => response.end("late")
      else {
        more = () => response.write("more")
        response.writeHead(200).flushHeaders()
      }
    })
    const client = yield* open({ url: server.url })
    const stream = send(client, { url: server.url, method: "GET", body: undefined }, "stream")
    yield* stream.until(() => stream.events.length === 1)
    vi.advanceTimersByTime(900_000)
    more!()
    yield* stream.until(() => stream.events.length === 2)
    assert.deepStrictEqual(stream.events, ["head", "data"])
    const quiet = send(client, { url: server.url, body: "quiet" })
    yield* server.until(() => server.requests.length === 2)
    vi.advanceTimersByTime(900_000)
    more!()
    yield* quiet.settled
    assert.strictEqual(quiet.body, "late")
    stream.abort()
  }).pipe(Effect.scoped, Effect.provide(UndiciExchange.layer)))
