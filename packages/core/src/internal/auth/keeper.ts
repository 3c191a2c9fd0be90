/**
 * The authorization of one server, for all its channels in this process.
 *
 * Owns: which token goes with a request, and what follows when the server refuses it. One thing happens at a time.
 * May not touch: requests to anybody, which are `Errands`; people, who are spoken to by `Asking`.
 *
 * | refused             | with                                    | then                                                  |
 * |---------------------|-----------------------------------------|-------------------------------------------------------|
 * | 401                 | an older token than the one we have     | again, with the one we have                           |
 * | 401                 | a token; the store has another one      | again, with that one                                  |
 * | 401                 | a token, and it can be renewed          | again; or an error that will pass                     |
 * | 401                 | credentials of the application          | again; or an error                                    |
 * | 401                 | else                                    | a person is needed                                    |
 * | 403                 | a token without scopes that are needed  | the same with more scopes; the token stays in use     |
 * | 401                 | a proof without the nonce it wants      | the same again, with the nonce                        |
 * | 401                 | a proof that it does not believe        | an error: the token stays in use                      |
 * | either              | what is not ours, or not about tokens   | nothing: the refusal is the answer                    |
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { Authorization, AuthRefusal, ProofRequest } from "../../McpAuth.js"
import * as McpError from "../../McpError.js"
import type { Asking } from "./asking.js"
import * as Challenges from "./challenge.js"
import * as Dpop from "./dpop.js"
import type { Demand, Errands, Found } from "./errands.js"
import { Flights } from "./flights.js"
import { Memory } from "./memory.js"
import * as Reasons from "./reasons.js"
import type * as Records from "./record.js"
import type { Requests } from "./requests.js"
import type { Resource } from "./resource.js"
import * as Scopes from "./scopes.js"
import { proven } from "./tokenRequest.js"

export type Outcome = "again" | "no"

/** `"nonce"`: nothing is wrong but the nonce of the proof. */
export type Answer = Outcome | "nonce"

/** What is left to do when nothing works without a person. */
interface Person {
  readonly _tag: "Person"
  readonly found: Found
}

const nothing: Authorization = { header: undefined }

const mostRemembered = 64
const mostShown = 8

export class Keeper {
  /** How many use it. */
  users = 0
  readonly memory = new Memory()
  private shown: Authorization = nothing
  private token: string | undefined = undefined
  /** Refused, so never sent again. */
  private readonly rejected = new Set<string>()
  /** Obtained, and not accepted yet. */
  private readonly unproven = new Set<string>()
  /** Obtained for the sake of what is not worth another one. */
  private renewedAlone: string | undefined = undefined
  /** Sent lately, with the key that it is bound to. */
  private readonly sent = new Map<string, Dpop.Key | undefined>()
  private readonly nonces = new Dpop.Nonces()
  private readonly flights: Flights<Outcome, McpError.McpError>

  constructor(
    readonly errands: Errands,
    readonly clock: Clock.Clock,
    private readonly asking: () => Asking
  ) {
    this.flights = new Flights<Outcome, McpError.McpError>(() =>
      new McpError.ConnectionClosed({
        server: errands.server,
        operation: "authorize",
        executed: "no",
        reason: "Closing",
        detail: "the connection was closed by this application"
      })
    )
  }

  get now(): number {
    return this.clock.unsafeCurrentTimeMillis()
  }

  /** The record has changed. */
  readonly changed = (): void => {
    const { exposed, vault } = this.errands
    const { tokens } = vault.known
    exposed.addRecord(vault.known)
    const token = tokens === undefined || !this.errands.isUsable(tokens) ? undefined : Redacted.value(tokens.access)
    const key = tokens?.key
    if (token === this.token && (token === undefined || this.sent.get(token)?.x === key?.x)) return
    this.token = token
    this.shown = token === undefined ? nothing : { header: `${key === undefined ? bearerScheme : dpopScheme}${token}` }
    if (token === undefined) return
    this.sent.delete(token)
    this.sent.set(token, key)
    if (this.sent.size > mostShown) this.sent.delete(this.sent.keys().next().value!)
  }

  /** New tokens are there, from wherever. */
  obtained(): void {
    this.memory.succeeded()
    if (this.token !== undefined) {
      remember(this.unproven, this.token)
      this.memory.obtained(this.now)
    }
  }

  // ---------------------------------------------------------------------------------------------
  // For each request
  // ---------------------------------------------------------------------------------------------

  current(): Authorization | undefined {
    const { record } = this.errands.vault
    if (record === undefined) return undefined
    const { token } = this
    if (token === undefined || this.rejected.has(token)) return nothing
    return this.isExpiring(record.tokens!) && !this.memory.isTroubled(this.now) ? undefined : this.shown
  }

  private isExpiring({ expiresAt, refresh, skew }: Records.Tokens): boolean {
    return expiresAt !== undefined && this.now >= expiresAt - skew &&
      (refresh !== undefined || this.errands.application !== undefined)
  }

  /** What can't be prepared is left to the server to refuse. */
  prepare(scope: Scope.Scope): Effect.Effect<Authorization> {
    return Effect.suspend(() => {
      const ready = this.current()
      if (ready !== undefined) return Effect.succeed(ready)
      const { token } = this
      if (this.errands.vault.record === undefined) {
        return Effect.flatMap(this.errands.vault.load, () => this.prepare(scope))
      }
      const renewed = this.flights.run("expiring", this.inTurn("expiring", this.renewExpiring(token)), scope)
      return Effect.map(
        Effect.ignore(renewed),
        () => this.token === undefined || this.rejected.has(this.token) ? nothing : this.shown
      )
    })
  }

  accepted(header: string): void {
    if (this.unproven.size > 0 && this.unproven.delete(tokenOf(header) ?? "")) this.memory.proven()
  }

  /** Shows that a request comes from who has the key; nothing where its token needs no key. */
  prove({ method, nonce, sent, url }: ProofRequest): Effect.Effect<string | undefined, McpError.McpError> {
    const token = tokenOf(sent)
    const key = token === undefined ? undefined : this.sent.get(token)
    if (key === undefined) return Effect.succeed(undefined)
    const request = { method, url, token, nonce: nonce ?? this.nonces.of(this.errands.url.origin) }
    return proven(this.errands.server, Dpop.prove(key, request))
  }

  /** An answer has had this nonce for the next proof. Gives it, if it is one. */
  learn(nonce: string | undefined): string | undefined {
    return this.nonces.learn(this.errands.url.origin, nonce)
  }

  isRejected(token: string): boolean {
    return this.rejected.has(token)
  }

  get secrets(): ReadonlyArray<string> {
    return this.errands.exposed.spellings
  }

  // ---------------------------------------------------------------------------------------------
  // When the server has refused
  // ---------------------------------------------------------------------------------------------

  refused(
    { alone, challenge, nonce, sent, status }: AuthRefusal,
    scope: Scope.Scope
  ): Effect.Effect<Answer, McpError.McpError> {
    return Effect.suspend((): Effect.Effect<Answer, McpError.McpError> => {
      const token = tokenOf(sent)
      if (sent !== undefined && (token === undefined || !this.sent.has(token))) return no
      const challenges = Challenges.parse(challenge)
      const demand = this.errands.demand(challenges)
      if (status === 403) return alone === true ? no : this.forbidden(token, demand, scope)
      if (status !== 401 || (challenges.length > 0 && demand === undefined)) return no
      if (token !== undefined && this.sent.get(token) !== undefined && demand?.proof !== undefined) {
        return nonce === undefined ? this.disbelieved(demand.proof) : Effect.succeed("nonce")
      }
      if (alone === true) return this.unauthorizedAlone(token, demand, scope)
      if (token !== undefined) remember(this.rejected, token)
      if (this.isNewer(token)) return again
      return this.flights.run("401", this.inTurn("401", this.unauthorized(token, demand, false)), scope)
    })
  }

  /** Another token would need a proof as well. */
  private disbelieved(proof: "nonce" | "refused"): Effect.Effect<never, McpError.McpError> {
    return Effect.fail(
      Reasons.unauthorized(
        this.errands.server,
        proof === "nonce"
          ? "it asks for another nonce in each proof of the key (DPoP), and does not take the one it has given"
          : "it does not believe the proof of the key (DPoP) that came with the token; the clock here may be wrong"
      )
    )
  }

  /** It may be that only this request is refused: the token stays good for others, and one renewal is all it is worth. */
  private unauthorizedAlone(
    token: string | undefined,
    demand: Demand,
    scope: Scope.Scope
  ): Effect.Effect<Outcome, McpError.McpError> {
    if (this.isNewer(token)) return again
    if (token === undefined || token === this.renewedAlone) return no
    const renewal = Effect.tap(this.unauthorized(token, demand, true), (outcome) =>
      Effect.sync(() => {
        if (outcome === "again") this.renewedAlone = this.token
      }))
    return this.flights.run("401 alone", renewal, scope)
  }

  private forbidden(
    token: string | undefined,
    demand: Demand,
    scope: Scope.Scope
  ): Effect.Effect<Outcome, McpError.McpError> {
    const wanted = Scopes.ofText(demand?.params.get("scope"))
    if (token === undefined || wanted === undefined || demand?.params.get("error") !== "insufficient_scope") return no
    if (this.isNewer(token)) return again
    const about = `403 ${wanted.join(" ")}`
    return this.flights.run(about, this.inTurn(about, this.stepUp(token, demand, wanted)), scope)
  }

  /** There is another token than that one, which nobody has refused. */
  private isNewer(token: string | undefined): boolean {
    return this.token !== undefined && this.token !== token && !this.rejected.has(this.token)
  }

  /** What has just failed is not tried again at once. Interruptions are not remembered. */
  private inTurn(
    about: string,
    work: Effect.Effect<Outcome, McpError.McpError>
  ): Effect.Effect<Outcome, McpError.McpError> {
    return Effect.tapBoth(work, {
      onSuccess: (outcome) => Effect.sync(() => outcome === "again" && this.memory.succeeded()),
      onFailure: (error) =>
        Effect.sync(() => {
          if (this.memory.recall(about, this.now) === undefined) this.memory.failed(about, error, this.now)
        })
    })
  }

  /** With the lock, and what the store has now; nothing where that is another token than the one that was refused. */
  private locked<A>(
    token: string | undefined,
    about: string,
    work: (requests: Requests) => Effect.Effect<A, McpError.McpError>
  ): Effect.Effect<A | "again", McpError.McpError> {
    const { errands } = this
    return Effect.scoped(Effect.gen(this, function*() {
      yield* errands.vault.lock
      yield* errands.vault.reload
      if (this.isNewer(token)) {
        // Somebody has obtained it lately.
        this.obtained()
        return "again"
      }
      const failed = this.memory.recall(about, this.now)
      if (failed !== undefined) return yield* Effect.fail(failed)
      return yield* work(yield* errands.requests)
    }))
  }

  private unauthorized(
    token: string | undefined,
    demand: Demand,
    alone: boolean
  ): Effect.Effect<Outcome, McpError.McpError> {
    const { errands } = this
    const work = (requests: Requests): Effect.Effect<Outcome | Person, McpError.McpError> =>
      Effect.gen(this, function*() {
        const resource = yield* errands.resource(requests, demand)
        if (yield* this.renewed(requests, resource, demand, true)) return "again"
        if (alone) return "no"
        const found = yield* errands.authority(requests, resource, demand)
        if (found === undefined) return "no"
        const { application } = errands
        if (application === undefined) return { _tag: "Person", found }
        // The token that we have was refused, also if this request had none because of that.
        const { tokens } = errands.vault.known
        const latest = token ?? (tokens === undefined ? undefined : Redacted.value(tokens.access))
        if (latest !== undefined && this.unproven.has(latest) && !this.memory.mayRenewUnproven(this.now)) {
          return yield* Effect.fail(
            Reasons.unauthorized(
              errands.server,
              `it refuses a token that ${McpError.displayUrl(found.authority.issuer)} has just given for it`
            )
          )
        }
        yield* this.notTooOften
        yield* errands.acquire(requests, application, found, undefined)
        this.obtained()
        return "again"
      })
    return Effect.flatMap(
      this.locked(token, "401", work),
      (outcome) => typeof outcome === "string" ? Effect.succeed(outcome) : this.person(outcome.found)
    )
  }

  /** Whether there is a new token for a refresh token. One that was never accepted is not worth a new one at once. */
  private renewed(
    requests: Requests,
    resource: Resource | undefined,
    demand: Demand,
    refused: boolean
  ): Effect.Effect<boolean, McpError.McpError> {
    const { errands } = this
    const { tokens } = errands.vault.known
    if (tokens === undefined || !errands.isStillOf(tokens, resource)) return Effect.succeed(false)
    const { refresh } = tokens
    if (refresh === undefined) return Effect.succeed(false)
    if (this.unproven.has(Redacted.value(tokens.access)) && !this.memory.mayRenewUnproven(this.now)) {
      return Effect.succeed(false)
    }
    return Effect.zipRight(
      refused ? this.notTooOften : Effect.void,
      Effect.flatMap(
        errands.bindingOf(tokens, resource, demand),
        (binding) => errands.refresh(requests, { ...tokens, refresh }, binding)
      )
    ).pipe(Effect.tap((done) => Effect.sync(() => done && this.obtained())))
  }

  /** A server that accepts each new token, and refuses it with the next request, is no reason for a new one each time. */
  private readonly notTooOften: Effect.Effect<void, McpError.McpError> = Effect.suspend(() =>
    this.memory.mayRenewRefused(this.now) ? Effect.void : Effect.fail(
      Reasons.unauthorized(
        this.errands.server,
        "it has refused many tokens lately that had just been renewed, so they are not renewed for a while"
      )
    )
  )

  private renewExpiring(token: string | undefined): Effect.Effect<Outcome, McpError.McpError> {
    const { errands } = this
    return this.locked<Outcome>(token, "expiring", (requests) =>
      Effect.gen(this, function*() {
        const { tokens } = errands.vault.known
        if (tokens === undefined) return "no"
        const { application } = errands
        if (application === undefined) {
          return (yield* this.renewed(requests, undefined, undefined, false))
            ? "again"
            : "no"
        }
        const { authority, resource, scopes } = tokens
        const found: Found = {
          authority,
          resource: resource === undefined ? undefined : { resource, issuers: [], scopes: undefined, bound: false },
          asked: undefined,
          binding: yield* errands.bindingOf(tokens, undefined, undefined)
        }
        yield* errands.acquire(requests, application, found, scopes)
        this.obtained()
        return "again"
      }))
  }

  private stepUp(
    token: string,
    demand: Demand,
    wanted: ReadonlyArray<string>
  ): Effect.Effect<Outcome, McpError.McpError> {
    const { errands } = this
    const about = `403 ${wanted.join(" ")}`
    const work = (requests: Requests): Effect.Effect<Outcome | Person, McpError.McpError> =>
      Effect.gen(this, function*() {
        const { tokens } = errands.vault.known
        // It was asked for, and not given.
        if (tokens === undefined || Scopes.includes(tokens.scopes, wanted)) return "no"
        const { application } = errands
        // No person would see what the server makes us ask for.
        const most = application?.scopes
        if (most !== undefined && !Scopes.includes(most, wanted)) return "no"
        const resource = yield* errands.resource(requests, demand)
        const found = yield* errands.authority(requests, resource, demand)
        if (found === undefined) return "no"
        if (application === undefined) return { _tag: "Person", found }
        yield* errands.acquire(requests, application, found, tokens.scopes)
        this.obtained()
        return "again"
      })
    return Effect.flatMap(this.locked(token, about, work), (outcome) =>
      typeof outcome === "string"
        ? Effect.succeed(outcome)
        : Effect.mapError(this.person(outcome.found, errands.vault.known.tokens?.scopes), (error) =>
          error._tag === "Unauthorized" ? asForbidden(error, wanted) : error))
  }

  private person(found: Found, before?: ReadonlyArray<string>): Effect.Effect<never, McpError.McpError> {
    return Effect.flatMap(
      this.asking().inBackground(found, before),
      (url) => Effect.fail(Reasons.needsPerson(this.errands.server, url))
    )
  }
}

const again: Effect.Effect<Outcome> = Effect.succeed("again")
const no: Effect.Effect<Outcome> = Effect.succeed("no")

const bearerScheme = "Bearer "
const dpopScheme = "DPoP "

const tokenOf = (header: string | undefined): string | undefined => {
  const scheme = [bearerScheme, dpopScheme].find((_) => header?.startsWith(_))
  return scheme === undefined ? undefined : header!.slice(scheme.length)
}

const remember = (values: Set<string>, value: string): void => {
  values.delete(value)
  values.add(value)
  if (values.size > mostRemembered) values.delete(values.values().next().value!)
}

const asForbidden = (
  { authorizationUrl, server }: McpError.Unauthorized,
  scopes: ReadonlyArray<string>
): McpError.McpError =>
  new McpError.Forbidden({
    server,
    operation: "authorize",
    executed: "no",
    body: "",
    scope: scopes.join(" "),
    ...(authorizationUrl === undefined ? undefined : { authorizationUrl })
  })
