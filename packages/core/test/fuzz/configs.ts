/**
 * Configuration: files in any state, values in any field, references in any text.
 *
 * Holds: a file costs no more than itself, other files are not harmed, and what is taken from it can be decoded; a value is
 * decoded or refused with the field; a reference is what a slow parser finds; no value that may be a secret is part of any
 * problem.
 */
import { McpConfig, SecretResolver } from "@mcp-runtime/core"
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import { Effect, Either, Exit, FastCheck } from "effect"
import * as Expand from "../../src/internal/config/expand.js"
import * as References from "../../src/internal/config/references.js"
import * as Format from "../../src/internal/configFile/format.js"
import { holds, same } from "./kit/holds.js"
import { type Edit, edited, edits, objectOf, texts } from "./kit/hostile.js"
import { part } from "./kit/part.js"
import * as Oracles from "./oracles.js"
import { damage, damaged } from "./stores.js"

export const canary = "c4n4ry9f31"

export const valid = `{
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

/** The same, to be changed by its structure. */
const values: unknown = JSON.parse(
  valid.replace(/\/\/ comment/, "").replace(/,(\s*[}\]])/g, "$1")
)

const longestProblem = 1200

/** Loads a text beside a good file, and checks all that holds of any text. */
export const loaded = (text: string): ConfigFile.Loaded => {
  const result = ConfigFile.load([
    { level: "project", path: ".mcp.json", text },
    { level: "user", path: "mcp.json", text: `{ "mcpServers": { "good": { "command": "good" } } }` }
  ])
  for (const config of ConfigFile.serversOf(result)) {
    const decoded = Effect.runSync(Effect.either(McpConfig.decode(config)))
    holds(Either.isRight(decoded), `it gives a configuration that can't be decoded: ${String(decoded)}`)
  }
  same(new Set(result.entries.map((_) => _.name)).size, result.entries.length, "how many different names")
  holds(result.entries.some((_) => _.name === "good"), "another file is harmed")
  ConfigFile.toolsetServers(result)
  const lines = text.split("\n").length
  for (const problem of result.problems) {
    const shown = ConfigFile.display(problem)
    holds(!shown.includes(canary), `a value is shown: ${shown}`)
    holds(shown.length < longestProblem, `a problem of ${shown.length} characters`)
    holds(
      problem.line === undefined || (problem.line >= 1 && problem.line <= lines),
      `line ${problem.line} of ${lines}`
    )
  }
  return result
}

const leaf = FastCheck.oneof(
  FastCheck.constantFrom<Array<unknown>>(canary, `\${${canary}}`, `\${env:${canary}}`, `https://a:${canary}@b.example`),
  FastCheck.constantFrom<Array<unknown>>(
    null,
    true,
    0,
    -1,
    1e308,
    "",
    " ",
    "npx -y foo",
    `${canary} b`,
    "stdio",
    "http"
  ),
  FastCheck.constantFrom<Array<unknown>>("https://a.example", "file:///a", "\u0000", "~/a", `$${canary.toUpperCase()}`)
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

const { value } = FastCheck.letrec<{ value: unknown }>((tie) => ({
  value: FastCheck.oneof(
    { maxDepth: 4 },
    leaf,
    FastCheck.array(tie("value"), { maxLength: 3 }),
    FastCheck.array(FastCheck.tuple(key, tie("value")), { maxLength: 4 }).map(objectOf)
  )
}))

const root = FastCheck.constantFrom("mcpServers", "servers", "inputs", "mcp", "disabledServers", "enabledServers", "zz")

const server = FastCheck.tuple(
  FastCheck.constantFrom<Array<object>>({ command: "npx" }, { url: "https://a.example" }, {}),
  FastCheck.array(FastCheck.tuple(key, value), { maxLength: 3 })
).map(([place, more]) => ({ ...place, ...objectOf(more) }))

const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return "[".repeat(30_000)
  }
}

/** A file, in one of several ways. */
type File =
  | { readonly of: "damage"; readonly damage: Parameters<typeof damaged>[1] }
  | { readonly of: "changes"; readonly changes: ReadonlyArray<Edit>; readonly damage: Parameters<typeof damaged>[1] }
  | { readonly of: "value"; readonly value: unknown }
  | { readonly of: "text"; readonly text: string }

const file: FastCheck.Arbitrary<File> = FastCheck.oneof(
  { arbitrary: FastCheck.record({ of: FastCheck.constant("damage" as const), damage }), weight: 3 },
  { arbitrary: FastCheck.record({ of: FastCheck.constant("changes" as const), changes: edits(4), damage }), weight: 3 },
  {
    arbitrary: FastCheck.record({
      of: FastCheck.constant("value" as const),
      value: FastCheck.oneof(
        FastCheck.array(FastCheck.tuple(root, value), { maxLength: 3 }).map(objectOf),
        FastCheck.array(FastCheck.tuple(key, server), { maxLength: 3 }).map((_) => ({ mcpServers: objectOf(_) }))
      )
    }),
    weight: 4
  },
  {
    arbitrary: FastCheck.record({
      of: FastCheck.constant("text" as const),
      text: FastCheck.string({ maxLength: 200 })
    }),
    weight: 1
  }
)

const fileText = (file: File): string => {
  switch (file.of) {
    case "damage":
      return damaged(valid, file.damage)
    case "changes":
      return damaged(textOf(edited(values, file.changes)), file.damage)
    case "value":
      return textOf(file.value)
    case "text":
      return file.text
  }
}

/** A secret that was put in the place of a name is shown as a name. */
const movesSecrets = (file: File): boolean =>
  file.of === "changes" && file.changes.some((_) => _.by === "swap" || _.by === "rename" || _.by === "repeat")

const files = (text: (size: number) => string) => (size: number) => {
  const written = text(size)
  return () => ConfigFile.load([{ level: "project", path: ".mcp.json", text: written }])
}

export const configFilesPart = part({
  name: "config-files",
  about: "a file of any content costs no more than itself, and shows no value",
  inputs: 800,
  share: 1.5,
  input: file,
  check: (given) => {
    const text = fileText(given)
    loaded(movesSecrets(given) ? text.replaceAll(canary, "x") : text)
  },
  growths: [
    {
      name: "servers",
      from: 100,
      most: 20_000,
      run: files((n) => `{"mcpServers":{${Array.from({ length: n }, (_, i) => `"s${i}":{"command":"a"}`).join(",")}}}`)
    },
    {
      name: "servers of one name",
      from: 100,
      most: 20_000,
      run: files((n) => `{"mcpServers":{${"\"a\":{},".repeat(n)}}}`)
    },
    {
      name: "unknown fields",
      from: 100,
      most: 20_000,
      run: files((n) =>
        `{"mcpServers":{"a":{"command":"a",${Array.from({ length: n }, (_, i) => `"x${i}":1`).join(",")}}}}`
      )
    },
    {
      name: "arguments",
      from: 1000,
      most: 200_000,
      run: files((n) => `{"mcpServers":{"a":{"command":"a","args":[${"\"--token\",".repeat(n)}]}}}`)
    },
    { name: "a long URL", from: 10_000, run: files((n) => `{"mcpServers":{"a":{"url":"https://${":".repeat(n)}"}}}`) },
    // No URL is parsed where references are; longer ones are not looked at.
    ...[":", "a:", "?", "=&", "@", "${A:-"].map((unit) => ({
      name: `URLs of ${unit} with a reference`,
      from: 4000,
      most: 60_000,
      run: files((n) => {
        const url = `http://${unit.repeat(n / unit.length)}\${A}`
        return JSON.stringify({
          mcpServers: { a: { url, disabled: true }, b: { url: "https://a.example", proxy: url } }
        })
      })
    })),
    ...["-", "_auth", "token", "://"].map((unit) => ({
      name: `names and arguments of ${unit}`,
      from: 4000,
      most: 200_000,
      run: files((n) => {
        const long = unit.repeat(n / unit.length)
        const name = long.replaceAll("=", "").slice(0, 60_000)
        const server = {
          command: long,
          args: [long, `--${long}=`, "--token", long],
          env: { [name]: "1234567x" },
          cwd: long
        }
        return JSON.stringify({ mcpServers: { a: server, b: { url: "https://a.example", headers: { [name]: long } } } })
      })
    })),
    { name: "comments", from: 10_000, run: files((n) => "/**/".repeat(n / 4)) },
    { name: "opened lists", from: 10_000, run: files((n) => "[".repeat(n)) }
  ]
})

// -------------------------------------------------------------------------------------------------
// Values
// -------------------------------------------------------------------------------------------------

const configs: ReadonlyArray<unknown> = [
  {
    name: "a",
    transport: "stdio",
    command: "npx",
    args: ["-y", "x"],
    env: { TOKEN: canary },
    cwd: "/tmp",
    timeouts: { request: "5 seconds" },
    limits: { messageBytes: 10 }
  },
  {
    name: "b",
    transport: "http",
    url: `https://u:${canary}@h.example/mcp?t=${canary}`,
    headers: { Authorization: `Bearer ${canary}` },
    auth: { type: "oauth", clientId: "c", clientSecret: canary },
    tls: { ca: canary },
    proxy: `http://u:${canary}@p.example`
  },
  {
    name: "c",
    transport: "http",
    expand: { workspaceFolder: "/w" },
    url: "https://${HOST:-h.example}/${env:PATH_PART}",
    headers: { A: { env: "TOKEN" }, B: "Bearer ${TOKEN}" },
    auth: { type: "clientCredentials", clientId: "c", clientSecret: { command: "x" } }
  },
  {
    name: "d",
    transport: "stdio",
    expand: true,
    command: "${userHome}/x",
    args: ["${A:-${B:-c}}"],
    env: { X: { store: "k" } }
  }
]

const resolver = SecretResolver.fromMap({
  env: { HOST: "h2.example", PATH_PART: "a b/../%zz", TOKEN: canary, A: "\u0000", B: "\n" },
  command: { x: canary },
  store: { k: canary },
  userHome: "/home/u"
})

const quietly = (exit: Exit.Exit<unknown, unknown>, what: string, isHidden: boolean): void => {
  Oracles.ended(exit, what)
  if (isHidden && Exit.isFailure(exit) && exit.cause._tag === "Fail") {
    const error = exit.cause.error as Error
    holds(
      !`${error.message} ${JSON.stringify(error)}`.includes(canary),
      `a value is shown: ${error.message.slice(0, 500)}`
    )
  }
}

export const configValuesPart = part({
  name: "config-values",
  about: "a configuration of any values is decoded, or refused with the field and without the value",
  inputs: 1000,
  share: 1,
  input: FastCheck.record({ which: FastCheck.nat({ max: configs.length - 1 }), changes: edits(3) }),
  check: ({ changes, which }) => {
    const moved = changes.some((_) => _.by === "swap" || _.by === "rename" || _.by === "repeat")
    const decoded = Effect.runSyncExit(McpConfig.decodeUnknown(edited(configs[which], changes)))
    quietly(decoded, "decode", !moved)
    if (Exit.isFailure(decoded)) return
    const config = decoded.value
    const shown = McpConfig.describeTarget(config)
    holds(moved || !shown.includes(canary), `a value is shown: ${shown}`)
    if (config.expand === undefined) return
    quietly(Effect.runSyncExit(Expand.resolve(config, resolver)), "resolve", !moved)
  }
})

// -------------------------------------------------------------------------------------------------
// References
// -------------------------------------------------------------------------------------------------

const referencePiece = FastCheck.constantFrom(
  "${A}",
  "${A:-",
  "${env:B}",
  "${env:B:-",
  "${input:x-1}",
  "${workspaceFolder}",
  "${userHome}",
  "${",
  "}",
  "$",
  "{",
  ":-",
  "A",
  " ",
  "${ A }",
  "${A-x}",
  "${1}",
  "${env:}",
  "é"
)

const opening = /^\$\{(?:(env|input):([^\s{}$:="'\\\p{Cc}]+)|([A-Za-z_][A-Za-z0-9_]*))(\}|:-)/u

/** A longer name is only text. */
const longestName = 256

type Part = string | { readonly name: string; readonly otherwise: ReadonlyArray<Part> | undefined }

/** Looks for each end again and again. Nothing where it should have ended and has not. */
const slowly = (
  text: string,
  from: number,
  isInside: boolean
): { readonly parts: Array<Part>; readonly end: number } | undefined => {
  const parts: Array<Part> = []
  let at = from
  while (at < text.length) {
    if (isInside && text[at] === "}") return { parts, end: at + 1 }
    const found = opening.exec(text.slice(at))
    const name = found?.[2] ?? found?.[3] ?? ""
    if (found === null || Array.from(name).length > longestName) {
      parts.push(text[at++]!)
      continue
    }
    const after = at + found[0].length
    if (found[4] === "}") {
      parts.push({ name, otherwise: undefined })
      at = after
      continue
    }
    const inner = slowly(text, after, true)
    if (inner === undefined) parts.push(found[0])
    else parts.push({ name, otherwise: inner.parts })
    at = inner?.end ?? after
  }
  return isInside ? undefined : { parts, end: at }
}

const joined = (
  parts: ReadonlyArray<string | { readonly name: string; readonly otherwise: ReadonlyArray<unknown> | undefined }>
): ReadonlyArray<unknown> =>
  parts.reduce<Array<unknown>>((all, part) => {
    const last = all.at(-1)
    if (typeof part !== "string") {
      all.push({
        name: part.name,
        otherwise: part.otherwise === undefined ? undefined : joined(part.otherwise as never)
      })
    } else if (typeof last === "string") all[all.length - 1] = last + part
    else if (part !== "") all.push(part)
    return all
  }, [])

const parsing = (unit: string) => (size: number) => {
  const text = unit.repeat(Math.ceil(size / unit.length))
  return () => References.parse(text)
}

export const referencesPart = part({
  name: "references",
  about: "references are those that a slow parser finds",
  inputs: 2500,
  share: 2,
  input: FastCheck.array(FastCheck.oneof({ arbitrary: referencePiece, weight: 6 }, { arbitrary: texts, weight: 1 }), {
    maxLength: 12
  }).map((_) => _.join("")),
  check: (text) => {
    const parsed = References.parse(text)
    same(parsed === undefined ? undefined : joined(parsed), joined(slowly(text, 0, false)!.parts), "the references")
    References.urlParts(text)
  },
  growths: ["${", "${A", "${A:-", "${A}", "}", "${A:-x}", "${env:aaaaaaaaaaaaaaaaa"].map((unit) => ({
    name: `a text of ${unit}`,
    from: 4000,
    most: 1 << 20,
    run: parsing(unit)
  }))
})
