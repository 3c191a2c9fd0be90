/**
 * The arguments of a call as they are typed: JSON, a file, stdin, or `key=value` pairs whose types come from the tool.
 *
 * Owns: how words of the command line become an object, and the call line that is shown when they don't.
 * May not touch: whether the object fits the schema. The library checks it before anything is sent.
 *
 * | written          | means                                                                       |
 * |------------------|-----------------------------------------------------------------------------|
 * | `'{"a": 1}'`     | the arguments as JSON                                                       |
 * | `@args.json`     | the same from a file                                                        |
 * | `-` or `@-`      | the same from stdin                                                         |
 * | `key=value`      | by the type in the schema: a text stays a text, a number becomes a number   |
 * | `key:=value`     | JSON, whatever the schema says, also where it has no such key; `key:=@file` |
 * | `key=a key=b`    | a list, where the schema wants one                                          |
 * | `a.b=value`      | a property of a property                                                    |
 */
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as McpProtocolValues from "@mcp-runtime/core/McpProtocol"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type Failure, usage } from "../exit.js"
import { oneLine, shownName } from "../output/text.js"
import { didYouMean } from "../suggest.js"
import * as Schema from "./schema.js"

type JsonObject = McpProtocol.JsonObject

export interface Target {
  /** The name that is typed. */
  readonly name: string
  readonly inputSchema: JsonObject
  /** Whose tool it is. */
  readonly server?: string
}

/** Where a whole object may come from, beside a file. */
const argument = "the argument"
const stdin = "stdin"

/** `read` gives the text of a file, or of stdin for `-`. */
export const parse = (
  words: ReadonlyArray<string>,
  target: Target,
  read: (path: string) => Effect.Effect<string, Failure>
): Effect.Effect<JsonObject, Failure> =>
  Effect.gen(function*() {
    const [first] = words
    if (first === undefined) return {}
    if (words.length === 1) {
      if (first === "-" || first === "@-") return yield* object(yield* read("-"), stdin, target)
      if (first.startsWith("@")) return yield* object(yield* read(first.slice(1)), oneLine(first.slice(1)), target)
      if (/^\s*[{[]/.test(first)) return yield* object(first, argument, target)
    }
    const result = record()
    for (const word of words) yield* put(result, word, target, read)
    return result
  })

/** An object whose keys are all its own, `__proto__` too. */
const record = (): Record<string, unknown> => ({})

const set = (on: object, key: string, value: unknown): void => {
  Object.defineProperty(on, key, { value, enumerable: true, configurable: true, writable: true })
}

const object = (text: string, from: string, target: Target): Either.Either<JsonObject, Failure> => {
  const parsed = json(text)
  if (Either.isLeft(parsed)) {
    return Either.left(wrong(target, `${from} is not valid JSON: ${parsed.left}`, adviceOn(from, text, target)))
  }
  return McpProtocolValues.isObject(parsed.right)
    ? Either.right(parsed.right)
    : Either.left(wrong(target, `${from} must be a JSON object, as {"key": "value"}`, []))
}

/** What a shell has made of it is only seen in an argument. */
const adviceOn = (from: string, text: string, { name }: Target): ReadonlyArray<string> =>
  from === argument
    ? [`Quote it for your shell: mcp-runtime call ${shellWord(name)} '{"key": "value"}'`]
    : from === stdin && text.trim() === ""
    ? [`Pipe JSON into the command: echo '{...}' | mcp-runtime call ${shellWord(name)} -`]
    : []

const json = (text: string): Either.Either<unknown, string> =>
  Either.try({
    try: () => JSON.parse(text) as unknown,
    // The words of the engine quote the text, which may be a secret.
    catch: (error) => {
      const at = /position (\d+)/.exec(String(error))?.[1]
      return text.trim() === ""
        ? "it is empty"
        : at === undefined
        ? "it ends too early or is malformed"
        : `see character ${at}`
    }
  })

const put = (
  result: Record<string, unknown>,
  word: string,
  target: Target,
  read: (path: string) => Effect.Effect<string, Failure>
): Effect.Effect<void, Failure> =>
  Effect.gen(function*() {
    const at = word.indexOf("=")
    if (at <= 0 || word.startsWith(":=")) {
      return yield* wrong(target, `"${oneLine(word.slice(0, 80))}" is not an argument: arguments are key=value`, [])
    }
    const explicit = word[at - 1] === ":"
    const key = word.slice(0, explicit ? at - 1 : at)
    const value = word.slice(at + 1)
    const found = yield* locate(key, target, explicit)
    const { parent, last, schema } = descend(result, found)
    if (explicit) {
      const text = value.startsWith("@") ? yield* read(value.slice(1)) : value
      const parsed = json(text)
      if (Either.isLeft(parsed)) {
        return yield* wrong(target, `${oneLine(key)}: the value after := is not valid JSON: ${parsed.left}`, [])
      }
      return set(parent, last, parsed.right)
    }
    const typed = typedValue(value, schema, target.inputSchema)
    if (Either.isLeft(typed)) {
      return yield* wrong(target, `${oneLine(key)}: ${typed.left}`, [])
    }
    const before = Object.hasOwn(parent, last) ? parent[last] : undefined
    if (before === undefined) return set(parent, last, typed.right)
    if (Array.isArray(before) && Array.isArray(typed.right)) return set(parent, last, [...before, ...typed.right])
    return yield* wrong(target, `${oneLine(key)} is given twice`, [])
  })

interface Located {
  readonly path: ReadonlyArray<string>
  readonly schema: JsonObject
}

/** A key that the tool has as it is written, or a path into its properties. */
const locate = (key: string, target: Target, explicit: boolean): Either.Either<Located, Failure> => {
  const root = target.inputSchema
  const whole = Schema.propertiesOf(root, root).find((_) => _.name === key)
  if (whole !== undefined) return Either.right({ path: [key], schema: whole.schema })
  const path = key.split(".", 17)
  if (path.length > 16) return Either.left(wrong(target, `${oneLine(key.slice(0, 80))} is nested too deeply`, []))
  let schema: JsonObject = root
  for (const [at, part] of path.entries()) {
    const properties = Schema.propertiesOf(schema, root)
    const property = properties.find((_) => _.name === part)
    if (property !== undefined) {
      schema = property.schema
      continue
    }
    if (explicit || Schema.isOpen(schema, root)) return Either.right({ path: at === 0 ? [key] : path, schema: {} })
    const known = properties.map((_) => [...path.slice(0, at), _.name].join("."))
    return Either.left(
      wrong(target, `the tool has no argument "${oneLine(key.slice(0, 80))}"`, [
        ...didYouMean(path.slice(0, at + 1).join("."), known, (name) => shownName(name)),
        `To send it all the same, write it as JSON: ${oneLine(key.slice(0, 80))}:=...`
      ])
    )
  }
  return Either.right({ path, schema })
}

const descend = (result: Record<string, unknown>, { path, schema }: Located) => {
  let parent = result
  for (const part of path.slice(0, -1)) {
    const next = Object.hasOwn(parent, part) ? parent[part] : undefined
    const child = McpProtocolValues.isObject(next) ? (next as Record<string, unknown>) : record()
    set(parent, part, child)
    parent = child
  }
  return { parent, last: path[path.length - 1]!, schema }
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** A word as the schema wants it. Where a text will do, it is a text. */
const typedValue = (value: string, schema: JsonObject, root: JsonObject): Either.Either<unknown, string> => {
  const types = Schema.typesOf(schema, root)
  if (types.size === 0 || types.has("string")) {
    const { enum: choices } = schema
    return Array.isArray(choices) && choices.length <= 1000 && !choices.includes(value) && !types.has("null")
      ? Either.left(`expected ${Schema.describe(schema, root)}`)
      : Either.right(value)
  }
  if (types.has("null") && value === "null") return Either.right(null)
  if ((types.has("integer") || types.has("number")) && number.test(value)) {
    const parsed = Number(value)
    if (Number.isInteger(parsed) || types.has("number")) return Either.right(parsed)
  }
  if (types.has("boolean") && (value === "true" || value === "false")) return Either.right(value === "true")
  if (types.has("object") || types.has("array")) {
    const parsed = /^\s*[[{]/.test(value) ? json(value) : Either.left("")
    if (Either.isRight(parsed)) {
      const list = Array.isArray(parsed.right)
      if (list ? types.has("array") : types.has("object")) return Either.right(parsed.right)
    }
    if (types.has("array")) {
      return Either.map(typedValue(value, Schema.resolve(schema.items, root), root), (item) => [item])
    }
  }
  return Either.left(
    `expected ${Schema.describe(schema, root)}${types.has("object") ? " as JSON" : ""}, got "${
      oneLine(value.slice(0, 40))
    }"`
  )
}

export const wrong = (target: Target, problem: string, todo: ReadonlyArray<string>): Failure =>
  usage(
    `The arguments of "${shownName(target.name)}" are wrong: ${problem}`,
    [...todo, ...expectations(target)],
    "ArgumentsInvalid",
    target.server ?? null
  )

/** What it takes, and a line that would work. */
export const expectations = (target: Target): ReadonlyArray<string> => {
  const takes = Schema.summary(target.inputSchema)
  return [
    takes === "" ? "It takes no arguments." : `It takes: ${takes}`,
    `A call that has all it requires: ${callLine(target)}`
  ]
}

/** The call with all that is required, with values of the right types. */
export const callLine = ({ inputSchema, name }: Target): string =>
  [
    "mcp-runtime call",
    shellWord(name),
    ...Schema.propertiesOf(inputSchema, inputSchema).filter((_) => _.required).slice(0, 20).map(({ name, schema }) =>
      shellWord(`${name}${sample(schema, inputSchema)}`)
    )
  ].join(" ")

const sample = (schema: JsonObject, root: JsonObject): string => {
  const types = Schema.typesOf(schema, root)
  const given = firstOf(schema)
  if (given !== undefined) {
    return typeof given === "string"
      ? `=${oneLine(given.slice(0, 60))}`
      : `:=${JSON.stringify(given).slice(0, 200)}`
  }
  if (types.size === 0 || types.has("string")) return "=text"
  if (types.has("integer") || types.has("number")) return `=${smallest(schema)}`
  if (types.has("boolean")) return "=true"
  if (types.has("array")) return ":=[]"
  return types.has("object") ? `:=${JSON.stringify(filled(schema, root, 0))}` : ":=null"
}

const firstOf = ({ default: fallback, enum: choices, examples, ...schema }: JsonObject): unknown =>
  Object.hasOwn(schema, "const")
    ? schema.const
    : Array.isArray(choices)
    ? choices[0]
    : fallback ?? (Array.isArray(examples) ? examples[0] : undefined)

const smallest = ({ exclusiveMinimum, minimum }: JsonObject): number => {
  const least = typeof minimum === "number" ? minimum : typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : 1
  return Math.max(1, Math.ceil(least))
}

const filled = (schema: JsonObject, root: JsonObject, depth: number): JsonObject => {
  const result = record()
  if (depth > 3) return result
  for (const property of Schema.propertiesOf(schema, root).filter((_) => _.required).slice(0, 20)) {
    const types = Schema.typesOf(property.schema, root)
    const value = firstOf(property.schema) ??
      (types.size === 0 || types.has("string")
        ? "text"
        : types.has("integer") || types.has("number")
        ? smallest(property.schema)
        : types.has("boolean")
        ? true
        : types.has("array")
        ? []
        : filled(property.schema, root, depth + 1))
    set(result, property.name, value)
  }
  return result
}

/** A word for a POSIX shell. */
export const shellWord = (word: string): string => {
  const shown = oneLine(word)
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`
}
