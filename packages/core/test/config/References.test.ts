/** What is a reference in a text, and what it becomes. */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig } from "@mcp-runtime/core"
import * as SecretResolver from "@mcp-runtime/core/SecretResolver"
import { Effect } from "effect"
import { processorMillis } from "../processor.js"
import { openOnce, problemsOf, type Resolved } from "./references.kit.js"

const env: Record<string, string> = {
  VAR: "value",
  EMPTY: "",
  B: "b",
  "ProgramFiles(x86)": "programs",
  NESTED: "${VAR}",
  DOLLARS: "$& $1 $$"
}

const resolver = SecretResolver.fromMap({ env, input: { "api-key": "given" }, userHome: "/home/me" })

const inTexts = (texts: ReadonlyArray<string>, expand: McpConfig.Expand = { workspaceFolder: "/work" }) =>
  McpConfig.decode({ name: "a", transport: "stdio", command: "x", args: [...texts], expand })

const render = (text: string, expand?: McpConfig.Expand) =>
  Effect.gen(function*() {
    const resolved = yield* openOnce(yield* inTexts([text], expand), resolver)
    return (resolved as Resolved).args![0]
  })

const table: ReadonlyArray<readonly [text: string, becomes: string, why?: string]> = [
  // The table of oh-my-pi.
  ["${VAR}", "value"],
  ["${UNSET:-def}", "def"],
  ["${EMPTY:-def}", "", "set to nothing is set"],
  ["${UNSET:-}", ""],
  ["${EMPTY}", ""],
  ["${A:=x}", "${A:=x}"],
  ["${A-x}", "${A-x}"],
  ["$VAR", "$VAR"],
  ["${ VAR }", "${ VAR }"],
  ["${UNSET:-${B}}", "b", "a default is expanded, which oh-my-pi does not"],
  ["\\${VAR}", "\\value", "a backslash is no escape"],
  // Ours.
  ["Bearer ${VAR}!", "Bearer value!"],
  ["${VAR}${VAR}", "valuevalue"],
  ["${VAR:-${UNSET}}", "value", "a default that is not needed is not looked up"],
  ["${UNSET:-${ALSO:-${VAR}}}", "value"],
  ["${UNSET:-a${B}c}", "abc"],
  ["${UNSET:-{\"a\":1}}", "{\"a\":1}", "as a shell has it"],
  ["${env:VAR}", "value"],
  ["${env:UNSET:-def}", "def"],
  ["${env:ProgramFiles(x86)}", "programs"],
  ["${input:api-key}", "given"],
  ["${input:none:-def}", "def"],
  ["${workspaceFolder}/x", "/work/x"],
  ["a/${workspaceFolderBasename}.log", "a/work.log"],
  ["${userHome}/x", "/home/me/x"],
  ["${NESTED}", "${VAR}", "a value is not expanded again"],
  ["${DOLLARS}", "$& $1 $$", "nor taken for a pattern"],
  ["$${VAR}", "$value"],
  ["${VAR", "${VAR"],
  ["${UNSET:-${VAR}", "${UNSET:-value", "what has no end is text"],
  ["}${VAR}", "}value"],
  ["${}", "${}"],
  ["${1A}", "${1A}"],
  ["${command:x}", "${command:x}"],
  ["${config:x.y}", "${config:x.y}"],
  ["${/}", "${/}"],
  ["${VAR:+x}", "${VAR:+x}"],
  ["${VAR}\n${B}", "value\nb"],
  ["100 $ and {braces}", "100 $ and {braces}"]
]

describe("references in texts", () => {
  for (const [text, becomes, why] of table) {
    it.effect(`3B.9: ${JSON.stringify(text)} is ${JSON.stringify(becomes)}${why === undefined ? "" : `: ${why}`}`, () =>
      Effect.map(render(text), (_) => assert.strictEqual(_, becomes)))
  }

  it.effect("one that is unset is a problem of its field, which names the variable", () =>
    Effect.gen(function*() {
      const config = yield* inTexts(["ok ${VAR}", "${UNSET}", "${UNSET:-${ALSO}}", "${input:none}"])
      assert.deepStrictEqual(yield* problemsOf(openOnce(config, resolver)), {
        "args.1": "there is no variable \"UNSET\"",
        "args.2": "there is no variable \"ALSO\"",
        "args.3": "there is no input \"none\""
      })
    }))

  it.effect("the directory of the project is known only where it is given", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* render("${workspaceFolder:-here}", true), "here")
      for (const [folder, name] of [["/a/b/", "b"], ["C:\\a\\b", "b"], ["/", ""]] as const) {
        assert.strictEqual(yield* render("${workspaceFolderBasename:-x}", { workspaceFolder: folder }), name)
      }
      const problems = yield* problemsOf(render("${workspaceFolder}", true))
      assert.include(problems["args.0"], "give the directory")
    }))

  it.effect("names that every object has are no variables", () =>
    Effect.gen(function*() {
      for (const name of ["constructor", "__proto__", "toString"]) {
        assert.strictEqual(yield* render(`\${${name}:-none}`), "none")
      }
    }))

  it.effect("without `expand` nothing is a reference", () =>
    Effect.gen(function*() {
      const config = yield* McpConfig.decode({
        name: "a",
        transport: "stdio",
        command: "${VAR}",
        args: ["${VAR}"],
        env: { A: "${VAR}" }
      })
      assert.isTrue(McpConfig.isResolved(config))
      assert.strictEqual(yield* openOnce(config, resolver), config)
    }))

  it.effect("defaults of defaults have an end", () =>
    Effect.gen(function*() {
      const nested = (depth: number) => `${"${UNSET:-".repeat(depth)}x${"}".repeat(depth)}`
      assert.strictEqual(yield* render(nested(16)), "x")
      const problems = yield* problemsOf(render(nested(17)))
      assert.strictEqual(problems["args.0"], "its references are nested more than 16 deep")
    }))

  const hostile: ReadonlyArray<readonly [string, string, number | undefined]> = [
    ["10 MB of text", "x".repeat(10_000_000), 10_000_000],
    ["10 MB of dollars", "$".repeat(10_000_000), 10_000_000],
    ["references that do not end", "${".repeat(1_000_000), 2_000_000],
    ["names that do not end", `\${${"A".repeat(1_000_000)}`, 1_000_002],
    ["many long names", `\${${"A".repeat(255)}`.repeat(10_000), 2_570_000],
    ["100,000 references", "${VAR}".repeat(100_000), 500_000],
    ["100,000 references in a default", `\${UNSET:-${"${VAR}".repeat(100_000)}}`, 500_000],
    ["a default without an end", `\${UNSET:-${"${VAR}".repeat(100_000)}`, 500_009],
    ["brackets", "}".repeat(1_000_000), 1_000_000]
  ]
  for (const [name, text, length] of hostile) {
    it.effect(`a hostile text takes no longer than it is long: ${name}`, () =>
      Effect.gen(function*() {
        const begun = processorMillis()
        const rendered = yield* render(text)
        assert.strictEqual(rendered!.length, length)
        assert.isBelow(processorMillis() - begun, 12_000)
      }))
  }

  it.effect("100,000 defaults within each other are refused at once", () =>
    Effect.gen(function*() {
      const problems = yield* problemsOf(render("${A:-".repeat(100_000)))
      assert.include(problems["args.0"], "nested")
    }))

  it.effect("a short text that repeats a long value does not fill the memory", () =>
    Effect.gen(function*() {
      const config = yield* inTexts(["${LONG}".repeat(10_000)])
      const problems = yield* problemsOf(
        openOnce(config, SecretResolver.fromMap({ env: { LONG: "x".repeat(65_536) } }))
      )
      assert.match(problems["args.0"]!, /longer than/)
    }))
})
