import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type * as Net from "node:net"
import * as Tls from "node:tls"
import * as Undici from "undici"
import { httpServer, Recorded } from "../../core/test/exchangeServer.js"
import { Exchange, Lanes } from "../src/internal/undiciLanes.js"

const lanesOf = (port: number) => {
  const sockets = new Set<Net.Socket>()
  const lanes = new Lanes({
    undici: Undici,
    origin: `http://127.0.0.1:${port}`,
    destination: { secure: false, host: "127.0.0.1", port, session: undefined },
    context: {
      settings: { context: () => Tls.createSecureContext(), verify: true, proxy: undefined },
      sockets,
      deadline: () => () => {}
    },
    clientOptions: {},
    max: Number.POSITIVE_INFINITY,
    proxyAuthorized: undefined
  })
  return { lanes, sockets }
}

describe("undici: lanes", () => {
  it.live("a burst leaves no lanes behind once its sockets have closed", () =>
    Effect.gen(function*() {
      const server = yield* httpServer((_, response) => response.end("ok"))
      const { lanes, sockets } = lanesOf(server.port)
      const all = Array.from({ length: 20 }, () => new Recorded())
      for (const recorded of all) {
        lanes.submit(new Exchange({ method: "POST", path: "/", body: "{}" }, recorded, lanes))
      }
      for (const recorded of all) yield* recorded.settled
      assert.strictEqual(lanes.size, 20)
      const closed = Effect.forEach(sockets, (socket) =>
        Effect.async<void>((resume) => {
          socket.once("close", () => resume(Effect.void))
        }), { concurrency: "unbounded" })
      const waiting = yield* Effect.fork(closed)
      yield* Effect.yieldNow()
      for (const socket of server.sockets) socket.destroy()
      yield* waiting
      assert.strictEqual(lanes.size, 0)
      assert.strictEqual(sockets.size, 0)
      lanes.close()
    }).pipe(Effect.scoped))
})
