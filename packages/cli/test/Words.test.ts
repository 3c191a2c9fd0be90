import { assert, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import * as Words from "../src/doctor/words.js"

it("what is said of an error is without what it is about, whether that is a server or not", () => {
  for (const server of ["files", "<files>", "<manager>", "<toolset>", ""]) {
    const error = new McpError.ConnectionUnavailable({
      server,
      operation: "tools/call",
      executed: "no",
      reason: "Released",
      detail: "it has closed"
    })
    assert.strictEqual(Words.said(error), "there is no connection: it has closed", server)
  }
})
