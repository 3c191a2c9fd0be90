import { assert, describe, it } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import { McpError, McpTransport } from "@mcp-runtime/core"
import * as ConfigFiles from "@mcp-runtime/node/ConfigFiles"
import * as NodeMcp from "@mcp-runtime/node/NodeMcp"
import { Duration, Effect, Either, Exit, Fiber, Layer, Option, TestClock } from "effect"
import * as Net from "node:net"
import { interruptedAtEveryStep, strideOf, sweepTime } from "../../core/test/moments.js"
import { testBounds } from "../../core/test/races.js"
import * as Examination from "../src/doctor/examination.js"
import * as Places from "../src/doctor/places.js"
import * as Reach from "../src/doctor/reach.js"
import * as Report from "../src/doctor/report.js"
import type { Common } from "../src/Options.js"
import { Screen } from "../src/output/Screen.js"
import { plain } from "../src/output/style.js"
import * as Program from "../src/Program.js"
import * as Servers from "../src/Servers.js"
import type { Setup } from "../src/Setup.js"
import { inTime, together } from "../src/together.js"
import * as Tools from "../src/Tools.js"

const atEveryStep = <A, E>(effect: Effect.Effect<A, E>) => interruptedAtEveryStep(effect, 30, 60 / strideOf(3))

const common: Common = {
  config: [],
  noProject: true,
  server: [],
  url: Option.none(),
  command: Option.none(),
  header: [],
  env: [],
  timeout: Option.none(),
  strict: false,
  noCache: false,
  json: false
}

const entry = (name: string) => ({
  name,
  origin: { level: "explicit" as const, path: "mcp.json" },
  shadows: [],
  config: { name, transport: "stdio" as const, command: "no-such-program" },
  rules: {}
})

const setup: Setup = {
  common,
  loaded: { entries: [entry("one"), entry("two")], problems: [], sources: [], inputs: new Map() },
  broken: [],
  timeout: undefined
}

/** Servers that are reached, and say nothing. */
const silent = Layer.succeed(McpTransport.McpTransport, { channel: () => Effect.never })

const outlet = {
  terminal: false,
  style: plain,
  columns: () => 100,
  rows: () => 24,
  write: () => Effect.yieldNow(),
  line: () => Effect.yieldNow()
}

const screen = Layer.succeed(Screen, {
  out: outlet,
  err: outlet,
  json: false,
  live: false,
  document: () => Effect.void,
  documentWritten: () => false,
  claimDocument: () => {}
})

describe("interrupted at every step, it ends", () => {
  it.effect("several at once", () => atEveryStep(together([1, 2, 3], () => Effect.never)), sweepTime)

  it.effect("one with a bound", () => atEveryStep(inTime(Effect.never, "1 hour", () => Effect.void)), sweepTime)

  it.effect(
    "the doctor, over several servers that say nothing",
    () =>
      atEveryStep(
        Report.diagnose(setup.loaded, { timeout: Duration.hours(1), servers: [] }).pipe(Effect.provide(silent))
      ),
    sweepTime
  )

  it.effect("the doctor, over one whose start takes long", () =>
    atEveryStep(
      Examination.examine(entry("one"), { timeout: Duration.hours(1), configFile: undefined }).pipe(
        Effect.provide(silent)
      )
    ), sweepTime)

  it.live("the looks around: at places of a process, at what is at a URL", () =>
    Effect.gen(function*() {
      const port = yield* deaf
      const config = { name: "docs", transport: "auto", url: `http://127.0.0.1:${port}/x` } as McpConfig.ServerConfig
      const error = new McpError.ProtocolViolation({ server: "docs", operation: "x", executed: "no", detail: "x" })
      yield* interruptedAtEveryStep(Reach.look(config, error), 6, 20)
      yield* atEveryStep(Places.look({ name: "one", transport: "stdio", command: "a" } as McpConfig.ServerConfig))
    }).pipe(Effect.scoped), sweepTime)

  it.effect("the layers of the command and of Node", () =>
    Effect.gen(function*() {
      for (
        const layer of [Servers.platform(setup), Servers.platform({ ...setup, common: { ...common, noCache: true } })]
      ) {
        yield* atEveryStep(Effect.scoped(Layer.build(layer)))
      }
      yield* atEveryStep(Effect.scoped(Layer.build(NodeMcp.layer)))
    }), sweepTime)

  it.effect("the layer of an application that reads its files", () =>
    atEveryStep(Effect.scoped(Layer.build(
      ConfigFiles.layer({ user: false, enableProjectConfig: false, explicit: [] }).pipe(Layer.provide(NodeMcp.layer))
    ))), sweepTime)

  it.effect("which servers a name may belong to", () => atEveryStep(Tools.candidates("add_note", setup)), sweepTime)

  it.effect(
    "the words of the command line",
    () => atEveryStep(Effect.provide(Program.run(Either.getOrThrow(Program.parse(["--version"])), "1.0.0"), screen)),
    sweepTime
  )
})

/** Accepts connections, and says nothing. */
const deaf = Effect.acquireRelease(
  Effect.async<{ readonly server: Net.Server; readonly port: number }>((resume) => {
    const server = Net.createServer((socket) => socket.on("error", () => {}).resume())
    server.listen(0, "127.0.0.1", () => {
      resume(Effect.succeed({ server, port: (server.address() as Net.AddressInfo).port }))
    })
  }),
  ({ server }) => Effect.sync(() => void server.close())
).pipe(Effect.map(({ port }) => port))

describe("together and in time", () => {
  it.effect("results are in the order of the items; the first failure ends the others", () =>
    Effect.gen(function*() {
      const all = yield* Effect.fork(together([3, 1, 2], (item) => Effect.as(Effect.sleep(item * 100), item)))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(all), [3, 1, 2])
      assert.deepStrictEqual(yield* together([], () => Effect.die("nothing to do")), [])
      let ended = 0
      const exit = yield* Effect.exit(together([0, 1], (item) =>
        item === 1 ? Effect.fail("no") : Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => ended++))))
      assert.deepStrictEqual([exit, ended], [Exit.fail("no"), 1])
    }))
})

describe("one with a bound", () => testBounds(inTime))
