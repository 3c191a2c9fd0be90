/** What files say about tools, from the file to the agent. */
import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, ConfigFile, McpManager, Toolset } from "@mcp-runtime/core"
import { ConfigFiles, NodeMcp } from "@mcp-runtime/node"
import { LeakCheck } from "@mcp-runtime/testing"
import { Effect, Layer, Stream } from "effect"
import { join } from "node:path"
import { home, write } from "./internal/configFiles.js"
import { journals, managed } from "./internal/managers.js"

/** As `docs/configuration.md` has it. */
const toolbox = Effect.gen(function*() {
  const files = yield* ConfigFiles.ConfigFiles
  const servers = ConfigFile.toolsetServers(yield* files.loaded)
  const toolset = yield* Toolset.make(yield* McpManager.McpManager, { servers })
  return toolset.for()
})

const namesOf = (box: Effect.Effect.Success<typeof toolbox>) =>
  Effect.map(box.list, ({ problems, tools }) => {
    assert.deepStrictEqual(problems, [])
    return tools.map((_) => _.name).sort()
  })

describe("a file, ConfigFiles.layer, a toolset", () => {
  it.live("agents get what the file allows, and ask where it says so; after a change, what it says then", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const [one, two] = yield* journals(2)
      assert(one !== undefined && two !== undefined)
      const path = join(project, ".mcp.json")
      const server = (log: typeof one, rules: object) => {
        const { args, command, env } = managed("", log)
        return { command, args, env, timeout: "20 seconds", concurrency: 2, trusted: true, lifetime: "lazy", ...rules }
      }
      write(path, {
        one: server(one, {
          tools: { allow: ["e*", "pid"], block: ["hang"] },
          approval: { always: ["pid"], never: ["*"] }
        }),
        two: server(two, { disabledTools: ["*"], approval: "always" })
      })
      yield* Effect.gen(function*() {
        const { connected, status } = yield* McpManager.McpManager
        assert.deepStrictEqual(yield* connected, ["one", "two"])
        const box = yield* toolbox
        assert.deepStrictEqual(yield* namesOf(box), ["one__echo", "one__pid"])
        const echoed = yield* box.call("one__echo", { text: "hi" })
        assert.strictEqual(echoed._tag, "Success")
        const asked = yield* Effect.flip(box.call("one__pid", {}))
        assert(asked._tag === "ApprovalRequired")
        assert.deepInclude(asked.pending, { server: "one", tool: "pid" })
        assert.strictEqual(one.count("got tools/call pid"), 0)
        assert.strictEqual((yield* box.approve(asked.pending))._tag, "Success")
        assert.strictEqual(one.count("got tools/call pid"), 1)
        assert.strictEqual((yield* box.call("one__hang", {}))._tag, "Failure")
        assert.strictEqual(one.count("got tools/call hang"), 0)

        const { config } = yield* status("one")
        assert.deepInclude(config, { concurrency: 2, trusted: true, lifetime: "lazy" })

        const files = yield* ConfigFiles.ConfigFiles
        write(path, { one: server(one, { tools: { allow: ["pid"] }, approval: { pid: "never" } }) })
        yield* Stream.runDrain(Stream.takeUntil(files.changes, (_) => _.entries.length === 1))
        const after = yield* toolbox
        assert.deepStrictEqual((yield* namesOf(after)).filter((_) => _.startsWith("one")), ["one__pid"])
        assert.strictEqual((yield* after.call("one__pid", {}))._tag, "Success")
      }).pipe(
        Effect.provide(Layer.provide(ConfigFiles.layer(options), [NodeMcp.layerTransport, CatalogStore.layerNone]))
      )
      assert.deepStrictEqual([...one.alive(), ...two.alive()], [])
    })))
})
