/** The second run of an application: tools are there before the servers are, and nothing secret was kept for it. */
import { assert, describe, it } from "@effect/vitest"
import { McpCatalog, type McpConfig } from "@mcp-runtime/core"
import { HttpFixture, LeakCheck } from "@mcp-runtime/testing"
import { Effect, Fiber, Option } from "effect"
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { directory, type Journal, journal } from "./internal/connections.js"
import * as Managers from "./internal/managers.js"
import { until } from "./internal/processes.js"

const { call, managed } = Managers

const filesOf = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { recursive: true, withFileTypes: true }).filter((_) => _.isFile()).map((_) =>
    join(_.parentPath, _.name)
  )

/** Waits until as many lists are stored. */
const stored = (path: string, count: number) =>
  until(`${count} lists are stored`, () => {
    try {
      return filesOf(path).length === count
    } catch {
      return false
    }
  })

/** A server that answers `initialize` only when its gate is open. The same configuration in each run. */
const gated = (log: Journal, gate: string, extra: ReadonlyArray<string> = []): McpConfig.ServerConfigInput =>
  managed("slow", log, [`gate=${gate}`, ...extra], { env: { API_TOKEN: secrets.env } })

const secrets = {
  env: "env-secret-4711",
  header: "header-secret-4712",
  user: "user-secret-4713",
  password: "password-secret-4714",
  query: "query-secret-4715"
}

const noSecretsIn = (text: string) => {
  for (const secret of Object.values(secrets)) assert.notInclude(text, secret)
}

const startup = { gate: "50 millis" } as const

describe("a warm start", () => {
  it.live(
    "what one run has listed the next one shows while the server starts; the first call waits for it and runs once",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const path = yield* directory
        const [first, gate] = [join(path, "lists"), join(path, "gate")]
        const log = yield* journal
        const http = yield* HttpFixture.make()
        const servers = [
          gated(log, gate),
          {
            name: "http",
            transport: "http" as const,
            url: http.url.replace("://", `://${secrets.user}:${secrets.password}@`) + `?key=${secrets.query}`,
            headers: { "X-Api-Key": secrets.header }
          }
        ]
        const options = { servers, directory: first, startup, connectTimeout: "25 seconds" } as const

        writeFileSync(gate, "")
        yield* Effect.scoped(Effect.gen(function*() {
          const manager = yield* Managers.make(options)
          assert.deepStrictEqual(yield* manager.connectAll, ["slow", "http"])
          yield* stored(first, 2)
        }))
        assert.strictEqual(http.log[0]?.headers["x-api-key"], secrets.header)
        for (const file of filesOf(first)) {
          assert.strictEqual(statSync(file).mode & 0o777, 0o600)
          noSecretsIn(file)
          noSecretsIn(readFileSync(file, "utf8"))
        }
        assert.strictEqual(statSync(first).mode & 0o077, 0)
        assert.deepStrictEqual(log.alive(), [])

        yield* Effect.sync(() => rmSync(gate))
        yield* Effect.scoped(Effect.gen(function*() {
          const manager = yield* Managers.make(options)
          const catalog = McpCatalog.make(manager)
          assert.deepStrictEqual(yield* manager.connectAll, ["slow", "http"])
          const deferred = (yield* catalog.current)[0]!
          assert.deepStrictEqual(
            [deferred.origin, deferred.items.map((_) => _.name), deferred.error],
            ["deferred", ["echo", "pid", "hang"], undefined]
          )
          assert.deepStrictEqual((yield* catalog.tools)[0], deferred)
          assert.strictEqual((yield* manager.status("slow")).phase, "connecting")
          assert.notInclude(yield* manager.connected, "slow")

          const calls = yield* Effect.forEach([1, 2, 3], (n) => Effect.fork(call(manager, "slow", "echo", { n })))
          yield* log.awaitCount("got initialize", 2)
          assert.strictEqual(log.count("got tools/call"), 0)
          for (const fiber of calls) assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
          writeFileSync(gate, "")
          assert.deepStrictEqual(yield* Effect.forEach(calls, Fiber.join), [`{"n":1}`, `{"n":2}`, `{"n":3}`])
          yield* Managers.awaitState(manager, (state) => Managers.phaseOf(state, "slow") === "connected")
          assert.deepStrictEqual((yield* catalog.current).map((_) => _.origin), ["live", "live"])
          assert.strictEqual((yield* catalog.tools)[0]!.origin, "live")
          assert.strictEqual(log.count("got tools/call echo"), 3)
          assert.lengthOf(log.pids(), 2)
          assert.strictEqual(log.count("got initialize"), 2)
          assert.strictEqual(log.count("got tools/list"), 2)
        }))
      })),
    60_000
  )

  it.live(
    "a server that is not there any more: its stored tools are shown until its time is over, then its error",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const path = yield* directory
        const [lists, gate] = [join(path, "lists"), join(path, "gate")]
        const log = yield* journal
        writeFileSync(gate, "")
        const options = { servers: [gated(log, gate)], directory: lists, startup }
        yield* Effect.scoped(Effect.gen(function*() {
          yield* (yield* Managers.make({ ...options, connectTimeout: "25 seconds" })).connectAll
          yield* stored(lists, 1)
        }))
        rmSync(gate)
        const manager = yield* Managers.make({ ...options, connectTimeout: "4 seconds" })
        const catalog = McpCatalog.make(manager)
        assert.deepStrictEqual(yield* manager.connectAll, ["slow"])
        assert.deepStrictEqual((yield* catalog.current).map((_) => _.origin), ["deferred"])
        const waiting = yield* Effect.fork(Effect.flip(call(manager, "slow", "echo")))
        yield* Managers.awaitState(manager, (state) => Managers.phaseOf(state, "slow") === "failed")
        assert.strictEqual((yield* Fiber.join(waiting)).executed, "no")
        assert.deepStrictEqual(yield* manager.active, [])
        assert.deepStrictEqual(yield* catalog.tools, [])
        assert.strictEqual((yield* manager.errors).get("slow")?._tag, "RequestTimeout")
        assert.strictEqual(log.count("got tools/call"), 0)
        // It is back.
        writeFileSync(gate, "")
        assert.deepStrictEqual(yield* manager.connectAll, ["slow"])
        assert.strictEqual(yield* call(manager, "slow", "echo", { n: 1 }), `{"n":1}`)
        assert.strictEqual((yield* manager.errors).size, 0)
      })),
    60_000
  )

  it.live(
    "an entry that is not readable is as none: the server is waited for, and it is replaced",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const path = yield* directory
        const [lists, gate] = [join(path, "lists"), join(path, "gate")]
        const log = yield* journal
        writeFileSync(gate, "")
        const options = {
          servers: [gated(log, gate)],
          directory: lists,
          startup,
          connectTimeout: "25 seconds"
        } as const
        const run = Effect.scoped(Effect.gen(function*() {
          yield* (yield* Managers.make(options)).connectAll
          yield* stored(lists, 1)
        }))
        yield* run
        const [file] = filesOf(lists)
        const good = JSON.parse(readFileSync(file!, "utf8")) as Record<string, unknown>
        const whole = JSON.stringify(good)
        const rubbish = ["", "{", "null", whole.slice(0, -10), `{"items":[]}`, "\0".repeat(100)]
        for (const text of rubbish) {
          writeFileSync(file!, text)
          rmSync(gate)
          yield* Effect.scoped(Effect.gen(function*() {
            const manager = yield* Managers.make(options)
            const started = log.count("got initialize")
            const connecting = yield* Effect.fork(manager.connectAll)
            yield* log.awaitCount("got initialize", started + 1)
            // There is nothing to show, so it is waited for.
            assert.deepStrictEqual(yield* manager.active, [])
            assert.isTrue(Option.isNone(yield* Fiber.poll(connecting)))
            writeFileSync(gate, "")
            assert.deepStrictEqual(yield* Fiber.join(connecting), ["slow"])
          }))
          const now = JSON.parse(readFileSync(file!, "utf8")) as Record<string, unknown>
          assert.deepStrictEqual(Object.keys(now), Object.keys(good))
          assert.deepStrictEqual(now.items, good.items)
          assert.strictEqual(statSync(file!).mode & 0o777, 0o600)
        }
      })),
    90_000
  )
})
