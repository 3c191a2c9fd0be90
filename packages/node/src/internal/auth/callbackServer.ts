/**
 * The servers that browsers come back to.
 *
 * Owns: listening sockets on this machine, each from when somebody wants its port until nobody does, and which request is the
 * answer to whom. Several may want one address at the same time: a client that was made before has one for all its servers.
 * May not touch: what the answer means.
 *
 * | request                                         | is answered | and            |
 * |-------------------------------------------------|-------------|----------------|
 * | not for the host of a redirect URI              | 400         | nothing        |
 * | not for its path                                | 404         | nothing        |
 * | not GET                                         | 405         | nothing        |
 * | before `answer`, or without an expected `state` | 400         | nothing        |
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

export type Listen = (address: Address) => Effect.Effect<CallbackServer, NodeJS.ErrnoException, Scope.Scope>

/** Somebody who waits for a browser. */
interface Place {
  readonly origin: string
  readonly path: string
  readonly answered: Deferred.Deferred<string>
  expected: string | undefined
}

interface Listening {
  readonly server: Http.Server
  readonly places: Set<Place>
}

/** Much more than a code, a state and an issuer need. */
const maxHeaderSize = 16 * 1024

const maxConnections = 32

export const make = (): Listen => {
  const shared = new Map<string, Listening>()
  // One is not opened before the last one at its port is closed.
  const inTurn = Effect.unsafeMakeSemaphore(1).withPermits(1)

  const enter = (address: Address) =>
    Effect.gen(function*() {
      const answered = yield* Deferred.make<string>()
      const host = address.host === "[::1]" ? "::1" : "127.0.0.1"
      const listening = shared.get(`${host} ${address.port}`) ?? (yield* opened(host, address.port))
      const { port } = listening.server.address() as AddressInfo
      shared.set(`${host} ${port}`, listening)
      // Without the port if it is 80, as browsers write it.
      const { origin } = new URL(`http://${address.host}:${port}`)
      const place: Place = { origin, path: address.path, answered, expected: undefined }
      listening.places.add(place)
      const leave = Effect.suspend(() => {
        listening.places.delete(place)
        if (listening.places.size > 0) return Effect.void
        shared.delete(`${host} ${port}`)
        return closed(listening.server)
      })
      return { place, leave }
    })

  return (address) =>
    Effect.map(
      Effect.acquireRelease(inTurn(enter(address)), ({ leave }) => inTurn(leave)),
      ({ place }) => ({
        redirectUri: `${place.origin}${place.path}`,
        answer: (state) =>
          Effect.suspend(() => {
            place.expected = state
            return Deferred.await(place.answered)
          })
      })
    )
}

const opened = (host: string, port: number): Effect.Effect<Listening, NodeJS.ErrnoException> => {
  const places = new Set<Place>()
  const server = Http.createServer({ maxHeaderSize, keepAliveTimeout: 0 }, (request, response) => {
    request.on("error", ignore).resume()
    response.on("error", ignore)
    const verdict = judge(request, [...places])
    if (!("url" in verdict)) return show(response, verdict)
    const { place, url } = verdict
    place.expected = undefined
    // The program may end as soon as it has the answer: the person should see the page before.
    response.once("close", () => Deferred.unsafeDone(place.answered, Effect.succeed(url.href)))
    show(response, url.searchParams.has("error") ? Page.declined : Page.done)
  })
  server.maxConnections = maxConnections
  return Effect.as(listen(server, host, port), { server, places })
}

const judge = (
  request: Http.IncomingMessage,
  all: ReadonlyArray<Place>
): Page.Page | { readonly place: Place; readonly url: URL } => {
  const origin = `http://${request.headers.host}`
  const here = all.filter((_) => _.origin === origin)
  if (here.length === 0) return Page.unexpected
  const url = parse(request.url ?? "", origin)
  const places = here.filter(({ path }) => url?.origin === origin && url.pathname === path)
  if (url === undefined || places.length === 0) return Page.notFound
  if (request.method !== "GET") return Page.notAllowed
  const [state, ...others] = url.searchParams.getAll("state")
  const place = places.find(({ expected }) => expected !== undefined && expected === state && others.length === 0)
  return place === undefined ? Page.unexpected : { place, url }
}

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

const listen = (server: Http.Server, host: string, port: number) =>
  Effect.async<void, NodeJS.ErrnoException>((resume) => {
    server.once("error", (error) => resume(Effect.fail(error)))
    server.listen({ port, host, exclusive: true }, () => {
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
