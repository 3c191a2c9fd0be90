/**
 * Single requests to authorization servers, and for metadata.
 *
 * Owns: their bounds (a deadline, a size), their redirects (within the origin, for metadata alone), and one HTTP client
 * per origin with what the server's configuration says about TLS and proxies. All of it ends with the scope.
 * May not touch: the headers of the configuration, which are for the MCP server and nobody else.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { HttpClient, HttpExchange, HttpFailure } from "../../HttpExchange.js"
import type * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import { Bytes, decodeText } from "../http/bytes.js"
import * as Secrets from "../secrets.js"
import { inTime } from "../within.js"
import { Nonces } from "./dpop.js"
import * as Reasons from "./reasons.js"
import * as Urls from "./urls.js"

export interface Answer {
  readonly status: number
  readonly header: (lowerCaseName: string) => string | undefined
  readonly body: string
}

export interface Request {
  readonly method: "GET" | "POST"
  readonly url: URL
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
  /** What it is, in words for an error. */
  readonly what: string
  readonly millis: number
  /** The head is all that is wanted. */
  readonly headOnly?: boolean
}

const maxBytes = 1024 * 1024
const maxRedirects = 3

export interface Requests {
  readonly server: string
  /** What must not show of an answer. */
  readonly exposed: () => ReadonlyArray<string>
  /** Something that must not show from now on. */
  readonly expose: (secret: string) => void
  /** What those that are asked want to see in a proof. */
  readonly nonces: Nonces
  /** The answer, whatever its status is. */
  readonly send: (request: Request) => Effect.Effect<Answer, McpError.McpError>
  /** The same, where the server may point to another place of its own. */
  readonly follow: (request: Request) => Effect.Effect<Answer, McpError.McpError>
}

export const make = (
  exchange: Context.Tag.Service<HttpExchange>,
  config: McpConfig.AnyHttpConfig,
  { expose, exposed, nonces }: Pick<Requests, "expose" | "exposed" | "nonces"> = {
    expose: () => {},
    exposed: () => Secrets.none,
    nonces: new Nonces()
  }
): Effect.Effect<Requests, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const clients = new Map<string, HttpClient>()
    const server = config.name

    const clientOf = (url: URL): Effect.Effect<HttpClient, McpError.McpError> => {
      const known = clients.get(url.origin)
      if (known !== undefined) return Effect.succeed(known)
      if (Urls.isInTheClear(url, config)) return Effect.fail(Reasons.misconfigured(server, "url", Urls.plainProblem))
      const { headers: _, maxConnections: __, requestHeaders: ___, tls, ...rest } = config
      const trust = tls === undefined ? undefined : { tls: tlsFor(url, tls, config) }
      return Effect.tap(Scope.extend(exchange.open({ ...rest, ...trust, url: `${url.origin}/` }), scope), (client) =>
        Effect.sync(() => clients.set(url.origin, client)))
    }

    const send = (request: Request): Effect.Effect<Answer, McpError.McpError> =>
      inTime(
        Effect.flatMap(clientOf(request.url), (client) =>
          exchanged(server, client, request)),
        request.millis,
        () => Effect.fail(Reasons.tooSlow(server, request.what, request.url, request.millis))
      )

    const follow = (request: Request, left = maxRedirects): Effect.Effect<Answer, McpError.McpError> =>
      Effect.flatMap(send(request), (answer) => {
        const next = redirectOf(request.url, answer)
        return next === undefined || left === 0 ? Effect.succeed(answer) : follow({ ...request, url: next }, left - 1)
      })

    return { server, expose, exposed, nonces, send, follow: (request) => follow(request) }
  })

type Tls = NonNullable<McpConfig.AnyHttpConfig["tls"]>

/**
 * Who has turned off the check of the server's certificate has not done so for whoever the server names, nor is the
 * certificate of the configuration shown to them.
 */
const tlsFor = (url: URL, { cert, key, passphrase, verify, ...tls }: Tls, config: McpConfig.AnyHttpConfig): Tls => {
  const isOwn = url.origin === Urls.ofServer(config.url).origin
  return {
    ...tls,
    ...((isOwn || Urls.isLoopback(url)) && { verify }),
    ...((isOwn || isNamed(url, config)) && { cert, key, passphrase })
  }
}

/** Whether the configuration itself names it, as one that has to do with authorization. */
const isNamed = ({ origin }: URL, { auth }: McpConfig.AnyHttpConfig): boolean => {
  if (typeof auth !== "object") return false
  const others = "idp" in auth ? [auth.idp.issuer, auth.idp.tokenEndpoint] : []
  return [auth.issuer, ...others].some((_) => Urls.parse(_)?.origin === origin)
}

const redirectOf = (from: URL, { header, status }: Answer): URL | undefined => {
  const location = header("location")
  if (status < 300 || status >= 400 || location === undefined || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from.href)
  return to.origin === from.origin && to.username === "" && to.password === "" ? to : undefined
}

const exchanged = (
  server: string,
  client: HttpClient,
  { body, headOnly, headers, method, url, what }: Request
): Effect.Effect<Answer, McpError.McpError> =>
  Effect.async<Answer, McpError.McpError>((resume) => {
    const bytes = new Bytes()
    let answer: Omit<Answer, "body"> | undefined
    let abort: (() => void) | undefined
    let over = false
    const end = (effect: Effect.Effect<Answer, McpError.McpError>, aborting: boolean) => {
      if (over) return
      over = true
      if (aborting) abort?.()
      resume(effect)
    }
    abort = client.send(
      {
        method,
        url: url.href,
        headers: { accept: "application/json", ...headers },
        ...(body === undefined ? undefined : { body })
      },
      {
        head: (status, header) => {
          answer = { status, header }
          if (headOnly === true) end(Effect.succeed({ ...answer, body: "" }), true)
        },
        data: (chunk) => {
          if (bytes.length + chunk.length > maxBytes) {
            return end(Effect.fail(Reasons.tooLarge(server, what, url, maxBytes)), true)
          }
          if (!over) bytes.append(chunk)
        },
        end: () =>
          end(
            answer === undefined
              ? Effect.fail(Reasons.unreachable(server, what, url, lost))
              : Effect.succeed({ ...answer, body: decodeText(bytes.view()) }),
            false
          ),
        failed: (failure) => end(Effect.fail(Reasons.unreachable(server, what, url, failure)), false)
      },
      "stream"
    )
    if (over) return abort()
    return Effect.sync(() => {
      over = true
      abort?.()
    })
  })

const lost: HttpFailure = { sent: true, reason: "Lost", detail: "the answer ended before it began" }

/** A JSON object, or nothing. */
export const objectOf = (text: string): { readonly [key: string]: unknown } | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? value as { readonly [key: string]: unknown }
      : undefined
  } catch {
    return undefined
  }
}
