import { assert, describe, it } from "@effect/vitest"
import { McpConfig } from "@mcp-runtime/core"
import { Effect, Either } from "effect"

const server: McpConfig.InProcessServer = { connect: () => Promise.resolve() }

describe("McpConfig.from", () => {
  const table: ReadonlyArray<readonly [what: string | URL, config: object]> = [
    ["https://docs.example.com/mcp/s3cret", {
      name: "docs.example.com",
      transport: "auto",
      url: "https://docs.example.com/mcp/s3cret"
    }],
    ["HTTP://localhost:3000/sse", { name: "localhost:3000", transport: "auto", url: "HTTP://localhost:3000/sse" }],
    [new URL("https://user:s3cret@docs.example.com/mcp"), {
      name: "docs.example.com",
      transport: "auto",
      url: "https://user:s3cret@docs.example.com/mcp"
    }],
    ["./tools/files.js", { name: "files", transport: "stdio", command: "node", args: ["./tools/files.js"] }],
    ["files.MJS", { name: "files", transport: "stdio", command: "node", args: ["files.MJS"] }],
    ["files.cjs", { name: "files", transport: "stdio", command: "node", args: ["files.cjs"] }],
    ["files.ts", { name: "files", transport: "stdio", command: "tsx", args: ["files.ts"] }],
    ["C:\\tools\\weather.py", {
      name: "weather",
      transport: "stdio",
      command: "python3",
      args: ["C:\\tools\\weather.py"]
    }],
    ["/usr/bin/files", { name: "files", transport: "stdio", command: "/usr/bin/files" }],
    [new URL("file:///my%20tools/files.js"), {
      name: "files",
      transport: "stdio",
      command: "node",
      args: ["/my tools/files.js"]
    }],
    ["file:///C:/tools/files.py", {
      name: "files",
      transport: "stdio",
      command: "python3",
      args: ["C:/tools/files.py"]
    }],
    [".js", { name: "local", transport: "stdio", command: "node", args: [".js"] }]
  ]
  for (const [what, config] of table) {
    it.effect(String(what), () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(McpConfig.from(what), config as never)
        assert.deepStrictEqual(McpConfig.from(what, "other"), { ...config, name: "other" } as never)
        yield* McpConfig.decode(McpConfig.from(what))
      }))
  }

  it.effect("servers of this process, and configurations", () =>
    Effect.gen(function*() {
      const make = () => server
      assert.deepStrictEqual(McpConfig.from(make), { name: "in-process", transport: "inMemory", server: make })
      const config = McpConfig.from(server, "mine")
      assert.strictEqual(config.name, "mine")
      const decoded = yield* McpConfig.decode(config)
      assert.strictEqual(decoded.transport === "inMemory" && decoded.server(), server)
      const given: McpConfig.ServerConfigInput = { name: "files", transport: "stdio", command: "files" }
      assert.strictEqual(McpConfig.from(given), given)
      assert.deepStrictEqual(McpConfig.from(given, "other"), { ...given, name: "other" })
    }))

  it("what is nothing of it is a configuration that says so", () => {
    for (const what of ["ftp://a.example", "https://", "", "a\u0000"]) {
      assert.isTrue(Either.isLeft(Effect.runSync(Effect.either(McpConfig.decode(McpConfig.from(what))))), what)
    }
  })
})
