/**
 * One server of a file: from what was written to a configuration, or to what is wrong with it.
 *
 * Owns: what fields mean, alone and together.
 * May not touch: other servers. Nothing is resolved.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { ParseError } from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Approval, Discovered, LoadOptions, Origin, ServerRules } from "../../ConfigFile.js"
import * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import * as ToolApproval from "../../ToolApproval.js"
import { withKindOfAuth } from "../config/auth.js"
import { problemsOf } from "../config/problems.js"
import * as References from "../config/references.js"
import * as Cursor from "./cursor.js"
import * as Format from "./format.js"
import * as Hints from "./hints.js"
import type * as Jsonc from "./jsonc.js"
import type { ServerReport } from "./report.js"
import * as Secrets from "./secrets.js"
import { closest } from "./suggest.js"

/** A server that can be used, and is yet to be merged with those of other files. */
export interface Valid {
  readonly _tag: "Valid"
  readonly name: string
  readonly origin: Origin
  readonly enabled: boolean
  readonly config: McpConfig.ServerConfigInput
  readonly rules: ServerRules
  readonly discovered: Discovered
}

/** A server that can't be used. It still switches those of its name off where it says so. */
export interface Invalid {
  readonly _tag: "Invalid"
  readonly name: string
  readonly origin: Origin
  readonly enabled: boolean
  /** It says nothing but that. */
  readonly isSwitch: boolean
  readonly place: Partial<Jsonc.Place>
}

export type Candidate = Valid | Invalid

export interface Context {
  readonly origin: Origin
  readonly document: Jsonc.Document
  readonly report: ServerReport
  readonly options: LoadOptions
}

type Fields = Readonly<Record<string, unknown>>

export const isFields = (u: unknown): u is Fields => typeof u === "object" && u !== null && !Array.isArray(u)

export const read = (name: string, written: unknown, context: Context): Candidate => {
  const { origin, report } = context
  const server = Cursor.read(written)
  if (!isFields(server)) {
    report.error(
      undefined,
      `must be an object, such as { "command": "npx", "args": [...] } or { "url": "https://..." }`
    )
    return { _tag: "Invalid", name, origin, enabled: true, isSwitch: false, place: report.place }
  }
  const enabled = isEnabled(server)
  const invalid = (isSwitch: boolean): Invalid => ({
    _tag: "Invalid",
    name,
    origin,
    enabled,
    isSwitch,
    place: report.place
  })
  if (!enabled && !hasPlace(server)) {
    Hints.unknownFields(server, undefined, report)
    return invalid(true)
  }
  if (server.enabled === true && server.disabled === true) {
    report.warning("disabled", `says the opposite of "enabled": the server is not connected`)
  }
  const kind = kindOf(server, report)
  if (kind === undefined) return invalid(false)
  const transport = transportOf(server, kind, report)
  Hints.unknownFields(server, kind, report)
  for (const { field, problem } of check(kind, server)) report.error(field, problem)
  unresolvable(server, report)
  if (transport === undefined || report.hasErrors) return invalid(false)
  const rules = rulesOf(server, report)
  const config = kind === "local" ? localOf(name, server, context) : remoteOf(name, server, transport, context)
  if (!report.hasErrors) decode(config, server, report)
  if (report.hasErrors) return invalid(false)
  Hints.values(server, report)
  if (origin.level === "project") warnOfSecrets(server, report)
  return {
    _tag: "Valid",
    name,
    origin,
    enabled,
    // It was decoded.
    config: config as unknown as McpConfig.ServerConfigInput,
    rules,
    discovered: {
      name,
      origin,
      enabled,
      transport,
      ...(typeof server.url === "string" && { url: server.url }),
      ...(typeof server.command === "string" && { command: server.command }),
      ...(Array.isArray(config.args) && { args: config.args as ReadonlyArray<string> })
    }
  }
}

const isEnabled = (server: Fields): boolean => server.enabled !== false && server.disabled !== true

const hasPlace = (server: Fields): boolean => server.command !== undefined || server.url !== undefined

type Transport = Discovered["transport"]

type Kind = "local" | "remote"

/** By what it has. Nothing where it has both, or nothing. */
const kindOf = (server: Fields, report: ServerReport): Kind | undefined => {
  if (server.command !== undefined && server.url !== undefined) {
    report.error("url", `has no place beside "command": a server is either local ("command") or remote ("url")`)
    return undefined
  }
  if (hasPlace(server)) return server.command === undefined ? "remote" : "local"
  missing(server, report)
  return undefined
}

/** Which wire it is. Nothing where its type is wrong. */
const transportOf = (server: Fields, kind: Kind, report: ServerReport): Transport | undefined => {
  const types = typeFields.flatMap((field) =>
    server[field] === undefined ? [] : [typeOf(field, server[field], kind, report)]
  )
  const [type] = types
  if (types.includes(undefined)) return undefined
  if (types.some((_) => _ !== type)) {
    report.error("transport", `says something else than "type": leave one of them out`)
    return undefined
  }
  return type ?? (kind === "local" ? "stdio" : "auto")
}

const typeFields = ["type", "transport"]

/** With the field that was likely meant to say where it is. */
const missing = (server: Fields, report: ServerReport): void => {
  const type = server.type ?? server.transport
  const misspelt = Object.keys(server).find((field) => {
    if (Format.isNote(field) || Format.fields.local.has(field) || Format.fields.remote.has(field)) return false
    const word = Hints.meant(field)
    return word === "command" || word === "url"
  })
  if (misspelt !== undefined) return report.error(misspelt, Hints.unknown(misspelt))
  report.error(
    undefined,
    type === "stdio"
      ? `has no "command": the program to run`
      : typeof type === "string" && Object.hasOwn(Format.remoteTypes, type)
      ? `has no "url"`
      : `has neither "command", for a program on this machine, nor "url", for a remote server`
  )
  Hints.unknownFields(server, undefined, report)
}

const typeNames = ["stdio", ...Object.keys(Format.remoteTypes)]

const typeOf = (field: string, type: unknown, kind: Kind, report: ServerReport): Transport | undefined => {
  if (type === "stdio") {
    if (kind === "local") return "stdio"
    report.error(field, `is "stdio", which needs "command": for a "url", write "http" or leave it out`)
  } else if (typeof type === "string" && Object.hasOwn(Format.remoteTypes, type)) {
    if (kind === "remote") return Format.remoteTypes[type as keyof typeof Format.remoteTypes]
    report.error(field, `is that of a remote server, which needs "url": for a "command", write "stdio" or leave it out`)
  } else {
    const word = typeof type === "string" ? closest(type, typeNames) : undefined
    report.error(
      field,
      word === undefined
        ? `must be one of ${typeNames.map((_) => `"${_}"`).join(", ")}`
        : `is not known: did you mean "${word}"?`
    )
  }
  return undefined
}

const strict = { errors: "all", onExcessProperty: "error" } as const

const decoders = {
  local: Schema.decodeUnknownEither(Format.Local, strict),
  remote: Schema.decodeUnknownEither(Format.Remote, strict)
}

/** Its own fields that are not known have had a warning. One that is not known in a rule or a bound is an error. */
const check = (kind: Kind, server: Fields): ReadonlyArray<McpError.ConfigProblem> => {
  const fields = Array.from(Format.fields[kind]).filter((_) => !typeFields.includes(_))
  const decoded: Either.Either<unknown, ParseError> = decoders[kind](withKindOfAuth(pick(server, fields)))
  return Either.isLeft(decoded) ? problemsOf(decoded.left) : []
}

/** A reference where none is looked up would be sent as it is. */
const unresolvable = (server: Fields, report: ServerReport): void => {
  const auth = isFields(server.auth) ? server.auth : {}
  const idp = isFields(auth.idp) ? auth.idp : {}
  for (const name of Object.keys(auth).filter((_) => !resolvedOfAuth.has(_))) refuse(`auth.${name}`, auth[name], report)
  for (const name of Object.keys(idp).filter((_) => !resolvedOfAuth.has(_))) {
    refuse(`auth.idp.${name}`, idp[name], report)
  }
  refuse("subscriptions", server.subscriptions, report)
}

const refuse = (field: string, value: unknown, report: ServerReport): void => {
  const texts = Array.isArray(value) ? value : [value]
  if (texts.some((_) => typeof _ === "string" && References.isTemplate(_))) {
    report.error(field, "holds a reference, which is not resolved in this field")
  }
}

const resolvedOfAuth: ReadonlySet<string> = new Set([
  "clientId",
  "clientSecret",
  "privateKey",
  "assertion",
  "idToken"
])

/** What goes into the configuration as it is. */
const pick = (server: Fields, fields: ReadonlyArray<string>): Fields =>
  Object.fromEntries(fields.flatMap((field) => server[field] === undefined ? [] : [[field, server[field]]]))

const commonFields = [
  "limits",
  "concurrency",
  "trusted",
  "lifetime",
  "keepAlive",
  "logLevel",
  "subscriptions"
]

const localOf = (name: string, server: Fields, context: Context): Fields => ({
  name,
  transport: "stdio",
  command: server.command,
  ...(Array.isArray(server.args) && { args: argsOf(server.args, context.document) }),
  ...(isFields(server.env) && { env: valuesOf(server.env, context.document) }),
  ...(startsAtHome(context) && { cwd: context.options.userFolder }),
  ...pick(server, ["inheritEnv", "cwd", "shutdown", ...commonFields]),
  ...shared(server, context)
})

/** Who leaves out the project's file does not trust its directory, and programs are looked up there: `npx`, `python -m`. */
const startsAtHome = ({ options, origin }: Context): boolean =>
  options.enableProjectConfig === false && origin.level === "user" && options.userFolder !== undefined

const remoteOf = (name: string, server: Fields, transport: Transport, context: Context): Fields => ({
  name,
  transport,
  url: server.url,
  ...(isFields(server.headers) && { headers: valuesOf(server.headers, context.document) }),
  ...pick(server, [
    "auth",
    "tls",
    "proxy",
    "maxConnections",
    "recovery",
    "allowTokensOverHttp",
    ...commonFields
  ]),
  ...shared(server, context)
})

const shared = (server: Fields, context: Context): Fields => {
  const timeouts = timeoutsOf(server, context.options)
  return {
    ...(timeouts !== undefined && { timeouts }),
    ...(!isEnabled(server) && { enabled: false }),
    expand: expandOf(server, context)
  }
}

/**
 * References are resolved when the server is connected. The directory is part of the configuration only where it matters, so
 * that others are the same server in each project.
 */
const expandOf = (server: Fields, context: Context): McpConfig.Expand => {
  const { userFolder, workspaceFolder } = context.options
  const folders = {
    ...(startsAtHome(context) && { commandFolder: userFolder }),
    ...(workspaceFolder !== undefined && /\$\{workspaceFolder(Basename)?(\}|:-)/.test(JSON.stringify(server)) &&
      { workspaceFolder })
  }
  return Object.keys(folders).length === 0 ? true : folders
}

/** Numbers and booleans as text. `null`, which VS Code has for variables that are not set, is left out. */
const valuesOf = (record: Fields, document: Jsonc.Document): Fields =>
  Object.fromEntries(
    Object.keys(record).flatMap((name) => record[name] === null ? [] : [[name, plain(record, name, document)]])
  )

const argsOf = (args: ReadonlyArray<unknown>, document: Jsonc.Document): ReadonlyArray<unknown> =>
  args.map((_, i) => plain(args, i, document))

const plain = (container: object, key: string | number, document: Jsonc.Document): unknown => {
  const value = (container as Record<string | number, unknown>)[key]
  return typeof value === "number"
    ? document.numberAt(container, key, value)
    : typeof value === "boolean"
    ? String(value)
    : value
}

/** The environment over the file, single deadlines over the one for all, and all over the default. */
const timeoutsOf = (server: Fields, options: LoadOptions): Fields | undefined => {
  const both = (timeout: unknown): Fields => {
    const bound = isNone(timeout) ? null : timeout
    return { handshake: bound, request: bound }
  }
  const wished = (timeout: LoadOptions["timeout"]): Fields => {
    const bound = boundOf(timeout)
    return bound === undefined ? {} : both(bound)
  }
  const timeouts = {
    ...wished(options.defaultTimeout),
    ...(server.timeout !== undefined && both(server.timeout)),
    ...(isFields(server.timeouts) && server.timeouts),
    ...wished(options.timeout)
  }
  return Object.keys(timeouts).length === 0 ? undefined : timeouts
}

/** In milliseconds, as a file would say it. What is no duration is no wish. */
const boundOf = (timeout: LoadOptions["timeout"]): number | null | undefined => {
  if (timeout === undefined || timeout === null) return timeout
  if (typeof timeout === "number" && !(timeout >= 0)) return undefined
  return Option.match(Duration.decodeUnknown(timeout), {
    onNone: () => undefined,
    onSome: (_) => Duration.isFinite(_) ? Duration.toMillis(_) : null
  })
}

const isNone = (timeout: unknown): boolean =>
  timeout === 0 || (typeof timeout === "string" && /^0+(\.0+)? /.test(timeout))

const rulesOf = (server: Fields, report: ServerReport): ServerRules => {
  const tools = isFields(server.tools) ? server.tools : {}
  const list = (field: "allow" | "block", other: string): ReadonlyArray<string> | undefined => {
    if (tools[field] !== undefined && server[other] !== undefined) {
      report.error(other, `says the same as "${field}" of "tools": leave one of them out`)
    }
    return (tools[field] ?? server[other]) as ReadonlyArray<string> | undefined
  }
  const [allow, block] = [list("allow", "enabledTools"), list("block", "disabledTools")]
  const approval = server.approval as Approval | undefined
  if (approval !== undefined) {
    const made = ToolApproval.make(approval)
    if (Either.isLeft(made)) {
      for (const { field, problem } of made.left.problems) report.error(`approval.${field}`, problem)
    }
  }
  return {
    ...((allow !== undefined || block !== undefined) && {
      tools: { ...(allow !== undefined && { allow }), ...(block !== undefined && { block }) }
    }),
    ...(approval !== undefined && { approval })
  }
}

/** What `McpConfig` has to say, in the names of the file. */
const decode = (config: Fields, server: Fields, report: ServerReport): void => {
  const exit = Effect.runSyncExit(Effect.either(McpConfig.decodeUnknown(config)))
  if (Exit.isFailure(exit)) return report.error(undefined, "can't be understood")
  if (Either.isRight(exit.value)) return
  for (const { field, problem } of exit.value.left.problems) {
    if (field === "name") report.error(undefined, `its name ${problem}`)
    else report.error(isFields(server.timeouts) ? field : field.replace(/^timeouts\..*/, "timeout"), problem)
  }
}

const warnOfSecrets = (server: Fields, report: ServerReport): void => {
  for (const { field, variable } of Secrets.find(server)) {
    report.warning(
      field,
      "looks like a secret in a file of the project, which others get too: " +
        `write \${${variable}}, and set ${variable} in the environment`
    )
  }
}
