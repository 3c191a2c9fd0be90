/** `logs`: what a server says unasked, and what its process writes to stderr, until Ctrl-C. */
import type * as ClientHandlers from "@mcp-runtime/core/ClientHandlers"
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import type * as McpManager from "@mcp-runtime/core/McpManager"
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { explain } from "../Doctor.js"
import { ExitCode, type Failure, usage } from "../exit.js"
import type { Common } from "../Options.js"
import * as Json from "../output/json.js"
import { Screen } from "../output/Screen.js"
import type { Style } from "../output/style.js"
import { clean, oneLine, shownName } from "../output/text.js"
import * as Servers from "../Servers.js"
import * as Setup from "../Setup.js"
import { didYouMean } from "../suggest.js"

export interface Options extends Common {
  readonly level: Option.Option<string>
  readonly name: string
}

const levels: ReadonlyArray<McpProtocol.LogLevel> = McpConfig.LogLevel.literals

export const run = (options: Options): Effect.Effect<ExitCode, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const { err, json, out } = yield* Screen
    const level = yield* levelOf(options.level)
    const setup = yield* Setup.load(options.name === "" ? options : { ...options, server: [options.name] })
    const add = json ? yield* Json.list : undefined
    const say = (entry: Entry): Effect.Effect<void> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const at = new Date(now).toISOString()
        return add === undefined ? out.line(show(at, entry, out.style)) : add({ at, ...entry })
      })
    const handlers: ClientHandlers.Handlers = {
      onNotification: ({ method, params }, { server }) => say(entryOf(server, method, params))
    }
    const servers = yield* Servers.connect(setup, {
      deferred: false,
      eager: true,
      connection: { handlers, logLevel: level },
      onStderr: (server, line) => say({ server, kind: "stderr", level: null, logger: null, data: line })
    })
    const [error] = (yield* servers.manager.errors).values()
    const connected = yield* servers.manager.connected
    if (connected.length === 0) return yield* error === undefined ? nobody : Servers.failureOf(setup)(error)
    yield* Servers.tellFailures(servers)
    yield* err.line(err.style.dim("(connected; Ctrl-C ends it)"))
    yield* Stream.runForEach(
      servers.manager.changes,
      ({ servers }) =>
        Effect.forEach(servers, (status) => status.phase === "connected" ? Effect.void : say(stateEntry(status)), {
          discard: true
        })
    )
    return ExitCode.done
  })

const nobody = usage("No server is connected", [
  "Each of them is disabled, or its configuration can't be used. See: mcp-runtime config check"
], "ConnectionUnavailable")

interface Entry {
  readonly server: string
  readonly kind: "log" | "stderr" | "notification" | "state"
  readonly level: string | null
  readonly logger: string | null
  readonly data: unknown
}

const entryOf = (server: string, method: string, params: McpProtocol.JsonObject): Entry =>
  method === "notifications/message"
    ? {
      server,
      kind: "log",
      level: typeof params.level === "string" ? params.level : null,
      logger: typeof params.logger === "string" ? params.logger : null,
      data: params.data ?? null
    }
    : { server, kind: "notification", level: null, logger: method, data: params }

const stateEntry = ({ error, name, phase }: McpManager.ServerStatus): Entry => ({
  server: name,
  kind: "state",
  level: null,
  logger: null,
  data: error === undefined ? phase : `${phase}: ${explain(error).headline}`
})

const show = (at: string, { data, kind, level, logger, server }: Entry, style: Style): string => {
  const text = typeof data === "string" ? data : JSON.stringify(data)
  const mark = kind === "log" ? oneLine(level ?? "log") : kind
  return [
    style.dim(at),
    style.cyan(shownName(server)),
    colorOf(level, style)(mark),
    ...(logger === null ? [] : [style.dim(oneLine(logger))]),
    clean(text).trimEnd()
  ].join(" ")
}

const colorOf = (level: string | null, style: Style): (text: string) => string => {
  switch (level) {
    case "warning":
      return style.yellow
    case "error":
    case "critical":
    case "alert":
    case "emergency":
      return style.red
    default:
      return style.dim
  }
}

const levelOf = (written: Option.Option<string>): Effect.Effect<McpProtocol.LogLevel, Failure> => {
  const text = Option.getOrElse(written, () => "debug")
  const level = levels.find((_) => _ === text)
  return level !== undefined ? Effect.succeed(level) : Effect.fail(
    usage(`--level knows no "${oneLine(text.slice(0, 40))}"`, [
      ...didYouMean(text, levels),
      `Choose one of ${levels.join(", ")}.`
    ])
  )
}
