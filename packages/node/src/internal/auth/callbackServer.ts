/**
 * The server that a browser comes back to.
 *
 * Owns: one listening socket on this machine, from opening it until its scope closes, and which request is the answer.
 * May not touch: what the answer means.
 *
 * | request                                         | is answered | and            |
 * |-------------------------------------------------|-------------|----------------|
 * | not for the host of the redirect URI            | 400         | nothing        |
 * | not for its path                                | 404         | nothing        |
 * | not GET                                         | 405         | nothing        |
 * | before `answer`, or without the expected `state` | 400        | nothing        |
 * | the first one with it                           | 200         | is the answer  |
 * | every later one                                 | 400         | nothing        |
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Page from "./callbackPage.js"

export interface Address {
  /** In a URL: `127.0.0.1`, `[::1]` or `localhost`. */
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  readonly path: string
}

export interface CallbackServer {
  readonly redirectUri: string
  /** Waits for the browser, and gives the whole URL that it came with. */
  readonly answer: (state: string) => Effect.Effect<string>
}

/** Much more than a code, a state and an issuer need. */
const maxHeaderSize = 16 * 1024

const maxConnections = 32

export const listen = (address: Address): Effect.Effect<CallbackServer, NodeJS.ErrnoException, Scope.Scope> =>
  Effect.gen(function*() {
    const answered = yield* Deferred.make<string>()
    let expected: string | undefined
    let origin = ""

    const judge = (request: Http.IncomingMessage): Page.Page | { readonly url: URL } => {
      if (`http://${request.headers.host}` !== origin) return Page.unexpected
      const url = parse(request.url ?? "", origin)
      if (url?.origin !== origin || url.pathname !== address.path) return Page.notFound
      if (request.method !== "GET") return Page.notAllowed
      const states = url.searchParams.getAll("state")
      return expected === undefined || states.length !== 1 || states[0] !== expected ? Page.unexpected : { url }
    }

    const server = Http.createServer({ maxHeaderSize, keepAliveTimeout: 0 }, (request, response) => {
      request.on("error", ignore).resume()
      response.on("error", ignore)
      const verdict = judge(request)
      if (!("url" in verdict)) return show(response, verdict)
      expected = undefined
      // The program may end as soon as it has the answer: the person should see the page before.
      response.once("close", () => Deferred.unsafeDone(answered, Effect.succeed(verdict.url.href)))
      show(response, verdict.url.searchParams.has("error") ? Page.declined : Page.done)
    })
    server.maxConnections = maxConnections
    yield* Effect.acquireRelease(opened(server, address), () => closed(server))
    // Without the port if it is 80, as browsers write it.
    origin = new URL(`http://${address.host}:${(server.address() as AddressInfo).port}`).origin

    return {
      redirectUri: `${origin}${address.path}`,
      answer: (state) =>
        Effect.suspend(() => {
          expected = state
          return Deferred.await(answered)
        })
    }
  })

const ignore = () => {}

const parse = (text: string, origin: string): URL | undefined => {
  try {
    return new URL(text, origin)
  } catch {
    return undefined
  }
}

const show = (response: Http.ServerResponse, page: Page.Page): void => {
  response.writeHead(page.status, Page.headers)
  response.end(Page.html(page))
}

const opened = (server: Http.Server, address: Address) =>
  Effect.async<void, NodeJS.ErrnoException>((resume) => {
    server.once("error", (error) => resume(Effect.fail(error)))
    const host = address.host === "[::1]" ? "::1" : "127.0.0.1"
    server.listen({ port: address.port, host, exclusive: true }, () => {
      // From here on, errors are those of accepting a connection, which the browser sees.
      server.removeAllListeners("error").on("error", ignore)
      resume(Effect.void)
    })
  })

const closed = (server: Http.Server): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })
