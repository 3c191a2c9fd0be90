/**
 * The values that a configuration is made of: texts, secrets, variables, URLs, headers.
 *
 * Owns: what each may be, in words of what to do.
 * May not touch: what a reference stands for. A value that is not known yet is not judged.
 */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as McpError from "../../McpError.js"
import * as Deferred from "./deferred.js"
import { isTemplate } from "./references.js"

/** A value that may be a secret. Plain texts are accepted and wrapped; what is shown is always `<redacted>`. */
export const Secret: Schema.Schema<Redacted.Redacted<string>, string | Redacted.Redacted<string>> = Schema.declare(
  (u: unknown): u is string | Redacted.Redacted<string> =>
    typeof u === "string" || (Redacted.isRedacted(u) && typeof Redacted.value(u) === "string"),
  { message: () => "must be a text or a Redacted text" }
).pipe(
  Schema.transform(
    Schema.declare((u: unknown): u is Redacted.Redacted<string> => Redacted.isRedacted(u)),
    {
      decode: (value) => (typeof value === "string" ? Redacted.make(value) : value),
      encode: (value) => value
    }
  )
)

export const noNul = Schema.String.pipe(
  Schema.filter((_) => !_.includes("\0"), { message: () => "must not contain a NUL character" })
)

/** `__proto__` is no key of a record: as one it would be lost. */
const recordKey = Schema.String.pipe(Schema.filter((_) => _ !== "__proto__"))

/** With `expand`, references in texts are found. */
const envWith = (expand: boolean) =>
  Schema.Record({ key: recordKey, value: Deferred.secret(expand) }).pipe(
    Schema.filter((env) =>
      Object.entries(env).flatMap(([name, value]) => {
        const message = envNameProblem(name) ?? envValueProblem(value)
        return message === undefined ? [] : [{ path: [name], message }]
      })
    )
  )

const envNameProblem = (name: string): string | undefined =>
  name === "" || /[=\0]/.test(name)
    ? `is not the name of a variable: it must not be empty, nor contain "=" or a NUL character`
    : undefined

const envValueProblem = (value: Redacted.Redacted<string>): string | undefined =>
  Deferred.of(value) === undefined && Redacted.value(value).includes("\0")
    ? "must not contain a NUL character"
    : undefined

export const env = envWith(false)
export const expandingEnv = envWith(true)

export const command = noNul.pipe(Schema.filter((_) => _.trim() !== "", { message: () => "must not be empty" }))

const isHttpUrl = (text: string): boolean => {
  try {
    const url = new URL(text)
    return (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== ""
  } catch {
    return false
  }
}

const mustBeHttpUrl = { message: () => "must be an http:// or https:// URL" }

export const httpUrl = Schema.String.pipe(Schema.filter(isHttpUrl, mustBeHttpUrl))
/** One that holds references is judged when they are known. */
export const expandingUrl = Schema.String.pipe(Schema.filter((_) => isHttpUrl(_) || isTemplate(_), mustBeHttpUrl))

const proxyWith = (expand: boolean) =>
  Deferred.secret(expand).pipe(
    Schema.filter((_) => Deferred.of(_) !== undefined || isHttpUrl(Redacted.value(_)), mustBeHttpUrl)
  )

export const proxy = proxyWith(false)
export const expandingProxy = proxyWith(true)

const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// eslint-disable-next-line no-control-regex
const badHeaderValue = /[^\t\u0020-\u007e\u0080-\u00ff]/

/** Names that the transport sets itself: a value of the application's would break the session. */
const reservedHeaders: ReadonlySet<string> = new Set([
  "mcp-session-id",
  "mcp-protocol-version",
  "last-event-id",
  "content-type",
  "content-length",
  "accept",
  "host",
  "connection",
  "transfer-encoding",
  "upgrade",
  "keep-alive",
  "expect",
  "te",
  "trailer",
  "proxy-connection"
])

/** Why a header can't be sent, or `undefined` when it can. The value is never part of the answer. */
export const headerProblem = (name: string, value: string): string | undefined =>
  !headerName.test(name)
    ? `"${McpError.displayText(name, 64)}" is not a header name`
    : reservedHeaders.has(name.toLowerCase())
    ? `"${name}" is set by the transport and can't be configured`
    : badHeaderValue.test(value)
    ? `the value of "${name}" has a character that headers can't carry`
    : undefined

const headersWith = (expand: boolean) =>
  Schema.Record({ key: recordKey, value: Deferred.secret(expand) }).pipe(
    Schema.filter((headers) => {
      const seen = new Set<string>()
      return Object.entries(headers).flatMap(([name, value]) => {
        const twice = seen.has(name.toLowerCase()) ? `"${name}" is given twice, in different spelling` : undefined
        seen.add(name.toLowerCase())
        const message = headerProblem(name, Deferred.of(value) === undefined ? Redacted.value(value) : "") ?? twice
        return message === undefined ? [] : [{ path: [name], message }]
      })
    })
  )

export const headers = headersWith(false)
export const expandingHeaders = headersWith(true)

/** A secret that is not a header. */
export const secret = Deferred.secret(false)
export const expandingSecret = Deferred.secret(true)
