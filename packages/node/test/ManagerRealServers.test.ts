/** Published servers under one manager. */
import { assert, describe, it } from "@effect/vitest"
import { McpCatalog, McpError, type McpManager } from "@mcp-runtime/core"
import { LeakCheck } from "@mcp-runtime/testing"
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { directory } from "./internal/connections.js"
import * as Managers from "./internal/managers.js"
import { childrenOf, commandOf, isAlive } from "./internal/processes.js"
import { program, stdio } from "./realServers.js"

const { call } = Managers

/** The process of a published server, by its program and its last argument. */
const processOf = (server: string, argument = ""): number => {
  const found = childrenOf(process.pid).filter((pid) => {
    const command = commandOf(pid)
    return command.includes(program(server)) && command.endsWith(argument)
  })
  assert.lengthOf(found, 1)
  return found[0]!
}

const everything = "server-everything"
const filesystem = "server-filesystem"
const memory = "server-memory"
const names = [everything, filesystem, memory]

const entity = { name: "Ada", entityType: "person", observations: ["writes programs"] }

/** One call that shows that the server works. */
const works: Record<string, (manager: McpManager.Manager, root: string) => Effect.Effect<void, McpError.McpError>> = {
  [everything]: (manager) =>
    Effect.map(call(manager, everything, "get-sum", { a: 2, b: 3 }), (text) => assert.include(text, "5")),
  [filesystem]: (manager, root) =>
    Effect.map(
      call(manager, filesystem, "read_text_file", { path: join(root, "note.txt") }),
      (text) => assert.include(text, `in ${root}`)
    ),
  [memory]: (manager) =>
    manager.callTool(memory, { name: "create_entities", arguments: { entities: [entity] } }).pipe(
      Effect.zipRight(manager.callTool(memory, { name: "read_graph" })),
      Effect.map((result) => assert.include(JSON.stringify(result), "writes programs"))
    )
}

const allWork = (manager: McpManager.Manager, root: string) =>
  Effect.forEach(names, (name) => works[name]!(manager, root), { concurrency: "unbounded" })

const root = (parent: string, name: string): string => {
  const path = join(parent, name)
  mkdirSync(path)
  writeFileSync(join(path, "note.txt"), `in ${path}`)
  return path
}

describe("server-everything, server-filesystem and server-memory under one manager", () => {
  it.live(
    "offer and do what they say; one ends and comes back, one is changed; the others do not notice",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const parent = yield* directory
        const [one, two] = [root(parent, "one"), root(parent, "two")]
        const servers = (files: string) => [
          stdio(everything),
          stdio(filesystem, { args: [files] }),
          stdio(memory, { env: { MEMORY_FILE_PATH: join(parent, "memory.json") } })
        ]
        const manager = yield* Managers.make({ servers: servers(one), connectTimeout: "25 seconds" })
        const catalog = McpCatalog.make(manager)
        assert.deepStrictEqual(yield* manager.connectAll, names)

        const lists = yield* catalog.tools
        assert.deepStrictEqual(
          lists.map((_) => [_.server, _.origin, _.error]),
          names.map((_) => [_, "live", undefined])
        )
        const tools = lists.map((_) => _.items.map((_) => _.name))
        assert.includeMembers(tools[0]!, ["echo", "get-sum", "get-tiny-image"])
        assert.includeMembers(tools[1]!, ["read_text_file", "list_directory"])
        assert.includeMembers(tools[2]!, ["create_entities", "read_graph"])
        yield* allWork(manager, one)
        // What else they offer.
        const prompts = yield* catalog.prompts
        assert.deepStrictEqual(prompts.map((_) => [_.server, _.items.length > 0]), [
          [everything, true],
          [filesystem, false],
          [memory, false]
        ])
        assert.deepStrictEqual(prompts.flatMap((_) => _.error ?? []), [])
        const resources = yield* catalog.resources
        assert.isAbove(resources[0]!.items.length, 0)

        const pids = [processOf(everything), processOf(filesystem, one), processOf(memory)]
        yield* manager.disconnect(memory)
        assert.isFalse(isAlive(pids[2]!))
        assert.deepStrictEqual(yield* manager.active, [everything, filesystem])
        assert.deepStrictEqual((yield* catalog.tools).map((_) => _.server), [everything, filesystem])
        const refused = yield* Effect.flip(manager.callTool(memory, { name: "read_graph" }))
        assert.instanceOf(refused, McpError.ConnectionUnavailable)
        yield* manager.connect(memory)
        assert.deepStrictEqual(yield* manager.active, names)
        // Its file has outlived it.
        assert.include(yield* call(manager, memory, "read_graph"), "writes programs")
        yield* allWork(manager, one)

        const memoryNow = processOf(memory)
        assert.deepStrictEqual(yield* manager.reload(servers(two)), {
          added: [],
          restarted: [filesystem],
          removed: [],
          unchanged: [everything, memory]
        })
        assert.isFalse(isAlive(pids[1]!))
        assert.deepStrictEqual([processOf(everything), processOf(memory)], [pids[0]!, memoryNow])
        processOf(filesystem, two)
        yield* allWork(manager, two)
        const outside = yield* manager.callTool(filesystem, {
          name: "read_text_file",
          arguments: { path: join(one, "note.txt") }
        })
        assert.isTrue(outside.isError)

        assert.deepStrictEqual(yield* manager.reload(servers(two)), {
          added: [],
          restarted: [],
          removed: [],
          unchanged: names
        })
        assert.deepStrictEqual(yield* manager.reload([servers(two)[2]!]), {
          added: [],
          restarted: [],
          removed: [everything, filesystem],
          unchanged: [memory]
        })
        assert.isFalse(isAlive(pids[0]!))
        assert.strictEqual(processOf(memory), memoryNow)
        assert.deepStrictEqual(yield* manager.active, [memory])
        assert.deepStrictEqual((yield* catalog.tools).map((_) => _.server), [memory])
        assert.deepStrictEqual(yield* manager.close, [])
        assert.isFalse(isAlive(memoryNow))
      })),
    90_000
  )
})
