/** `auth`: asks the user to authorize a server, in the browser, and keeps what comes of it. */
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as LoopbackAuthorizer from "@mcp-runtime/node/LoopbackAuthorizer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { ExitCode, type Failure, fromMcpError, usage } from "../exit.js"
import { shellWord } from "../input/toolArguments.js"
import type { Common } from "../Options.js"
import { Screen } from "../output/Screen.js"
import { oneLine, shownName } from "../output/text.js"
import * as Servers from "../Servers.js"
import * as Setup from "../Setup.js"

export interface Options extends Common {
  readonly noBrowser: boolean
  readonly forget: boolean
  readonly name: string
}

export const run = (options: Options): Effect.Effect<ExitCode, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const { err } = yield* Screen
    const setup = yield* Setup.load(options.name === "" ? options : { ...options, server: [options.name] })
    const config = yield* only(setup)
    const open: LoopbackAuthorizer.Options["open"] = (request) =>
      Effect.zipRight(
        err.write(`Open this page in a browser on this machine, and come back:\n\n  ${oneLine(request.url)}\n\n`),
        options.noBrowser ? Effect.void : LoopbackAuthorizer.openBrowser(request)
      )
    const authorizer = LoopbackAuthorizer.layer({ open, ...(setup.timeout ? { timeout: setup.timeout } : {}) })
    const failure = Servers.failureOf(setup)
    return yield* (options.forget ? forget(config) : authorize(config)).pipe(
      Effect.provide(Servers.auth.pipe(Layer.provide(authorizer))),
      Effect.catchAll(failure)
    )
  })

type Work = Effect.Effect<
  ExitCode,
  Parameters<typeof fromMcpError>[0],
  McpAuth.McpAuth | Screen
>

const authorize = (config: McpConfig.ServerConfig): Work =>
  Effect.gen(function*() {
    const { document, json, out } = yield* Screen
    const auth = yield* McpAuth.McpAuth
    yield* auth.authorize(config)
    const status = yield* auth.status(config)
    const known = status._tag === "Authorized" ? status : undefined
    if (json) {
      yield* document({
        server: config.name,
        status: known === undefined ? "unknown" : "authorized",
        issuer: known?.issuer ?? null,
        scopes: known?.scopes ?? [],
        expiresAt: known?.expiresAt === undefined ? null : new Date(known.expiresAt).toISOString(),
        refreshable: known?.refreshable ?? false
      })
    } else {
      const scopes = known === undefined || known.scopes.length === 0
        ? ""
        : `, for ${known.scopes.map(oneLine).join(" ")}`
      yield* out.line(`${out.style.green("Authorized")}: "${shownName(config.name)}"${scopes}`)
      yield* out.line(`See what it offers: mcp-runtime tools --server ${shellWord(shownName(config.name))}`)
    }
    return ExitCode.done
  })

const forget = (config: McpConfig.ServerConfig): Work =>
  Effect.gen(function*() {
    const { document, json, out } = yield* Screen
    yield* (yield* McpAuth.McpAuth).forget(config)
    if (json) yield* document({ server: config.name, status: "forgotten" })
    else yield* out.line(`Nothing is stored of the authorization of "${shownName(config.name)}" any more.`)
    return ExitCode.done
  })

/** The server that is meant; with no name, the only one that can be authorized at all. */
const only = (setup: Setup.Setup): Effect.Effect<McpConfig.ServerConfig, Failure> =>
  Effect.gen(function*() {
    const remote = setup.loaded.entries.filter((_) => _.config.transport !== "stdio")
    const [entry] = setup.loaded.entries.length === 1 ? setup.loaded.entries : remote
    const several = setup.loaded.entries.length > 1 && remote.length > 1
    if (entry === undefined || several) {
      return yield* usage(
        entry === undefined ? "There is no remote server to be authorized" : "Which server is to be authorized?",
        entry === undefined
          ? ["Servers that run as a process get their credentials as variables: \"env\" in the configuration."]
          : remote.map((_) => `mcp-runtime auth ${shownName(_.name)}`)
      )
    }
    return yield* Effect.mapError(McpConfig.decode(entry.config), (error) =>
      fromMcpError(error, { configFile: entry.origin.path }))
  })
