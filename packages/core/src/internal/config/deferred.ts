/**
 * Values of a configuration that are known only when a session is opened.
 *
 * Owns: what may stand in place of a value, and what stands for it in a decoded configuration: a `Redacted` text that no
 * process and no header can carry, so that nothing takes it for the value. And where a value was found, if it is to be
 * looked up again each time that it is needed.
 * May not touch: what is behind a reference.
 */
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { isTemplate } from "./references.js"

/**
 * Where a secret is, in place of the secret itself: a variable of the environment, the output of a command, a key of a
 * store, or something that a person was asked for.
 *
 * @since 0.1.0
 * @category models
 */
export type Reference =
  | { readonly env: string }
  | { readonly command: string; readonly timeout?: Duration.DurationInput | undefined }
  | { readonly store: string }
  | { readonly input: string }

/**
 * What may be written for a value that may be a secret. All but texts are looked up each time that a session is opened.
 *
 * @since 0.1.0
 * @category models
 */
export type SecretInput =
  | string
  | Redacted.Redacted<string>
  | Config.Config<string | Redacted.Redacted<string>>
  | Reference

/** A value that is not there yet. */
export type Deferred =
  | { readonly _tag: "Config"; readonly config: Config.Config<unknown> }
  | { readonly _tag: "Reference"; readonly reference: Reference }
  | { readonly _tag: "Text"; readonly text: string }

const known = new WeakMap<Redacted.Redacted<string>, Deferred>()

/** What is behind a decoded value; nothing where it is the value itself. */
export const of = (value: Redacted.Redacted<string>): Deferred | undefined => known.get(value)

/** A place to look at, and how that was looked at. */
export interface Source<Lookup> {
  readonly deferred: Deferred
  readonly lookup: Lookup
}

const sources = new WeakMap<Redacted.Redacted<string>, Source<unknown>>()

/** A value as it is now. */
export const found = <Lookup>(text: string, source: Source<Lookup>): Redacted.Redacted<string> => {
  const made = Redacted.make(text)
  sources.set(made, source)
  return made
}

/** Where a value was found that may be another one now; nothing where it always stays the same. */
export const sourceOf = <Lookup>(value: Redacted.Redacted<string>): Source<Lookup> | undefined =>
  sources.get(value) as Source<Lookup> | undefined

/** The text tells equal ones from others. Nothing that is started or sent may hold a NUL character. */
const standIn = (text: string, deferred: Deferred): Redacted.Redacted<string> => {
  const made = Redacted.make(`\0${text}`)
  known.set(made, deferred)
  return made
}

/** The same `Config` decoded twice is the same value, two of them are two. */
const ofConfigs = new WeakMap<object, Redacted.Redacted<string>>()
let configs = 0

const ofConfig = (config: Config.Config<unknown>): Redacted.Redacted<string> => {
  const made = ofConfigs.get(config) ?? standIn(`config:${++configs}`, { _tag: "Config", config })
  ofConfigs.set(config, made)
  return made
}

const ofReference = (reference: Reference): Redacted.Redacted<string> => {
  const [kind, value] = kindOf(reference)
  const copy = "command" in reference
    ? {
      command: value,
      ...(reference.timeout !== undefined && { timeout: Duration.decode(reference.timeout) })
    }
    : { [kind]: value } as Reference
  const millis = "timeout" in copy && copy.timeout !== undefined ? `${Duration.toMillis(copy.timeout)}:` : ""
  return standIn(`${kind}:${millis}${value}`, { _tag: "Reference", reference: copy })
}

const ofText = (text: string): Redacted.Redacted<string> => standIn(`text:${text}`, { _tag: "Text", text })

// -------------------------------------------------------------------------------------------------
// References
// -------------------------------------------------------------------------------------------------

const kinds = ["env", "command", "store", "input"] as const

export type Kind = typeof kinds[number]

/** Which one it is, and the text that goes with it. */
export const kindOf = (reference: Reference): readonly [Kind, string] => {
  const kind = kinds.find((_) => Object.hasOwn(reference, _))!
  return [kind, (reference as { readonly [K in Kind]: string })[kind]]
}

const longest: { readonly [K in Kind]: number } = { env: 1024, command: 65_536, store: 1024, input: 256 }

/** Why it is none, without its values. */
const referenceProblem = (u: object): string | undefined => {
  const fields = Object.keys(u)
  const found = kinds.filter((_) => fields.includes(_))
  const [kind] = found
  if (kind === undefined || found.length > 1) return notSecret
  const value = (u as Record<Kind, unknown>)[kind]
  if (typeof value !== "string" || value.trim() === "" || value.includes("\0")) {
    return `"${kind}" must be a text that is not empty`
  }
  if (value.length > longest[kind]) return `"${kind}" must be at most ${longest[kind]} characters`
  if (kind === "env" && value.includes("=")) return `"env" is not the name of a variable`
  if (fields.some((_) => _ !== kind && !(_ === "timeout" && kind === "command"))) {
    return `a reference with "${kind}" has no other field${kind === "command" ? ` but "timeout"` : ""}`
  }
  const { timeout } = u as { readonly timeout?: unknown }
  return timeout === undefined || isBounded(timeout)
    ? undefined
    : `"timeout" must be a positive and finite duration such as "5 seconds"`
}

const isBounded = (u: unknown): boolean => {
  if (typeof u === "number" && !(u > 0)) return false
  if (typeof u === "string" && u.startsWith("-")) return false
  const decoded = Duration.decodeUnknown(u)
  return decoded._tag === "Some" && Duration.isFinite(decoded.value) && Duration.toMillis(decoded.value) > 0
}

// -------------------------------------------------------------------------------------------------
// Schemas
// -------------------------------------------------------------------------------------------------

const notSecret =
  `must be a text, a Redacted text, a Config, or one of { env }, { command }, { store } and { input } with a text`

const problemOf = (u: unknown): string | undefined => {
  if (typeof u === "string" || Config.isConfig(u)) return undefined
  if (Redacted.isRedacted(u)) return typeof Redacted.value(u) === "string" ? undefined : notSecret
  return typeof u === "object" && u !== null && !Array.isArray(u) ? referenceProblem(u) : notSecret
}

const secretInput = Schema.declare((u: unknown): u is SecretInput => problemOf(u) === undefined, {
  message: (issue) => problemOf(issue.actual) ?? notSecret
})

const isSecret = (u: unknown): u is Redacted.Redacted<string> => Redacted.isRedacted(u)

/** A secret, or where it will be found. With `expand`, references in texts are found; never those in a `Redacted` text. */
export const secret = (expand: boolean): Schema.Schema<Redacted.Redacted<string>, SecretInput> =>
  secretInput.pipe(
    Schema.transform(Schema.declare(isSecret), {
      decode: (input) =>
        typeof input === "string"
          ? expand && isTemplate(input) ? ofText(input) : Redacted.make(input)
          : isSecret(input)
          ? input
          : Config.isConfig(input)
          ? ofConfig(input)
          : ofReference(input as Reference),
      encode: (value) => value
    })
  )
