/**
 * The sockets of one origin: lanes, each with at most one exchange, and those who wait for a lane.
 *
 * Owns: which exchange goes over which socket, and the end of both. A lane is one `undici.Client`, which parses and writes.
 * May not touch: the meaning of a failure, settings of sockets.
 *
 * Why not `undici.Pool`: to abort a request there reconnects its client only to drop the request; a request that waits can't
 * be taken back; a client removed after a failed connection is not destroyed with the pool; and a sequence of requests
 * takes turns over two sockets.
 *
 * | exchange    | event                | becomes                                                                 |
 * |-------------|----------------------|-------------------------------------------------------------------------|
 * | (new)       | a lane is free       | in lane                                                                 |
 * | (new)       | fewer lanes than max | in a new lane                                                           |
 * | (new)       | neither              | waiting                                                                 |
 * | waiting     | a lane is freed      | in lane                                                                 |
 * | waiting     | abort                | done, no socket was touched                                             |
 * | in lane     | end of the answer    | done, the lane is free                                                  |
 * | in lane     | the same, too early  | done, the lane is destroyed with its socket, one who waits gets another |
 * | in lane     | abort, failure       | the same                                                                |
 *
 * Too early is an answer that has ended before its request was all written. Whether it was may be known a turn later only.
 */
import { failureFromError, type HttpFailure, type HttpListener } from "@mcp-runtime/core/HttpExchange"
import type { EventEmitter } from "node:events"
import type { Socket } from "node:net"
import type * as Undici from "undici"
import { type Destination, dial, type DialContext, DialFailed, proxyRefusal } from "./undiciDial.js"

const noop = () => {}

const failureOf = (undici: typeof Undici, error: unknown, started: boolean): HttpFailure => {
  if (error instanceof DialFailed) return error.failure
  const failure = failureFromError(error, started ? "sent" : "unsent")
  if (!started) return failure
  return isContinue(undici, error)
    ? { ...failure, detail: continued }
    : isNotHttp(undici, error)
    ? { ...failure, detail: notHttp }
    : failure
}

/** The one reason for which undici says so while it waits for an answer. It can't be told to read on. */
const isContinue = ({ errors }: typeof Undici, error: unknown): boolean =>
  error instanceof errors.SocketError && error.message === "bad response"

const continued = "the server sent 100 Continue, which was not asked for, and what came after it can't be read"

/** Its codes, which would say so, have got lost in undici 7.30. What is empty is an answer that has only broken off. */
const isNotHttp = ({ errors }: typeof Undici, error: unknown): boolean =>
  error instanceof errors.HTTPParserError && "data" in error && error.data !== ""

const notHttp = "what came back is not HTTP"

/**
 * Names and values by turns, as undici has read them. Only few names are ever asked for, of answers that have many. What comes
 * twice with one value is there once, as with proxies that add what is there already.
 */
const headerOf = (headers: ReadonlyArray<Buffer>, lowerCaseName: string): string | undefined => {
  let found: string | undefined
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    if (name.length !== lowerCaseName.length || name.toString("latin1").toLowerCase() !== lowerCaseName) continue
    const value = headers[i + 1]!.toString("latin1")
    found = found === undefined || found === value ? value : `${found}, ${value}`
  }
  return found
}

/**
 * One request on its way: its part that `undici` sees, and its state. Of undici's two kinds of handlers it is the older one: the
 * newer one stands on it, and reads all headers into an object first.
 *
 * @internal
 */
export class Exchange implements Undici.Dispatcher.DispatchHandler {
  lane: Lane | undefined
  /** `undici` has begun to write the request. */
  started = false
  done = false
  dispatching = false

  constructor(
    readonly options: Undici.Dispatcher.DispatchOptions,
    readonly listener: HttpListener,
    readonly lanes: Lanes
  ) {}

  onConnect(): void {
    this.started = true
  }

  onHeaders(status: number, headers: Array<Buffer>): boolean {
    if (this.done || status < 200) return true
    const { proxyAuthorized } = this.lanes
    if (status === 407 && proxyAuthorized !== undefined) this.fail(proxyRefusal(status, proxyAuthorized))
    else this.listener.head(status, (name) => headerOf(headers, name))
    return true
  }

  onData(chunk: Uint8Array): boolean {
    if (!this.done) this.listener.data(chunk)
    return true
  }

  onComplete(): void {
    if (this.done) return
    this.done = true
    this.lane?.free()
    this.listener.end()
  }

  onError(error: Error): void {
    if (this.done) return
    const failure = failureOf(this.lanes.undici, error, this.started)
    if (this.dispatching) queueMicrotask(() => this.fail(failure))
    else this.fail(failure)
  }

  fail(failure: HttpFailure): void {
    if (this.done) return
    this.done = true
    this.lane?.destroy()
    this.listener.failed(failure)
  }
}

let gone: Error | undefined

/** One for all: undici would make one for each, of which Node writes out the stack, two thirds of what it takes to destroy a client. */
const goneIn = ({ errors }: typeof Undici): Error => gone ??= new errors.ClientDestroyedError()

/**
 * One client of one socket. It is destroyed with the first exchange that does not end well.
 */
class Lane {
  current: Exchange | undefined
  readonly #client: Undici.Client
  #socket: Socket | undefined
  #cancelDial: (() => void) | undefined
  #destroyed = false

  constructor(readonly lanes: Lanes) {
    this.#client = new lanes.undici.Client(lanes.origin, {
      ...lanes.clientOptions,
      connect: (_, connected) => {
        this.#cancelDial = dial(lanes.context, lanes.destination, (failed, socket) => {
          this.#cancelDial = undefined
          if (failed !== null) connected(failed, null)
          else if (socket !== null) {
            this.#socket = socket
            connected(null, socket)
          }
        })
      }
    })
    const events: EventEmitter = this.#client
    events.on("error", noop)
    events.on("disconnect", () => {
      if (this.current === undefined) this.destroy()
    })
  }

  run(exchange: Exchange): void {
    this.current = exchange
    exchange.lane = this
    exchange.dispatching = true
    this.#client.dispatch(exchange.options, exchange)
    exchange.dispatching = false
  }

  free(): void {
    this.current = undefined
    if (!this.#isWriting) return this.lanes.freed(this)
    this.lanes.doubted(this)
    // TLS says a turn later only that all is written, which may be long after it was read and answered.
    setImmediate(() => {
      if (this.#destroyed) return
      // The next one would wait behind the rest of this one, which the server may never read.
      if (this.#isWriting) this.destroy()
      else this.lanes.freed(this)
    })
  }

  get #isWriting(): boolean {
    return this.#socket !== undefined && this.#socket.writableLength > 0
  }

  destroy(): void {
    if (this.#destroyed) return
    this.#destroyed = true
    this.current = undefined
    this.#cancelDial?.()
    this.#client.destroy(goneIn(this.lanes.undici), noop)
    this.lanes.destroyed(this)
  }
}

/** @internal */
export interface LanesOptions {
  readonly undici: typeof Undici
  readonly origin: string
  readonly destination: Destination
  readonly context: DialContext
  readonly clientOptions: Undici.Client.Options
  readonly max: number
  /** Set where requests are handed to a proxy as they are: whether it was given credentials. */
  readonly proxyAuthorized: boolean | undefined
}

/** @internal */
export class Lanes {
  readonly undici: typeof Undici
  readonly origin: string
  readonly destination: Destination
  readonly context: DialContext
  readonly clientOptions: Undici.Client.Options
  readonly proxyAuthorized: boolean | undefined
  readonly #max: number
  readonly #all = new Set<Lane>()
  readonly #waiting = new Set<Exchange>()
  /** The last one freed is the first one used, so that sockets which are not needed grow old and close. */
  readonly #free: Array<Lane> = []
  /** What has ended in them may not be all written. Known in the next turn. */
  readonly #doubted = new Set<Lane>()
  #closed = false

  constructor(options: LanesOptions) {
    this.undici = options.undici
    this.origin = options.origin
    this.destination = options.destination
    this.context = options.context
    this.clientOptions = options.clientOptions
    this.proxyAuthorized = options.proxyAuthorized
    this.#max = options.max
  }

  get size(): number {
    return this.#all.size
  }

  submit(exchange: Exchange): void {
    // One that is doubted is most likely free in the next turn, which is sooner than another socket is made.
    const lane = this.#free.pop() ?? (this.#waiting.size < this.#doubted.size ? undefined : this.#add())
    if (lane === undefined) this.#waiting.add(exchange)
    else lane.run(exchange)
  }

  /** Whether nothing of it was written, and nothing will be. */
  abort(exchange: Exchange): boolean {
    if (exchange.done) return false
    exchange.done = true
    if (exchange.lane === undefined) this.#waiting.delete(exchange)
    else exchange.lane.destroy()
    return !exchange.started
  }

  /** Ends everything without a word to anyone. */
  close(): void {
    this.#closed = true
    for (const exchange of this.#waiting) exchange.done = true
    this.#waiting.clear()
    for (const lane of this.#all) {
      if (lane.current !== undefined) lane.current.done = true
      lane.destroy()
    }
  }

  doubted(lane: Lane): void {
    this.#doubted.add(lane)
  }

  freed(lane: Lane): void {
    this.#doubted.delete(lane)
    const next = this.#next()
    if (next === undefined) this.#free.push(lane)
    else lane.run(next)
  }

  destroyed(lane: Lane): void {
    this.#all.delete(lane)
    this.#doubted.delete(lane)
    const index = this.#free.indexOf(lane)
    if (index !== -1) this.#free.splice(index, 1)
    if (this.#waiting.size === 0) return
    const another = this.#add()
    const next = another === undefined ? undefined : this.#next()
    if (next !== undefined) another?.run(next)
  }

  #add(): Lane | undefined {
    if (this.#closed || this.#all.size >= this.#max) return undefined
    const lane = new Lane(this)
    this.#all.add(lane)
    return lane
  }

  #next(): Exchange | undefined {
    for (const exchange of this.#waiting) {
      this.#waiting.delete(exchange)
      return exchange
    }
    return undefined
  }
}
