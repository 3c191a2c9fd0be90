/**
 * One server, looked at from its configuration to its end.
 *
 * Owns: the steps, how long each took, and what was seen on the way.
 * May not touch: the stored lists, other servers. The session it opens is its own, and nothing is asked for twice.
 *
 * ```text
 * configuration -> start -> handshake -> tools, prompts, resources -> end
 * ```
 */
import type * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as McpSession from "@mcp-runtime/core/McpSession"
import * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type Advice, explain, type Finding } from "../Doctor.js"
import { inTime, together } from "../together.js"
import { version } from "../version.js"
import * as Places from "./places.js"
import * as Reach from "./reach.js"
import * as Words from "./words.js"

/** What the doctor does with a server, in this order. */
export type StepName = "configuration" | "start" | "handshake" | "tools" | "prompts" | "resources" | "end"

export interface Step {
  readonly name: StepName
  readonly ok: boolean
  readonly milliseconds: number
  /** What came of it, in a few words. */
  readonly note: string
}

export interface Examination {
  readonly server: string
  readonly status: "ok" | "failed" | "disabled"
  readonly origin: ConfigFile.Origin | undefined
  /** A command, or a URL without its query. */
  readonly target: string
  readonly transport: string
  readonly info: McpSession.SessionInfo | undefined
  readonly steps: ReadonlyArray<Step>
  /** What works, but is not as it should be. */
  readonly warnings: ReadonlyArray<string>
  readonly error: McpError.McpError | undefined
  readonly advice: Advice | undefined
}

export interface Options {
  /** How long the start and the handshake may take together, and each list. */
  readonly timeout: Duration.Duration | null
  readonly configFile: string | undefined
}

const mostDropped = 20

/** What was seen of a server while it was looked at. */
class Notes {
  readonly steps: Array<Step> = []
  readonly warnings: Array<string> = []
  noise: string | undefined
  noisy = 0
  transport: McpTransport.MessageTransport | undefined
  openedAt: number | undefined
  /** When it began to be closed; its process may take long to end after that. */
  closingAt: number | undefined
  info: McpSession.SessionInfo | undefined
  error: McpError.McpError | undefined

  add(name: StepName, ok: boolean, milliseconds: number, note: string): void {
    this.steps.push({ name, ok, milliseconds: Math.round(milliseconds), note })
  }

  failed(error: McpError.McpError): void {
    this.error ??= error
  }
}

/** Looks at one server. It does not fail: what is wrong is in the result. */
export const examine = (
  entry: Pick<ConfigFile.Entry, "name" | "config"> & { readonly origin?: ConfigFile.Origin | undefined },
  options: Options
): Effect.Effect<Examination, never, McpTransport.McpTransport> =>
  Effect.gen(function*() {
    const notes = new Notes()
    const configFile = entry.origin?.path ?? options.configFile
    const decoded = yield* Effect.either(McpConfig.decode(entry.config))
    if (Either.isLeft(decoded)) {
      notes.add("configuration", false, 0, "invalid")
      notes.failed(decoded.left)
      return resultOf(entry, undefined, notes, { configFile })
    }
    const config = decoded.right
    notes.add("configuration", true, 0, configFile === undefined ? "" : Words.line(configFile))
    if (config.enabled === false) return resultOf(entry, config, notes, {})
    yield* Effect.scoped(converse(config, options, notes))
    const { error } = notes
    const findings = error === undefined ? [] : yield* lookAround(config, error, notes)
    return resultOf(entry, config, notes, { config, configFile, findings, path: Places.pathOf(config) })
  })

const resultOf = (
  entry: Pick<ConfigFile.Entry, "name" | "config"> & { readonly origin?: ConfigFile.Origin | undefined },
  config: McpConfig.ServerConfig | undefined,
  notes: Notes,
  surroundings: Parameters<typeof explain>[1]
): Examination => ({
  server: entry.name,
  status: notes.error !== undefined ? "failed" : config?.enabled === false ? "disabled" : "ok",
  origin: entry.origin,
  target: config === undefined ? "" : Words.line(McpConfig.describeTarget(config)),
  transport: notes.info?.transport ?? entry.config.transport,
  info: notes.info,
  steps: notes.steps,
  warnings: notes.warnings,
  error: notes.error,
  advice: notes.error === undefined ? undefined : explain(notes.error, surroundings)
})

/** What the error alone does not say. */
const lookAround = (
  config: McpConfig.ServerConfig,
  error: McpError.McpError,
  notes: Notes
): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.map(
    together([Places.look(config), Reach.look(config, error)], (_) => _),
    (_): ReadonlyArray<Finding> => [
      ..._.flat(),
      ...(notes.noise === undefined ? [] : [{ _tag: "Noise", line: notes.noise } satisfies Finding])
    ]
  )

/** The scope of the session is closed before the scope of the channel, and timed. */
const converse = (
  config: McpConfig.ServerConfig,
  options: Options,
  notes: Notes
): Effect.Effect<void, never, McpTransport.McpTransport | Scope.Scope> =>
  Effect.gen(function*() {
    const transport = yield* McpTransport.McpTransport
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const startedAt = yield* Clock.currentTimeMillis
    const opening = Effect.flatMap(
      transport.channel(config),
      (channel) =>
        McpSession.open(watched(channel, notes), {
          clientInfo: { name: "mcp-runtime-doctor", version: version() }
        })
    )
    const opened = yield* Effect.either(bounded(Scope.extend(opening, scope), config, options, notes))
    const now = notes.closingAt ?? (yield* Clock.currentTimeMillis)
    const { openedAt } = notes
    notes.add("start", openedAt !== undefined, (openedAt ?? now) - startedAt, "")
    if (Either.isLeft(opened)) {
      if (openedAt !== undefined) notes.add("handshake", false, now - openedAt, "")
      return notes.failed(opened.left)
    }
    const session = opened.right
    notes.info = session.info
    notes.add("handshake", true, now - (openedAt ?? now), helloOf(session.info))
    yield* lists(session, options, notes)
    const endedAt = yield* Clock.currentTimeMillis
    yield* Scope.close(scope, Exit.void)
    notes.add("end", true, (yield* Clock.currentTimeMillis) - endedAt, "")
    if (notes.noisy > 0) {
      notes.warnings.push(
        `It writes to stdout what is no message of MCP (${notes.noisy} ${
          notes.noisy === 1 ? "line" : "lines"
        }; the first: ${Words.line(notes.noise ?? "", 200)}). Other clients may break on it: log to stderr.`
      )
    }
  })

const helloOf = ({ implementation, protocolVersion }: McpSession.SessionInfo): string =>
  `${Words.line(implementation.name, 100)} ${Words.line(implementation.version, 50)}, protocol ${
    Words.line(protocolVersion, 32)
  }`

/** The same channel, with an eye on what comes over it. */
const watched = (channel: McpTransport.Channel, notes: Notes): McpTransport.Channel => ({
  config: channel.config,
  open: (events) =>
    Effect.tap(
      channel.open({
        ...events,
        warning: (kind, detail) => {
          if (kind === "NotJson") {
            notes.noise ??= detail.slice(0, 512)
            notes.noisy++
          }
          events.warning(kind, detail)
        }
      }),
      (transport) =>
        Effect.gen(function*() {
          notes.transport = transport
          notes.openedAt = yield* Clock.currentTimeMillis
          // Run before what ends the process, which was registered before it.
          const closing = Effect.map(Clock.currentTimeMillis, (now) => void (notes.closingAt ??= now))
          yield* Effect.scopeWith((scope) => Scope.addFinalizer(scope, closing))
        })
    )
})

const bounded = <A, R>(
  opening: Effect.Effect<A, McpError.McpError, R>,
  config: McpConfig.ServerConfig,
  { timeout }: Options,
  notes: Notes
): Effect.Effect<A, McpError.McpError, R> =>
  timeout === null ? opening : inTime(opening, timeout, () =>
    new McpError.RequestTimeout({
      server: config.name,
      operation: "open",
      executed: "no",
      kind: "handshake",
      millis: Duration.toMillis(timeout),
      stderrTail: notes.transport?.stderrTail()
    }))

const lists = (session: McpSession.McpSession, options: Options, notes: Notes): Effect.Effect<void> => {
  const { capabilities } = session.info
  const has = (capability: string): boolean => Object.hasOwn(capabilities, capability)
  const bound = { maxTotal: options.timeout }
  return Effect.gen(function*() {
    if (has("tools")) yield* list("tools", McpSession.listTools(session, bound), notes)
    if (has("prompts")) yield* list("prompts", McpSession.listPrompts(session, bound), notes)
    if (has("resources")) yield* list("resources", McpSession.listResources(session, bound), notes)
    if (!has("tools") && !has("prompts") && !has("resources")) {
      notes.warnings.push("It offers neither tools nor prompts nor resources.")
    }
  })
}

const list = <A>(
  name: "tools" | "prompts" | "resources",
  listing: Effect.Effect<McpProtocol.Listing<A>, McpError.McpError>,
  notes: Notes
): Effect.Effect<void> =>
  Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    const listed = yield* Effect.either(listing)
    const took = (yield* Clock.currentTimeMillis) - startedAt
    if (Either.isLeft(listed)) {
      notes.add(name, false, took, "")
      return notes.failed(listed.left)
    }
    const { dropped, items } = listed.right
    notes.add(name, true, took, `${items.length}${dropped.length === 0 ? "" : `, ${dropped.length} left out`}`)
    for (const item of dropped.slice(0, mostDropped)) {
      notes.warnings.push(
        `${name.slice(0, -1)} ${
          item.name === undefined ? `number ${item.index + 1}` : Words.quoted(item.name)
        } is left out: ${Words.line(item.problem)}. The server has to be mended.`
      )
    }
    if (dropped.length > mostDropped) notes.warnings.push(`${dropped.length - mostDropped} more ${name} are left out.`)
  })
