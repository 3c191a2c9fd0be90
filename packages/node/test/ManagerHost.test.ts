/** What becomes of a manager and its servers when their application ends, or dies: S19, S20. */
import { assert, describe, it } from "@effect/vitest"
import { LeakCheck, StdioFixture } from "@mcp-runtime/testing"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { directory, journal } from "./internal/connections.js"
import { managed } from "./internal/managers.js"
import { until } from "./internal/processes.js"

const path = (script: string) => fileURLToPath(new URL(`./internal/${script}`, import.meta.url))

/** Starts an application. Its lists are stored in a directory of its own. */
const start = (script: string, ...args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const cache = yield* directory
    let output = ""
    let errors = ""
    let ending: number | string | null | undefined
    const child = spawn(
      process.execPath,
      ["--import", "tsx", "--conditions=@mcp-runtime/source", path(script), ...args],
      { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, XDG_CACHE_HOME: cache } }
    )
    child.stdout.on("data", (chunk) => output += String(chunk))
    child.stderr.on("data", (chunk) => errors += String(chunk))
    child.on("close", (code, signal) => ending = signal ?? code)
    yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
    return {
      pid: child.pid!,
      cache,
      ended: Effect.map(
        until("the application has ended", () => ending !== undefined),
        () => ({ ending, errors, output })
      )
    }
  })

const shutdown = { afterEof: "100 millis", afterTerm: "100 millis" } as const

describe("the application is killed while it connects its servers", () => {
  const moments = {
    "as soon as the first has started": { wanted: "stage started", count: 1 },
    "while handshakes hang": { wanted: "stage initialize", count: 4 }
  }
  for (const [moment, { count, wanted }] of Object.entries(moments)) {
    for (const mode of ["parallel", "sequential"] as const) {
      if (mode === "sequential" && count > 1) continue
      it.live(`S19: ${mode}, ${moment}: no server is left`, () =>
        LeakCheck.scoped(
          Effect.gen(function*() {
            const log = yield* journal
            const { env } = log
            const server = (name: string, flags: ReadonlyArray<StdioFixture.Flag>) =>
              StdioFixture.config(flags, { name, env, shutdown })
            const servers = [
              server("good", []),
              server("hanging", ["noinit", "keepalive"]),
              server("stubborn", ["noinit", "keepalive", "ignoreterm"]),
              StdioFixture.wrapped(["noinit", "keepalive", "ignoreterm"], { name: "wrapped", env, shutdown })
            ]
            const host = yield* start("managerHost.ts", mode, JSON.stringify(servers))
            yield* log.awaitCount(wanted, count)
            process.kill(host.pid, "SIGKILL")
            assert.strictEqual((yield* host.ended).ending, "SIGKILL")
            yield* until("all servers are dead", () => log.alive().length === 0)
          }),
          { patience: "15 seconds" }
        ), 60_000)
    }
  }
})

describe("an application that isn't Effect", () => {
  it.live(
    "S20: it calls, aborts, is refused, closes, and ends by itself; no server is left",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const [one, two] = [yield* journal, yield* journal]
        const servers = [
          managed("one", one),
          managed("two", two),
          StdioFixture.config(["earlyexit"], { name: "broken", env: one.env })
        ]
        const host = yield* start("promiseHost.ts", JSON.stringify({ servers, connectTimeout: 25_000 }))
        const { ending, errors, output } = yield* host.ended
        assert.strictEqual(ending, 0, errors)
        assert.deepStrictEqual([one.alive(), two.alive()], [[], []])
        const lines = output.trim().split("\n")
        const seen = JSON.parse(lines[lines.length - 1]!) as Record<
          string,
          { readonly _tag: string; readonly message: string }
        >
        assert.deepStrictEqual(seen.active as unknown, ["one", "two"])
        assert.deepStrictEqual(seen.tools as unknown, [["one", 3], ["two", 3]])
        assert.deepStrictEqual(
          seen.answers as unknown,
          ["one", "two"].map((server) => [{ type: "text", text: JSON.stringify({ server }) }])
        )
        assert.strictEqual(seen.unknown?._tag, "UnknownServer")
        assert.strictEqual(seen.aborted?.message, "not wanted any more")
        assert.strictEqual(seen.late?._tag, "OutcomeUnknown")
        assert.include(seen.late?.message, "within 300 ms")
        assert.strictEqual(seen.disconnected?._tag, "ConnectionUnavailable")
        assert.deepStrictEqual(seen.again as unknown, [{ type: "text", text: `{"server":"one"}` }])
        assert.strictEqual(seen.running?._tag, "OutcomeUnknown")
        assert.strictEqual(seen.closed?._tag, "ConnectionUnavailable")
        assert.isUndefined(seen.unhandled)
        assert.strictEqual(seen.end as unknown, "closed")
        // Two calls were given up, and the server was told of both; of the third it learns by its end.
        assert.strictEqual(one.count("got notifications/cancelled"), 2)
        assert.strictEqual(one.count("got tools/call hang"), 3)
        assert.deepStrictEqual([one, two].map((_) => _.count("got initialize")), [2, 1])
        assert.isTrue(existsSync(join(host.cache, "mcp-runtime")))
      })),
    60_000
  )

  it.live(
    "S20: where all must be connected and one can't be, the promise is rejected, and it ends by itself",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const log = yield* journal
        const servers = [managed("good", log), StdioFixture.config(["earlyexit"], { name: "broken", env: log.env })]
        const host = yield* start("promiseHost.ts", JSON.stringify({ servers, strict: true, connectTimeout: 25_000 }))
        const { ending, errors, output } = yield* host.ended
        assert.strictEqual(ending, 0, errors)
        assert.deepStrictEqual(JSON.parse(output), { end: "ServersFailed" })
        assert.deepStrictEqual(log.alive(), [])
      })),
    60_000
  )
})
