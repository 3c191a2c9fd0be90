/**
 * Opens one socket: plain, with TLS, through a proxy.
 *
 * Owns: the steps of opening, their common deadline, and what each failure is called.
 * May not touch: HTTP requests of the channel.
 */
import * as HttpExchange from "@mcp-runtime/core/HttpExchange"
import * as Http from "node:http"
import * as Net from "node:net"
import * as Tls from "node:tls"
import type { Proxy, SocketSettings } from "./undiciSettings.js"

/**
 * What `undici` is given in place of an error of a socket: it retries for ever on some codes, and has none to look at here.
 *
 * @internal
 */
export class DialFailed extends Error {
  constructor(readonly failure: HttpExchange.HttpFailure) {
    super(failure.detail)
  }
}

/** @internal */
export interface DialContext {
  readonly settings: SocketSettings
  /** Every socket that is open. */
  readonly sockets: Set<Net.Socket>
  /** Calls the function once after the connect time-out, unless the function that it gives is called before. */
  readonly deadline: (expired: () => void) => () => void
}

/** @internal */
export interface Destination {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  /** The TLS session of an earlier socket, which makes the next handshake short. */
  session: Buffer | undefined
}

/** @internal */
export type Dialled = (failed: DialFailed | null, socket: Net.Socket | null) => void

/** The next address is tried after this time. The default of 250 ms gives up on servers that are merely far away. */
const addressAttemptMillis = 500

const tcp = (host: string, port: number): Net.NetConnectOpts & Tls.ConnectionOptions => ({
  host,
  port,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: addressAttemptMillis
})

const serverName = (host: string): string => Net.isIP(host) === 0 ? host : ""

const proxyFailure = (detail: string, code?: string): HttpExchange.HttpFailure =>
  code === undefined
    ? { sent: false, reason: "Proxy", detail }
    : { sent: false, reason: "Proxy", code, detail }

/**
 * One attempt. `cancel` ends it without a word.
 */
class Dial {
  #settled = false
  #current: Net.Socket | undefined
  /** Let go of when it is over: the listeners of a socket keep this attempt for as long as the socket lives. */
  #stopDeadline: (() => void) | undefined

  constructor(
    readonly context: DialContext,
    readonly destination: Destination,
    readonly dialled: Dialled
  ) {
    this.#stopDeadline = context.deadline(() =>
      this.#fail({ sent: false, reason: "Timeout", detail: "the connection was not made in time" })
    )
    try {
      this.#start()
    } catch (error) {
      queueMicrotask(() => this.#fail(HttpExchange.failureFromError(error, "unsent")))
    }
  }

  readonly cancel = (): void => {
    if (this.#settle()) this.#current?.destroy()
  }

  #settle(): boolean {
    if (this.#settled) return false
    this.#settled = true
    this.#stopDeadline?.()
    this.#stopDeadline = undefined
    return true
  }

  #fail(failure: HttpExchange.HttpFailure): void {
    if (!this.#settle()) return
    this.#current?.destroy()
    this.dialled(new DialFailed(failure), null)
  }

  #done(socket: Net.Socket): void {
    if (this.#settle()) this.dialled(null, socket)
  }

  /** The listener for errors stays for the life of the socket: what comes late has nobody else to hear it. */
  #watch<S extends Net.Socket>(socket: S, failure: (error: unknown) => HttpExchange.HttpFailure): S {
    this.#current = socket
    this.context.sockets.add(socket)
    socket.on("error", (error) => this.#fail(failure(error)))
    socket.once("close", () => {
      this.context.sockets.delete(socket)
      this.#fail(failure(undefined))
    })
    return socket
  }

  #start(): void {
    const { proxy } = this.context.settings
    const { host, port, secure } = this.destination
    if (proxy !== undefined) return this.#toProxy(proxy)
    if (secure) return this.#secure(tcp(host, port))
    const socket = this.#watch(Net.connect(tcp(host, port)), (error) => HttpExchange.failureFromError(error, "unsent"))
    socket.once("connect", () => this.#done(socket))
  }

  #secure(over: Tls.ConnectionOptions): void {
    const { settings } = this.context
    const { destination } = this
    const socket = this.#watch(
      Tls.connect({
        ...over,
        host: destination.host,
        servername: serverName(destination.host),
        secureContext: settings.context(),
        rejectUnauthorized: settings.verify,
        ALPNProtocols: ["http/1.1"],
        ...(destination.session === undefined ? undefined : { session: destination.session })
      }),
      (error) => HttpExchange.failureFromError(error, "unsent")
    )
    socket.on("session", (session) => {
      destination.session = session
    })
    socket.once("secureConnect", () => this.#done(socket))
  }

  #toProxy(proxy: Proxy): void {
    const failure = (error: unknown) => {
      const { code, detail } = HttpExchange.failureFromError(error, "unsent")
      return proxyFailure(`the proxy can't be reached: ${detail}`, code)
    }
    const socket = this.#watch(
      proxy.context === undefined
        ? Net.connect(tcp(proxy.host, proxy.port))
        : Tls.connect({
          ...tcp(proxy.host, proxy.port),
          servername: serverName(proxy.host),
          secureContext: proxy.context,
          ALPNProtocols: ["http/1.1"]
        }),
      failure
    )
    socket.once(proxy.context === undefined ? "connect" : "secureConnect", () => {
      if (this.destination.secure) this.#tunnel(proxy, socket, failure)
      else this.#done(socket)
    })
  }

  #tunnel(proxy: Proxy, over: Net.Socket, failure: (error: unknown) => HttpExchange.HttpFailure): void {
    const { host, port } = this.destination
    const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`
    const request = Http.request({
      method: "CONNECT",
      path: authority,
      headers: {
        host: authority,
        ...(proxy.authorization === undefined ? undefined : { "proxy-authorization": proxy.authorization })
      },
      setHost: false,
      createConnection: () => over
    })
    request.on("error", (error) => this.#fail(failure(error)))
    request.once("connect", (response, _socket, head: Buffer) => {
      const status = response.statusCode ?? 0
      if (status < 200 || status > 299) {
        return this.#fail(proxyRefusal(status, proxy.authorization !== undefined))
      }
      if (head.length > 0) over.unshift(head)
      this.#secure({ socket: over })
    })
    request.end()
  }
}

/** @internal */
export const proxyRefusal = (status: number, authorized: boolean): HttpExchange.HttpFailure =>
  proxyFailure(
    status === 407
      ? authorized ? "the proxy does not accept our credentials (407)" : "the proxy asks for credentials (407)"
      : `the proxy refuses to connect to the server (${status})`
  )

/**
 * Starts to open a socket, and gives the function that gives up.
 *
 * @internal
 */
export const dial = (context: DialContext, destination: Destination, dialled: Dialled): () => void =>
  new Dial(context, destination, dialled).cancel
