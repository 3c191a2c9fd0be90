import { assert, describe, it } from "@effect/vitest"
import { McpConfig } from "@mcp-runtime/core"
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import { Effect, Either, FastCheck } from "effect"
import * as Format from "../../src/internal/configFile/format.js"

const canary = "c4n4ry9f31"

/** `MCP_FUZZ=20` for twenty times as many inputs. */
const times = Number(process.env.MCP_FUZZ ?? 1)

const valid = `{
  // comment
  "$schema": "https://example.com/schema.json",
  "inputs": [{ "id": "a", "type": "promptString", "password": true }],
  "mcpServers": {
    "files": {
      "command": "npx", "args": ["-y", "server", 1, true], "env": { "TOKEN": "${canary}", "B": { "env": "C" } },
      "timeout": "30 seconds", "tools": { "allow": ["a*"] }, "approval": { "a": "always" }, "lifetime": { "idle": 1 },
    },
    "docs": {
      "type": "http", "url": "https://user:${canary}@docs.example.com/mcp?token=${canary}",
      "headers": { "Authorization": "Bearer ${canary}" }, "auth": { "type": "oauth", "clientSecret": "${canary}" },
    },
  },
  "disabledServers": ["docs"], "enabledServers": [],
}`

const check = (text: string, options?: ConfigFile.LoadOptions) => {
  const start = performance.now()
  const loaded = ConfigFile.load([
    { level: "project", path: ".mcp.json", text },
    { level: "user", path: "mcp.json", text: `{ "mcpServers": { "good": { "command": "good" } } }` }
  ], options)
  assert.isBelow(performance.now() - start, 10_000)
  for (const config of ConfigFile.serversOf(loaded)) {
    assert.isTrue(Either.isRight(Effect.runSync(Effect.either(McpConfig.decode(config)))))
  }
  assert.strictEqual(new Set(loaded.entries.map((_) => _.name)).size, loaded.entries.length)
  assert.isTrue(loaded.entries.some((_) => _.name === "good"))
  ConfigFile.toolsetServers(loaded)
  for (const problem of loaded.problems) {
    const line = ConfigFile.display(problem)
    assert.notInclude(line, canary)
    assert.isBelow(line.length, 1200)
    if (problem.line !== undefined) assert.isAtMost(problem.line, text.split("\n").length)
  }
  return loaded
}

describe("whatever is in a file", () => {
  it("the valid one is valid", () => {
    const loaded = check(valid)
    assert.deepStrictEqual(loaded.entries.map((_) => _.name), ["files", "docs", "good"])
    assert.isTrue(loaded.problems.every((_) => _.severity === "warning"))
  })

  it("a file that is cut or has other characters in it costs no more than itself", () => {
    const edit = FastCheck.record({
      at: FastCheck.nat(valid.length),
      length: FastCheck.nat(20),
      by: FastCheck.oneof(
        FastCheck.constantFrom(
          "",
          "{",
          "}",
          "[",
          "]",
          "\"",
          ",",
          ":",
          "\\",
          "/*",
          "//",
          "null",
          "1e999",
          "\u0000",
          "\ufeff"
        ),
        FastCheck.string({ maxLength: 5 })
      )
    })
    FastCheck.assert(
      FastCheck.property(FastCheck.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        let text = valid
        for (const { at, by, length } of edits) text = text.slice(0, at) + by + text.slice(at + length)
        check(text)
      }),
      { numRuns: 3000 * times }
    )
  })

  it("any text", () => {
    FastCheck.assert(FastCheck.property(FastCheck.string({ maxLength: 200 }), (text) => void check(text)), {
      numRuns: 1000 * times
    })
  })

  it("any value in any place, and no value in any problem", () => {
    const leaf = FastCheck.oneof(
      FastCheck.constantFrom<unknown>(canary, `\${${canary}}`, `\${env:${canary}}`, `https://a:${canary}@b.example`),
      FastCheck.constantFrom<unknown>(null, true, 0, -1, 1e308, "", " ", "npx -y foo", `${canary} b`, "stdio", "http"),
      FastCheck.constantFrom<unknown>("https://a.example", "file:///a", "\u0000", "~/a", `$${canary.toUpperCase()}`)
    )
    const key = FastCheck.constantFrom(
      ...Format.fields.local,
      ...Format.fields.remote,
      "__proto__",
      "constructor",
      "toString",
      "",
      "zz",
      "A",
      "Authorization",
      "clientSecret",
      "key"
    )
    const { value } = FastCheck.letrec((tie) => ({
      value: FastCheck.oneof(
        { maxDepth: 4 },
        leaf,
        FastCheck.array(tie("value"), { maxLength: 3 }),
        FastCheck.array(FastCheck.tuple(key, tie("value")), { maxLength: 4 })
          .map((fields) => Object.fromEntries(fields))
      )
    }))
    const root = FastCheck.constantFrom(
      "mcpServers",
      "servers",
      "inputs",
      "mcp",
      "disabledServers",
      "enabledServers",
      "zz"
    )
    const server = FastCheck.tuple(
      FastCheck.constantFrom<object>({ command: "npx" }, { url: "https://a.example" }, {}),
      FastCheck.array(FastCheck.tuple(key, value), { maxLength: 3 })
    ).map(([place, more]) => ({ ...place, ...Object.fromEntries(more) }))
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.tuple(root, value), { maxLength: 3 }), (fields) => {
        check(JSON.stringify(Object.fromEntries(fields)))
      }),
      { numRuns: 1000 * times }
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.tuple(key, server), { maxLength: 3 }), (servers) => {
        check(JSON.stringify({ mcpServers: Object.fromEntries(servers) }))
      }),
      { numRuns: 3000 * times }
    )
  })

  it("large files take bounded time", () => {
    const servers = (n: number, server: object) =>
      JSON.stringify({ mcpServers: Object.fromEntries(Array.from({ length: n }, (_, i) => [`s${i}`, server])) })
    check(servers(30_000, { command: "npx", args: ["a"] }))
    check(servers(30_000, { cmmand: "npx" }))
    check(servers(1, { command: "npx", args: Array.from({ length: 300_000 }, () => "--token") }))
    check(servers(1, { url: `https://a.example?${"a".repeat(1_000_000)}`, headers: { A: "$A".repeat(500_000) } }))
    check(servers(1, { url: `https://${":".repeat(1_000_000)}`, proxy: `http://${":".repeat(1_000_000)}` }))
    check(servers(1, { command: " a".repeat(1_000_000), timeout: `${"0".repeat(1_000_000)}x` }))
    check(
      servers(1, { command: "a", env: Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`A${i}=`, []])) })
    )
    check(`{ "mcpServers": { ${"\"a\": {},".repeat(300_000)} } }`)
    check(JSON.stringify({ disabledServers: Array.from({ length: 9000 }, (_, i) => `s${i}`) }))
  })
})
