/**
 * One request and its answer.
 *
 * Owns: redirects within the origin, what becomes of bodies that nobody reads, giving back the socket; and the proof that
 * each request has, also when it is sent again, where its token is bound to a key (RFC 9449).
 * May not touch: the meaning of a body.
 *
 * | phase | what may happen | next |
 * |---|---|---|
 * | proving | there is a proof, or none is needed: it is sent | waiting |
 * | proving | there can't be one: told to the reader | over |
 * | waiting | 2xx, the reader wants the body | reading |
 * | waiting | 2xx, the reader does not want the body | draining |
 * | waiting | a redirect that is followed: another exchange takes over | draining |
 * | waiting | any other status | refused |
 * | waiting, reading | failure: told to the reader | over |
 * | reading | the end: told to the reader | over |
 * | refused | the end, a failure, enough bytes, or the second is over: told to the reader | over |
 * | refused | the same for 401 and 403, where there may be other credentials, once | authorizing |
 * | authorizing | there are other credentials, or a nonce for the proof: another exchange takes over | over |
 * | authorizing | there are none: told to the reader | over |
 * | draining | the end, a failure, too many bytes, or the second is over | over |
 * | any | aborted, nothing is told | over |
 *
 * "The second" is 50 ms where a request waits for one of so many sockets (`maxConnections`).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { HttpFailure, HttpListener, HttpRequest } from "../../HttpExchange.js"
import type { Authorization, Credentials } from "../../McpAuth.js"
import * as McpError from "../../McpError.js"
import { Bytes, decodeText } from "./bytes.js"
import type { Refusal } from "./classify.js"
import type { Linger, Lingering } from "./linger.js"
import type { Wire } from "./wire.js"
import * as Wires from "./wire.js"

export type HeaderOf = (lowerCaseName: string) => string | undefined

/** Who reads the body of a 2xx answer. */
export interface BodyReader {
  readonly data: (chunk: Uint8Array) => void
  readonly end: () => void
  readonly failed: (failure: HttpFailure) => void
}

/** Who wants to know how a request was answered: exactly one of the four is called, unless it was aborted. */
export interface Reader {
  /** 2xx. Gives who reads the body, or nothing. */
  accepted(status: number, header: HeaderOf, exchange: Exchange): BodyReader | undefined
  refused(refusal: Refusal): void
  failed(failure: HttpFailure): void
  /** What has to go with it can't be made. */
  unsent(error: McpError.McpError): void
  /** A socket was given back, which may not be the last one of the request. */
  gaveBack?(): void
  /** The session works without it. */
  readonly optional?: boolean
  /** Whether the refusal is about the session, and so nothing that other credentials could change. */
  readonly isOfSession?: (refusal: Refusal) => boolean
}

const refusalBytes = 64 * 1024
const drainBytes = 64 * 1024
const maxRedirects = 5
/** Servers that want another nonce in each proof are not sent the same request for ever. */
const maxNonces = 2

/** How often a request was sent before, and what with. */
interface Before {
  /** It was refused, with other credentials. */
  readonly refused: boolean
  /** It had a proof that lacked the nonce which the server wants; so often, and this one. */
  readonly nonces: number
  readonly nonce: string | undefined
}

const never: Before = { refused: false, nonces: 0, nonce: undefined }

type Phase = "proving" | "waiting" | "reading" | "refused" | "authorizing" | "draining" | "over"

export class Exchange implements HttpListener, Lingering {
  private phase: Phase = "waiting"
  private cancel: (() => boolean | void) | undefined = undefined
  private cancelled = false
  private body: BodyReader | undefined = undefined
  private followed: Exchange | undefined = undefined
  private refusal: Omit<Refusal, "body"> | undefined = undefined
  private refusalBody: Bytes | undefined = undefined
  private drained = 0
  /** Where it waits for its time to be over. */
  private lingers: Linger | undefined = undefined
  lingersUntil = 0
  /** Ends what it waits for, if that is not the server. */
  private cancelWork: (() => void) | undefined = undefined
  private proved = false
  /** What the server wants to see in the next proof, if the request may be sent again because of it. */
  private nonce: string | undefined = undefined

  constructor(
    private readonly wire: Wire,
    private readonly reader: Reader,
    private readonly request: HttpRequest,
    private readonly kind: "request" | "stream",
    private readonly redirects: number,
    private readonly before: Before = never
  ) {}

  start(): void {
    const { config, credentials, live } = this.wire
    live.add(this)
    if (config.maxConnections !== undefined && this.isCrowded()) live.all().forEach((exchange) => exchange.makeRoom())
    if (credentials?.proofs !== undefined && isBound(this.request)) this.prove(credentials.proofs)
    else this.dispatch(this.request)
  }

  private dispatch(request: HttpRequest): void {
    this.cancel = this.wire.client.send(request, this, this.kind)
    if (this.cancelled) this.cancel()
  }

  private prove(proofs: NonNullable<Credentials["proofs"]>): void {
    const { request } = this
    const { headers, method, url } = request
    this.phase = "proving"
    const proof = proofs.prove({ method, url, sent: headers["authorization"]!, nonce: this.before.nonce })
    this.cancelWork = this.wire.timers.run(proof, (exit) => {
      if (this.phase !== "proving") return
      this.phase = "waiting"
      if (Exit.isFailure(exit)) return this.unproven(exit.cause)
      if (exit.value === undefined) return this.dispatch(request)
      this.proved = true
      this.dispatch({ ...request, headers: { ...headers, dpop: exit.value } })
    })
  }

  private unproven(cause: Cause.Cause<McpError.McpError>): void {
    const error = Option.getOrUndefined(Cause.failureOption(cause))
    if (error === undefined) return this.failed({ sent: false, reason: "Other", detail: "its proof could not be made" })
    this.finish()
    this.reader.unsent(error)
  }

  /** Neither it nor one that has taken over has a socket, or waits for anything. */
  get isOver(): boolean {
    return this.phase === "over" && this.followed?.isOver !== false
  }

  /** Gives back the socket. Nothing is told. Whether the server can't have acted on the request, and never will. */
  abort(): boolean {
    const withdrawn = this.giveBack()
    // It was redirected, or refused.
    return this.followed === undefined ? withdrawn : this.followed.abort()
  }

  /** Its own socket: an exchange that has taken over goes on. */
  private giveBack(): boolean {
    const { phase } = this
    let withdrawn = false
    if (phase !== "over") {
      this.finish()
      this.cancelled = true
      const unwritten = this.cancel?.() === true
      this.cancelWork?.()
      // What is to be sent with other credentials was refused.
      withdrawn = phase === "proving" || phase === "authorizing" || (phase === "waiting" && unwritten)
    }
    return withdrawn
  }

  /** What is still to come is read for a second. */
  linger(): void {
    if (this.phase !== "over") this.lingerIn(this.isCrowded() ? this.wire.brief : this.wire.linger)
    this.followed?.linger()
  }

  private lingerIn(linger: Linger): void {
    if (this.lingers !== undefined) return
    this.lingers = linger
    linger.add(this)
  }

  /** Whether another request waits for a socket such as it has. */
  private isCrowded(): boolean {
    const { config: { maxConnections }, live } = this.wire
    if (maxConnections === undefined || this.kind !== "request" || live.size <= maxConnections) return false
    let requests = 0
    for (const { kind } of live.all()) if (kind === "request") requests++
    return requests > maxConnections
  }

  /** Another request waits for a socket: what nobody needs any more has had its time. */
  private makeRoom(): void {
    const { brief, linger } = this.wire
    if (this.kind !== "request" || this.phase === "refused" || this.lingers !== linger) return
    linger.remove(this)
    this.lingers = undefined
    this.lingerIn(brief)
  }

  readonly expire = (): void => {
    if (this.phase === "refused") this.tellRefusal()
    else this.giveBack()
  }

  readonly head = (status: number, header: HeaderOf): void => {
    if (this.phase !== "waiting") return
    const nonce = this.proved ? this.wire.credentials?.proofs?.learn(header("dpop-nonce")) : undefined
    if (status >= 200 && status < 300) {
      const { credentials } = this.wire
      if (credentials !== undefined) this.tellAccepted(credentials)
      this.phase = "reading"
      const body = this.reader.accepted(status, header, this)
      if (this.phase !== "reading") return
      if (body === undefined) this.drain()
      else this.body = body
      return
    }
    const location = status >= 300 && status < 400 ? this.locationOf(header) : undefined
    if (location !== undefined && this.follows(status, location)) {
      this.drain()
      this.followed = new Exchange(
        this.wire,
        this.reader,
        { ...this.request, url: withoutUser(location) },
        this.kind,
        this.redirects + 1,
        nonce === undefined ? this.before : { ...this.before, nonce }
      )
      return this.followed.start()
    }
    this.phase = "refused"
    this.lingerIn(this.wire.linger)
    this.refusal = {
      status,
      retryAfter: header("retry-after"),
      challenge: header("www-authenticate"),
      location: location === undefined ? undefined : McpError.displayUrl(location.href)
    }
    this.refusalBody = new Bytes()
    this.nonce = this.before.nonces < maxNonces ? nonce : undefined
  }

  readonly data = (chunk: Uint8Array): void => {
    switch (this.phase) {
      case "reading":
        return this.body!.data(chunk)
      case "refused": {
        const body = this.refusalBody!
        body.append(chunk.subarray(0, refusalBytes - body.length))
        if (body.length >= refusalBytes) this.tellRefusal()
        return
      }
      case "draining":
        this.drained += chunk.length
        if (this.drained > drainBytes) this.giveBack()
    }
  }

  readonly end = (): void => {
    switch (this.phase) {
      case "waiting":
        return this.failed({ sent: true, reason: "Lost", detail: "the answer ended before it began" })
      case "reading":
        this.finish()
        return this.body!.end()
      case "refused":
        return this.tellRefusal()
      case "draining":
        return this.finish()
    }
  }

  readonly failed = (failure: HttpFailure): void => {
    switch (this.phase) {
      case "waiting":
        this.finish()
        return this.reader.failed(failure)
      case "reading":
        this.finish()
        return this.body!.failed(failure)
      case "refused":
        return this.tellRefusal()
      case "draining":
        return this.finish()
    }
  }

  private drain(): void {
    this.phase = "draining"
    this.lingerIn(this.isCrowded() ? this.wire.brief : this.wire.linger)
  }

  private finish(): void {
    this.phase = "over"
    this.wire.live.delete(this)
    this.lingers?.remove(this)
    this.lingers = undefined
    this.reader.gaveBack?.()
  }

  private tellRefusal(): void {
    const refusal = { ...this.refusal!, body: decodeText(this.refusalBody!.view()) }
    this.abort()
    const { credentials } = this.wire
    const { status } = refusal
    if (
      credentials === undefined || (status !== 401 && status !== 403) || this.reader.isOfSession?.(refusal) === true
    ) {
      return this.reader.refused(refusal)
    }
    if (this.before.refused && !this.lacksNonce(refusal)) return this.reader.refused(refusal)
    this.authorize(credentials, refusal)
  }

  /** Nothing is wrong but the proof, and the server has said what it wants to see in it. */
  private lacksNonce({ challenge }: Refusal): boolean {
    return this.nonce !== undefined && challenge?.includes("_dpop_") === true
  }

  private tellAccepted(credentials: Credentials): void {
    const sent = this.request.headers["authorization"]
    if (sent === undefined) return
    credentials.accepted(sent)
    this.wire.onAccepted?.(sent)
  }

  private authorize(credentials: Credentials, refusal: Refusal): void {
    this.phase = "authorizing"
    this.wire.live.add(this)
    const { challenge, status } = refusal
    const { before, nonce } = this
    const sent = this.request.headers["authorization"]
    const alone = this.reader.optional ?? false
    const other = Effect.flatMap(
      credentials.refused({ status, challenge, sent, alone, nonce }),
      (outcome) =>
        // A refusal that only looks as if it was about the proof is no reason to send it a third time.
        outcome === "no" || (outcome === "again" && before.refused)
          ? Effect.succeed(undefined)
          : outcome === "nonce"
          ? Effect.succeed({ header: sent, before: { ...before, nonces: before.nonces + 1, nonce } })
          : Effect.map(credentials.prepare, ({ header }) => ({ header, before: { ...before, refused: true, nonce } }))
    )
    this.cancelWork = this.wire.timers.run(other, (exit) => {
      if (this.phase !== "authorizing") return
      this.finish()
      if (Exit.isFailure(exit)) {
        const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
        return this.reader.refused(error === undefined ? refusal : { ...refusal, error })
      }
      if (exit.value === undefined) this.reader.refused(refusal)
      else this.repeat(exit.value, exit.value.before)
    })
  }

  /** The request was not executed. */
  private repeat(authorization: Authorization, before: Before): void {
    const { authorization: _, ...others } = this.request.headers
    Wires.hide(this.wire)
    this.followed = new Exchange(
      this.wire,
      this.reader,
      { ...this.request, headers: Wires.authorized(this.wire, others, authorization) },
      this.kind,
      this.redirects,
      before
    )
    this.followed.start()
  }

  private locationOf(header: HeaderOf): URL | undefined {
    const location = header("location")
    if (location === undefined) return undefined
    try {
      return new URL(location, this.request.url)
    } catch {
      return undefined
    }
  }

  /** A request with a body is only repeated where the server asks for exactly that. */
  private follows(status: number, location: URL): boolean {
    if (this.redirects >= maxRedirects || location.origin !== this.wire.target.origin) return false
    if (status === 307 || status === 308) return true
    return this.request.method === "GET" && (status === 301 || status === 302 || status === 303)
  }
}

/** Only credentials that were found out make such headers; nobody else pays for the look. */
const isBound = ({ headers }: HttpRequest): boolean => headers["authorization"]?.startsWith("DPoP ") === true

const withoutUser = (url: URL): string => {
  url.username = ""
  url.password = ""
  url.hash = ""
  return url.href
}

/** Sends a request. The answer is told to the reader, which may be before this function has returned. */
export const send = (wire: Wire, request: HttpRequest, reader: Reader, kind: "request" | "stream"): Exchange => {
  const exchange = new Exchange(wire, reader, request, kind, 0)
  exchange.start()
  return exchange
}
