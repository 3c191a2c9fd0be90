import { assert, describe, it } from "@effect/vitest"
import { JsonSchema, McpConfig } from "@mcp-runtime/core"
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import { FastCheck } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import * as Format from "../../src/internal/configFile/format.js"

const file = new URL("../../schema/mcp.schema.json", import.meta.url)

const validator = JsonSchema.compile(ConfigFile.jsonSchema)

const loadOf = (server: unknown) =>
  ConfigFile.load([{ level: "user", path: "mcp.json", text: JSON.stringify({ mcpServers: { x: server } }) }])

/** What editors underline: errors, and fields that are not known. */
const isUnderlined = ({ problem, severity }: ConfigFile.Problem) =>
  severity === "error" || /not a known field|is not known|is not read|belongs to a server/.test(problem)

describe("the schema of the file format", () => {
  it("is the file in the package (MCP_UPDATE_SCHEMA=1 writes it)", () => {
    const text = `${JSON.stringify(ConfigFile.jsonSchema, null, 2)}\n`
    if (process.env.MCP_UPDATE_SCHEMA === "1") writeFileSync(file, text)
    assert.strictEqual(readFileSync(file, "utf8"), text)
  })

  it("can be decided in full", () => {
    assert.deepStrictEqual(validator.undecidable, [])
  })

  it("files have every field that a configuration has, but for what only code can give", () => {
    const elsewhere = ["name", "transport", "expand", "secrets", "requestHeaders"]
    const fieldsOf = (schema: { readonly fields: object }) =>
      Object.keys(schema.fields).filter((_) => !elsewhere.includes(_)).sort()
    const onlyInFiles = [
      "type",
      "transport",
      "disabled",
      "timeout",
      "tools",
      "enabledTools",
      "disabledTools",
      "approval"
    ]
    const inFiles = (fields: ReadonlySet<string>) => [...fields].filter((_) => !onlyInFiles.includes(_)).sort()
    assert.deepStrictEqual(inFiles(Format.fields.local), fieldsOf(McpConfig.StdioConfig))
    assert.deepStrictEqual(inFiles(Format.fields.remote), fieldsOf(McpConfig.AutoConfig))
  })

  it("every field says what it is for", () => {
    const { $defs } = ConfigFile.jsonSchema as {
      readonly $defs: Record<string, { readonly properties: Record<string, { readonly description?: string }> }>
    }
    for (const name of ["LocalServer", "RemoteServer"]) {
      for (const [field, schema] of Object.entries($defs[name]!.properties)) assert.isString(schema.description, field)
    }
  })

  it("and the reader agree on single servers", () => {
    const scalar = FastCheck.constantFrom<unknown>(
      "",
      " ",
      "text",
      "5 seconds",
      "0 seconds",
      "-1 second",
      "1.5 hours",
      "stdio",
      "http",
      "https://a.example/mcp",
      "always",
      "serial",
      "lazy",
      "all",
      "none",
      "debug",
      0,
      1,
      -1,
      1.5,
      true,
      false,
      null,
      "${A}",
      { env: "A" },
      { env: " " },
      { command: "a", timeout: 5 },
      { command: "a", timeout: "0 seconds" },
      { store: "a", env: "b" }
    )
    const key = FastCheck.constantFrom(
      "A",
      "env",
      "store",
      "command",
      "timeout",
      "idle",
      "every",
      "allow",
      "block",
      "always",
      "never",
      "pages",
      "request",
      "close",
      "type",
      "clientId",
      "clientSecret",
      "CLIENT_ID",
      "CLIENT_SECRET",
      "scopes",
      "ca",
      "key",
      "passphrase",
      "verify",
      "afterEof"
    )
    const value = FastCheck.oneof(
      scalar,
      FastCheck.array(scalar, { maxLength: 2 }),
      FastCheck.dictionary(key, FastCheck.oneof(scalar, FastCheck.array(scalar, { maxLength: 2 })), { maxKeys: 2 })
    )
    const field = FastCheck.constantFrom(...Format.fields.local, ...Format.fields.remote, "zzz", "_note", "description")
    const server = FastCheck.tuple(
      FastCheck.constantFrom<object>({ command: "npx" }, { url: "https://a.example/mcp" }, {}),
      FastCheck.array(FastCheck.tuple(field, value), { maxLength: 2 })
    ).map(([place, more]) => ({ ...place, ...Object.fromEntries(more) }))
    let [valid, invalid] = [0, 0]
    FastCheck.assert(
      FastCheck.property(server, (server) => {
        const { problems } = loadOf(server)
        const validation = validator.validate({ mcpServers: { x: server } })
        assert.notStrictEqual(validation._tag, "Unknown")
        // What editors can't know: values that only `McpConfig` judges, and rules between fields.
        const beyond =
          /must be an (http|https)|a URL|holds a reference|either clientSecret|says the same|says something else|in the list|at most/
        const found = problems.filter(isUnderlined)
        if (found.some((_) => beyond.test(_.problem)) && found.every((_) => beyond.test(_.problem))) return
        if (validation._tag === "Valid") valid++
        else invalid++
        assert.strictEqual(
          found.length === 0,
          validation._tag === "Valid",
          `${JSON.stringify(server)}\n${JSON.stringify(problems)}\n${JSON.stringify(validation)}`
        )
      }),
      { numRuns: 5000 }
    )
    assert.isAbove(valid, 500)
    assert.isAbove(invalid, 500)
  })

  it("knows the shapes of files", () => {
    const server = { command: "npx" }
    for (
      const good of [
        {},
        { $schema: "a", mcpServers: { x: server } },
        { servers: { x: server }, inputs: [{ id: "a", type: "promptString" }] },
        { mcp: { servers: { x: server } }, "editor.fontSize": 1 },
        { disabledServers: ["a"], enabledServers: [] },
        { mcpServers: { x: { disabled: true }, y: { enabled: false, _note: 1 } } }
      ]
    ) assert.deepStrictEqual(validator.validate(good), { _tag: "Valid" })
    for (
      const bad of [
        [],
        { mcpServers: [] },
        { mcpServers: { x: 1 } },
        { mcpServers: { "": server } },
        { servers: { x: {} } },
        { mcp: { servers: { x: {} } } },
        { inputs: {} },
        { disabledServers: [1] },
        { mcpServers: { x: { command: "npx", url: "https://a.example" } } }
      ]
    ) assert.strictEqual(validator.validate(bad)._tag, "Invalid", JSON.stringify(bad))
  })
})
