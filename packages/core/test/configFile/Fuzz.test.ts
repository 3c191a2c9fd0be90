/**
 * Files of any content are looked at by the fuzz (`test/fuzz/configs.ts`); these are the ones that need no chance.
 */
import { assert, describe, it } from "@effect/vitest"
import { loaded, valid } from "../fuzz/configs.js"

describe("whatever is in a file", () => {
  it("the valid one is valid", () => {
    const { entries, problems } = loaded(valid)
    assert.deepStrictEqual(entries.map((_) => _.name), ["files", "docs", "good"])
    assert.isTrue(problems.every((_) => _.severity === "warning"))
  })

  const servers = (n: number, server: object) =>
    JSON.stringify({ mcpServers: Object.fromEntries(Array.from({ length: n }, (_, i) => [`s${i}`, server])) })

  const large: { readonly [what: string]: () => string } = {
    "servers": () => servers(3000, { command: "npx", args: ["a"] }),
    "wrong servers": () => servers(3000, { cmmand: "npx" }),
    "arguments": () => servers(1, { command: "npx", args: Array.from({ length: 200_000 }, () => "--token") }),
    "texts with references": () =>
      servers(1, { url: `https://a.example?${"a".repeat(1_000_000)}`, headers: { A: "$A".repeat(500_000) } }),
    "colons": () => servers(1, { url: `https://${":".repeat(1_000_000)}`, proxy: `http://${":".repeat(1_000_000)}` }),
    "command and timeout": () => servers(1, { command: " a".repeat(1_000_000), timeout: `${"0".repeat(1_000_000)}x` }),
    "wrong variables": () =>
      servers(1, {
        command: "a",
        env: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`A${i}=`, []]))
      }),
    "one name again and again": () => `{ "mcpServers": { ${"\"a\": {},".repeat(200_000)} } }`,
    "disabled servers": () => JSON.stringify({ disabledServers: Array.from({ length: 9000 }, (_, i) => `s${i}`) })
  }
  for (const [what, text] of Object.entries(large)) it(`however much of it: ${what}`, () => void loaded(text()))
})
