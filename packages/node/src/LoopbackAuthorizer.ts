/**
 * The `Authorizer` for a program on the machine of its user: a page is opened in a browser, which comes back to a socket
 * of ours.
 *
 * Owns: that socket, on the loopback interface and for as long as an authorization needs it, and how the user learns of the
 * page.
 * May not touch: tokens, and the browser once it is open.
 *
 * | the redirect URI of the server's client | where we listen                                          |
 * |-----------------------------------------|----------------------------------------------------------|
 * | is fixed (`auth.redirectPort`, or yours) | there; if that is not possible, `ConfigInvalid`          |
 * | was registered before                   | there; if the port is in use, at another one             |
 * | there is none                           | at `http://127.0.0.1:<a free port>/callback`, or below   |
 *
 * Servers that have one address may be authorized at the same time: what comes back is for whom its `state` is expected.
 * An authorization server that does not say who it is when the browser comes back (RFC 9207) has a path of its own there.
 * What comes to another path, or without the expected `state`, is answered with a page that says so, and waiting goes on.
 *
 * @since 0.1.0
 */
import { type AuthorizationRequest, Authorizer, type Callback, type Redirect } from "@mcp-runtime/core/McpAuth"
import * as McpError from "@mcp-runtime/core/McpError"
import * as Console from "effect/Console"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Browser from "./internal/auth/browser.js"
import * as CallbackServer from "./internal/auth/callbackServer.js"
import * as Durations from "./internal/durations.js"
import { firstOf, inTime } from "./internal/within.js"

/**
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /**
   * How the user learns of the page. `printUrl` by default; `openBrowser` also opens it. May take as long as it likes: it is
   * interrupted when the browser has come back, and when nobody waits any more.
   */
  readonly open?: ((request: AuthorizationRequest) => Effect.Effect<void>) | undefined
  /** How long the user may take. Positive and finite. 5 minutes by default; `McpAuth` gives them 10 at most. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * Writes the page to visit to the standard error.
 *
 * @since 0.1.0
 * @category opening
 */
export const printUrl = (request: AuthorizationRequest): Effect.Effect<void> =>
  Console.error(
    `The MCP server "${
      McpError.displayName(request.server)
    }" wants to know who you are. Open this page in a browser on this machine:\n\n  ${request.url}\n`
  )

/**
 * Opens the page in the browser of this machine, and writes it to the standard error too, because there may be none. Runs
 * `xdg-open`, on macOS `open`, on Windows `rundll32`, which are left to themselves.
 *
 * @since 0.1.0
 * @category opening
 */
export const openBrowser = (request: AuthorizationRequest): Effect.Effect<void> =>
  Effect.zipRight(printUrl(request), Browser.open(process.platform, request.url))

/**
 * For options that can't be used a `ConfigInvalid` is thrown.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Context.Tag.Service<Authorizer> => {
  const { timeout } = Durations.positive("<loopback authorizer>", { timeout: options.timeout ?? "5 minutes" })
  const open = options.open ?? printUrl
  const listen = CallbackServer.make()

  return {
    listen: (redirect) =>
      Effect.map(listening(listen, redirect), ({ answer, redirectUri }): Callback => ({
        redirectUri,
        authorize: (request) => {
          const url = webPage(request.url)
          if (url === undefined) {
            return Effect.fail(
              unauthorized(request.server, "the page to visit is no http: or https: URL, so it was not opened")
            )
          }
          const answered = firstOf(
            answer(request.state),
            Effect.zipRight(Effect.suspend(() => open({ ...request, url })), Effect.never)
          )
          return inTime(answered, timeout, () =>
            Effect.fail(
              unauthorized(request.server, `nobody came back from the browser within ${Duration.format(timeout)}`)
            ))
        }
      }))
  }
}

/**
 * A `timeout` that can't be used is a `ConfigInvalid`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: {
  (options?: Options & { readonly timeout?: undefined }): Layer.Layer<Authorizer>
  (options: Options): Layer.Layer<Authorizer, McpError.ConfigInvalid>
} = (options?: Options): Layer.Layer<Authorizer> =>
  Layer.effect(Authorizer, Durations.made(() => make(options))) as Layer.Layer<Authorizer>

const listening = (
  listen: CallbackServer.Listen,
  redirect: Redirect
): Effect.Effect<CallbackServer.CallbackServer, McpError.McpError, Scope.Scope> => {
  const registered = redirect.registered === undefined ? undefined : addressOf(redirect.registered)
  if (redirect.fixed && redirect.registered !== undefined && registered === undefined) {
    return Effect.fail(invalid(
      redirect.server,
      "can't be listened at: it must be http://127.0.0.1:<port>/<path>, http://localhost:<port>/<path> or http://[::1]:<port>/<path>"
    ))
  }
  const failed = (address: CallbackServer.Address) => (error: NodeJS.ErrnoException) =>
    invalid(redirect.server, problemOf(address, error))
  if (registered === undefined) {
    const anywhere = { host: "127.0.0.1", port: 0, path: redirect.path ?? "/callback" }
    return Effect.mapError(listen(anywhere), failed(anywhere))
  }
  return listen(registered).pipe(
    Effect.map((server) => ({ ...server, redirectUri: redirect.registered ?? server.redirectUri })),
    Effect.mapError(failed(registered)),
    Effect.catchAll((error) =>
      redirect.fixed
        ? Effect.fail(error)
        : Effect.mapError(listen({ ...registered, port: 0 }), failed(registered))
    )
  )
}

const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"])

const addressOf = (redirectUri: string): CallbackServer.Address | undefined => {
  if (!URL.canParse(redirectUri)) return undefined
  const { hash, hostname, pathname, port, protocol, search } = new URL(redirectUri)
  return protocol === "http:" && loopback.has(hostname) && search === "" && hash === ""
    ? { host: hostname, port: port === "" ? 80 : Number(port), path: pathname }
    : undefined
}

const problemOf = (address: CallbackServer.Address, error: NodeJS.ErrnoException): string => {
  switch (error.code) {
    case "EADDRINUSE":
      return `port ${address.port} of ${address.host} is in use by another program, so the browser can't come back ` +
        "here: end that program, or use another port, which the authorization server must know too"
    case "EACCES":
      return `port ${address.port} of ${address.host} may not be used by this user: use one above 1023`
    default:
      return `${address.host} can't be listened at (${error.code ?? "unknown reason"})`
  }
}

/** In the writing of URLs, which has no character that would mean something to a terminal. */
const webPage = (text: string): string | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined
}

const invalid = (server: string, problem: string) =>
  new McpError.ConfigInvalid({
    server,
    operation: "authorize",
    executed: "no",
    problems: [{ field: "auth.redirectPort", problem }]
  })

const unauthorized = (server: string, detail: string) =>
  new McpError.Unauthorized({ server, operation: "authorize", executed: "no", detail })
