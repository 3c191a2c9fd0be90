/** An application that follows its files: only what has changed in them is touched. */
import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpManager } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import * as ConfigFiles from "@mcp-runtime/node/ConfigFiles"
import { LeakCheck } from "@mcp-runtime/testing"
import { Context, Effect, Fiber, Layer, Logger, Stream } from "effect"
import { chmodSync, readFileSync, realpathSync, unlinkSync } from "node:fs"
import { join } from "node:path"
import { home, namesIn, remote, replace, write } from "./internal/configFiles.js"
import type { Journal } from "./internal/connections.js"
import { awaitState, journals, managed, phaseOf, pidOf } from "./internal/managers.js"
import { isAlive, until } from "./internal/processes.js"

/** A process, as a file says it. */
const local = (log: Journal, ...args: ReadonlyArray<string>) => {
  const { command, args: all, env } = managed("", log, args)
  return { command, args: all, env }
}

/** What is logged, in order. */
const logging = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ cause, logLevel, message }) => {
    lines.push(`${logLevel.label} ${[message].flat().join(" ")} ${JSON.stringify(cause)}`)
  })
  return { lines, layer: Logger.replace(Logger.defaultLogger, logger) }
}

const start = (options: ConfigFiles.LayerOptions) =>
  Effect.map(
    Layer.build(Layer.provide(ConfigFiles.layer(options), [NodeMcp.layerTransport, CatalogStore.layerNone])),
    (context) => ({
      manager: Context.get(context, McpManager.McpManager),
      files: Context.get(context, ConfigFiles.ConfigFiles)
    })
  )

const generationOf = (manager: McpManager.Manager, name: string) =>
  Effect.map(manager.status(name), ({ state }) => state !== undefined && "generation" in state ? state.generation : -1)

const awaitServers = (manager: McpManager.Manager, phases: { readonly [name: string]: McpManager.Phase }) =>
  awaitState(manager, (state) =>
    state.servers.map((_) => _.name).join() === Object.keys(phases).join() &&
    Object.entries(phases).every(([name, phase]) => phaseOf(state, name) === phase))

describe("layer", () => {
  it.live("without the project's file, nothing of the working directory is run for a server of the user's file", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, root, user } = yield* home
      const [log] = (yield* journals(1)) as unknown as [Journal]
      const { args, command, env } = local(log)
      const home_ = join(root, "home")
      write(join(home_, "serve"), `#!/bin/sh\nexec "${command}" ${args?.map((_) => `"${_}"`).join(" ")}\n`)
      chmodSync(join(home_, "serve"), 0o755)
      write(user, { one: { command: "./serve", env: { ...env, WHERE: { command: `pwd | tee ${root}/where` } } } })
      const { files, manager } = yield* start({ ...options, enableProjectConfig: false })
      assert.deepStrictEqual(yield* manager.connected, ["one"])
      assert.strictEqual(readFileSync(join(root, "where"), "utf8").trim(), realpathSync(home_))
      assert.deepStrictEqual((yield* files.loaded).problems, [])
    })))

  it.live("a change touches only the server that has changed: processes, generations and running calls of the others stay", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project, user } = yield* home
      const [one, two, three] = (yield* journals(3)) as unknown as [Journal, Journal, Journal]
      const path = join(project, ".mcp.json")
      write(path, { one: local(one), two: local(two) })
      const { files, manager } = yield* start(options)
      assert.deepStrictEqual(yield* manager.connected, ["one", "two"])
      const [first, second] = [yield* pidOf(manager, "one"), yield* pidOf(manager, "two")]
      const generation = yield* generationOf(manager, "one")
      const running = yield* Effect.fork(manager.callTool("one", { name: "hang" }))
      yield* one.awaitCount("got tools/call hang", 1)

      replace(path, { one: local(one), two: local(two, "changed") })
      yield* two.awaitCount("got initialize", 2)
      yield* awaitServers(manager, { one: "connected", two: "connected" })
      assert.notStrictEqual(yield* pidOf(manager, "two"), second)
      assert.isFalse(isAlive(second))

      write(user, { three: local(three) })
      yield* awaitServers(manager, { one: "connected", two: "connected", three: "connected" })
      write(path, { one: local(one) })
      yield* awaitServers(manager, { one: "connected", three: "connected" })
      assert.deepStrictEqual(two.alive(), [])
      assert.deepStrictEqual(namesIn(yield* files.loaded), ["one", "three"])

      // In other words, the same.
      write(path, `{ // a comment\n "servers": ${JSON.stringify({ one: { ...local(one), type: "stdio" } })}, }`)
      unlinkSync(user)
      yield* awaitServers(manager, { one: "connected" })

      assert.isTrue((yield* Fiber.poll(running))._tag === "None")
      assert.strictEqual(yield* pidOf(manager, "one"), first)
      assert.strictEqual(yield* generationOf(manager, "one"), generation)
      assert.strictEqual(one.count("got initialize"), 1)
      yield* Fiber.interrupt(running)
    })))

  it.live("a half-written file, and one with a broken server, disconnect nobody; what is wrong is logged once", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const [one, two] = (yield* journals(2)) as unknown as [Journal, Journal]
      const path = join(project, ".mcp.json")
      write(path, { wrong: { commmand: "x" }, one: local(one) })
      const log = logging()
      const { files, manager } = yield* Effect.provide(start(options), log.layer)
      const pid = yield* pidOf(manager, "one")
      const warnings = () => log.lines.filter((_) => _.startsWith("WARN"))
      const about = (text: string) => warnings().filter((_) => _.includes(text)).length
      assert.strictEqual(about("wrong"), warnings().length)
      const before = warnings().length
      assert.isAbove(before, 0)

      write(path, `{ "mcpServers": { "one": {`)
      const isBroken = (loaded: Effect.Effect.Success<typeof files.loaded>) =>
        loaded.problems.some((_) => _.problem.includes("stays in use"))
      yield* Stream.runDrain(Stream.takeUntil(files.changes, isBroken))
      write(path, { wrong: { commmand: "x" }, one: local(one), two: local(two) })
      yield* awaitServers(manager, { one: "connected", two: "connected" })
      assert.strictEqual(yield* pidOf(manager, "one"), pid)
      assert.strictEqual(about("stays in use"), 1)
      assert.strictEqual(warnings().length, before + 1)
      assert.strictEqual(
        log.lines.filter((_) => _.startsWith("INFO the configuration has changed: added two")).length,
        1
      )
      assert.notInclude(log.lines.join(), one.env.MCP_JOURNAL!)
    })))

  it.live("a change that fails is logged, with all as it was, and the next is made", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const [one, two] = (yield* journals(2)) as unknown as [Journal, Journal]
      const path = join(project, ".mcp.json")
      write(path, { one: local(one) })
      const log = logging()
      const { manager } = yield* Effect.provide(start({ ...options, strict: true }), log.layer)
      const pid = yield* pidOf(manager, "one")
      const running = yield* Effect.fork(manager.callTool("one", { name: "hang" }))
      write(path, { one: local(one), two: { command: "/no/such/command" } })
      yield* until(
        "a warning",
        () => log.lines.some((_) => _.startsWith("WARN the configuration has changed, but not the servers"))
      )
      assert.deepStrictEqual(yield* manager.configured, ["one"])
      write(path, { one: local(one), two: local(two) })
      yield* awaitServers(manager, { one: "connected", two: "connected" })
      assert.strictEqual(yield* pidOf(manager, "one"), pid)
      assert.isTrue((yield* Fiber.poll(running))._tag === "None")
      yield* Fiber.interrupt(running)
    })))

  it.live("servers of the application come first, and no file changes them", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const [own, one] = (yield* journals(2)) as unknown as [Journal, Journal]
      const path = join(project, "mcp.json")
      write(path, { own: { command: "/no/such/command" }, one: local(one) })
      const { manager } = yield* start({ ...options, servers: [managed("own", own)] })
      assert.deepStrictEqual(yield* manager.connected, ["own", "one"])
      unlinkSync(path)
      yield* awaitServers(manager, { own: "connected" })
      assert.lengthOf(own.pids(), 1)
    })))

  it.live("servers of the application may be what says it all: no file changes those either", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, "mcp.json"), remote("127.0.0.1:9", "a"))
      const { manager } = yield* start({ ...options, servers: ["http://127.0.0.1:9/own"], connect: false })
      const { config } = yield* manager.status("127.0.0.1:9")
      assert.strictEqual(config?.transport, "auto")
      write(join(project, "mcp.json"), remote("127.0.0.1:9", "b"))
      yield* awaitState(manager, (_) => _.servers.map((_) => _.name).join() === "127.0.0.1:9,b")
      assert.strictEqual((yield* manager.status("127.0.0.1:9")).config, config)
    })))

  it.live("without `watch` it stays as it was, and nothing is watched", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, "mcp.json"), remote("a"))
      const { files, manager } = yield* start({ ...options, watch: false, connect: false })
      write(join(project, "mcp.json"), remote("b"))
      assert.deepStrictEqual(namesIn(yield* files.loaded), ["a"])
      assert.strictEqual(yield* Stream.runCount(files.changes), 1)
      assert.deepStrictEqual(yield* manager.configured, ["a"])
    })))

  it.live("names that mean something to JavaScript are names", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const path = join(project, "mcp.json")
      const entry = `{ "url": "http://127.0.0.1:9/" }`
      write(path, `{ "mcpServers": { "__proto__": ${entry}, "constructor": ${entry} } }`)
      const { manager } = yield* start({ ...options, connect: false })
      assert.deepStrictEqual(yield* manager.configured, ["__proto__", "constructor"])
      write(path, `{ "mcpServers": { "__proto__": ${entry}, "toString": ${entry} } }`)
      yield* awaitState(manager, (_) => _.servers.map((_) => _.name).join() === "__proto__,toString")
    })))

  it.live("it ends while a change is being made: nothing is left", () =>
    LeakCheck.noLeaks(
      Effect.gen(function*() {
        const { options, project } = yield* home
        const [one, slow] = (yield* journals(2)) as unknown as [Journal, Journal]
        const path = join(project, "mcp.json")
        write(path, { one: local(one) })
        yield* Effect.scoped(Effect.gen(function*() {
          yield* start(options)
          write(path, { one: local(one), slow: local(slow, "gate=/no/such/file") })
          yield* slow.awaitCount("got initialize", 1)
        }))
        assert.deepStrictEqual([...one.alive(), ...slow.alive()], [])
      }).pipe(Effect.scoped)
    ))
})
