/**
 * Secrets that are written into a file which others get to see.
 *
 * Owns: what looks like one.
 * May not touch: its value, which is never part of an answer.
 */
import * as SecretNames from "../config/secretNames.js"

type Fields = Readonly<Record<string, unknown>>

/** A field with what looks like a secret, and the name of a variable that could hold it. */
export interface Found {
  readonly field: string
  readonly variable: string
}

const secretOfAuth: ReadonlySet<string> = new Set(["clientSecret", "privateKey", "assertion", "idToken"])

export const find = (server: Fields): ReadonlyArray<Found> => [
  ...inRecord("headers", server.headers, SecretNames.isOfHeader),
  ...inRecord("env", server.env, SecretNames.isSecret),
  ...inArguments(server.args),
  ...["url", "proxy"].flatMap((field) => isSecretUrl(server[field]) ? [{ field, variable: "TOKEN" }] : []),
  ...inRecord("auth", server.auth, (name) => secretOfAuth.has(name)),
  ...inRecord("auth.idp", within(server.auth, "idp"), (name) => secretOfAuth.has(name)),
  ...inRecord("tls", server.tls, (name) => name === "key" || name === "passphrase")
]

const within = (record: unknown, name: string): unknown =>
  typeof record === "object" && record !== null && Object.hasOwn(record, name) ? (record as Fields)[name] : undefined

const inRecord = (field: string, record: unknown, isSecret: (name: string) => boolean): ReadonlyArray<Found> =>
  typeof record !== "object" || record === null ?
    [] :
    Object.entries(record).flatMap(([name, value]) =>
      isSecret(name) && isLiteral(value) && !SecretNames.isPath(value)
        ? [{ field: `${field}.${name}`, variable: variableIn(field, name) }]
        : []
    )

const variableIn = (field: string, name: string): string => {
  switch (field) {
    case "env":
      return variableOf(name)
    case "auth":
    case "auth.idp":
      return name.replace(/[A-Z]/g, "_$&").toUpperCase()
    case "tls":
      return `TLS_${name.toUpperCase()}`
    default:
      return "TOKEN"
  }
}

const inArguments = (args: unknown): ReadonlyArray<Found> =>
  !Array.isArray(args) ? [] : args.flatMap((arg: unknown, i) => {
    const before: unknown = args[i - 1]
    const option = typeof before === "string" && SecretNames.isOption(before) ? before : undefined
    return typeof arg === "string" &&
        (isOfOption(arg, option) || isAssigned(arg) || isHeader(arg, option) || isUrl(arg))
      ? [{ field: `args.${i}`, variable: "TOKEN" }]
      : []
  })

/** `--api-key=...`, or `--api-key` and what follows it. */
const isOfOption = (arg: string, option: string | undefined): boolean => {
  const [name, value] = /^--?[\w-]+=/.test(arg)
    ? [arg.slice(0, arg.indexOf("=")), arg.slice(arg.indexOf("=") + 1)]
    : [option, arg]
  return name !== undefined && SecretNames.isSecret(name) && isLiteral(value) &&
    !value.startsWith("-") && !SecretNames.isPath(value)
}

/** `API_KEY=...`, `--env=API_KEY=...`: one word, as a shell would do something with more. */
const isAssigned = (arg: string): boolean => {
  const [, name, value] = /^(?:--?[\w-]+=)?(\w+)=([^\s;&|<>()`$]+)$/.exec(arg) ?? []
  return name !== undefined && SecretNames.isSecret(name) && isLiteral(value) && !SecretNames.isPath(value)
}

/** `--header "Authorization: ..."`, in one argument or in two. */
const isHeader = (arg: string, before: string | undefined): boolean => {
  const [, option, name, value] = /^(?:(--?[\w-]+)=)?([\w-]+)\s*:\s*(.*)$/s.exec(arg) ?? []
  return name !== undefined && /^(?:-H|--headers?)$/.test(option ?? before ?? "") &&
    SecretNames.isOfHeader(name) && isLiteral(value)
}

/** One word, too: what a shell is given has references of its own. */
const isUrl = (arg: string): boolean => {
  const [, url] = /^(?:--?[\w-]+=)?([a-z][a-z+]*:\/\/\S+)$/i.exec(arg) ?? []
  return isSecretUrl(url)
}

const isSecretUrl = (text: unknown): boolean => {
  if (typeof text !== "string" || text.length > 65_536) return false
  // The name of the user ends at the first colon, so that a text of colons costs no more than its length.
  const password = /^[a-z][a-z+]*:\/\/[^/?#@:]*:([^/?#]*)@/i.exec(text)?.[1]
  if (isLiteral(password)) return true
  const query = /\?([^#]*)/.exec(text)?.[1] ?? ""
  return query.split("&").some((part) => {
    const [name = "", value] = part.split("=", 2)
    return SecretNames.isSecret(name) && isLiteral(value)
  })
}

/** Neither a reference, nor too short to be a secret of any worth, nor a number such as a limit. */
const isLiteral = (value: unknown): value is string =>
  typeof value === "string" && value.length >= 6 && !value.includes("${") && !/^\d+$/.test(value)

const variableOf = (name: string): string => /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) ? name : "TOKEN"
