import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import * as Errors from "../src/internal/engine/errors.js"

const facts = { server: "a", executed: "no" } as const
const problems = [{ field: "env.TOKEN", problem: "is not set" }]

describe("an error about another operation", () => {
  it("says what was tried, and whether that may have run", () => {
    const error = new McpError.ConnectionClosed({ ...facts, operation: "open", reason: "Exited", detail: "x" })
    const told = Errors.about(error, "tools/call", "maybe")
    assert.instanceOf(told, McpError.ConnectionClosed)
    assert.deepInclude(told, { operation: "tools/call", executed: "maybe", reason: "Exited", detail: "x" })
  })

  it("stays one of the configuration, and says whether what was tried may have run", () => {
    const error = new McpError.ConfigInvalid({ ...facts, operation: "configure", problems })
    const told = Errors.about(error, "tools/call", "maybe")
    assert.deepInclude(told, { operation: "configure", executed: "maybe", problems })
    assert.include(told.message, "the configuration is invalid")
    const input = new McpError.ConfigInvalid({ ...facts, operation: "ping", problems })
    assert.deepInclude(Errors.about(input, "tools/call", "no"), { operation: "tools/call" })
  })
})
