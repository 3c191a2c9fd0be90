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
 * | either              | what is not ours, or not about tokens   | nothing: the refusal is the answer                    |
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { Authorization, AuthRefusal } from "../../McpAuth.js"
import * as McpError from "../../McpError.js"
import type { Asking } from "./asking.js"
import * as Challenges from "./challenge.js"
import type { Bearer, Errands, Found } from "./errands.js"
import { Flights } from "./flights.js"
import { Memory } from "./memory.js"
import * as Reasons from "./reasons.js"
import type * as Records from "./record.js"
import type { Requests } from "./requests.js"
import type { Resource } from "./resource.js"
import * as Scopes from "./scopes.js"

export type Outcome = "again" | "no"

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
  /** Sent lately. */
  private readonly sent: Array<string> = []
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
    const token = tokens === undefined ? undefined : Redacted.value(tokens.access)
    if (token === this.token) return
    this.token = token
    this.shown = token === undefined ? nothing : { header: `Bearer ${token}` }
    if (token === undefined) return
    this.sent.push(token)
    if (this.sent.length > mostShown) this.sent.shift()
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
      (refresh !== undefined || this.errands.clientCredentials !== undefined)
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
    if (this.unproven.size > 0) this.unproven.delete(tokenOf(header) ?? "")
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
    { alone, challenge, sent, status }: AuthRefusal,
    scope: Scope.Scope
  ): Effect.Effect<Outcome, McpError.McpError> {
    return Effect.suspend(() => {
      const token = tokenOf(sent)
      if (sent !== undefined && (token === undefined || !this.sent.includes(token))) return no
      const challenges = Challenges.parse(challenge)
      const bearer = Challenges.bearer(challenges)
      if (status === 403) return alone === true ? no : this.forbidden(token, bearer, scope)
      if (status !== 401 || (challenges.length > 0 && bearer === undefined)) return no
      if (alone === true) return this.unauthorizedAlone(token, bearer, scope)
      if (token !== undefined) remember(this.rejected, token)
      if (this.isNewer(token)) return again
      return this.flights.run("401", this.inTurn("401", this.unauthorized(token, bearer, false)), scope)
    })
  }

  /** It may be that only this request is refused: the token stays good for others, and one renewal is all it is worth. */
  private unauthorizedAlone(
    token: string | undefined,
    bearer: Bearer,
    scope: Scope.Scope
  ): Effect.Effect<Outcome, McpError.McpError> {
    if (token === undefined || token === this.renewedAlone) return no
    if (this.isNewer(token)) return again
    const renewal = Effect.tap(this.unauthorized(token, bearer, true), (outcome) =>
      Effect.sync(() => {
        if (outcome === "again") this.renewedAlone = this.token
      }))
    return this.flights.run("401 alone", renewal, scope)
  }

  private forbidden(
    token: string | undefined,
    bearer: Bearer,
    scope: Scope.Scope
  ): Effect.Effect<Outcome, McpError.McpError> {
    const wanted = Scopes.ofText(bearer?.params.get("scope"))
    if (token === undefined || wanted === undefined || bearer?.params.get("error") !== "insufficient_scope") return no
    if (this.isNewer(token)) return again
    const about = `403 ${wanted.join(" ")}`
    return this.flights.run(about, this.inTurn(about, this.stepUp(token, bearer, wanted)), scope)
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
    bearer: Bearer,
    alone: boolean
  ): Effect.Effect<Outcome, McpError.McpError> {
    const { errands } = this
    const work = (requests: Requests): Effect.Effect<Outcome | Person, McpError.McpError> =>
      Effect.gen(this, function*() {
        const resource = yield* errands.resource(requests, bearer)
        if (yield* this.renewed(requests, resource, true)) return "again"
        if (alone) return "no"
        const found = yield* errands.authority(requests, resource, bearer)
        if (found === undefined) return "no"
        const { clientCredentials } = errands
        if (clientCredentials === undefined) return { _tag: "Person", found }
        if (token !== undefined && this.unproven.has(token) && !this.memory.mayRenewUnproven(this.now)) {
          return yield* Effect.fail(
            Reasons.unauthorized(
              errands.server,
              `it refuses a token that ${McpError.displayUrl(found.authority.issuer)} has just given for it`
            )
          )
        }
        yield* this.notTooOften
        yield* errands.acquire(requests, clientCredentials, found, undefined)
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
    return Effect.zipRight(refused ? this.notTooOften : Effect.void, errands.refresh(requests, { ...tokens, refresh }))
      .pipe(
        Effect.tap((done) => Effect.sync(() => done && this.obtained()))
      )
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
        const { clientCredentials } = errands
        if (clientCredentials === undefined) return (yield* this.renewed(requests, undefined, false)) ? "again" : "no"
        const { authority, resource, scopes } = tokens
        const found: Found = {
          authority,
          resource: resource === undefined ? undefined : { resource, issuers: [], scopes: undefined },
          asked: undefined
        }
        yield* errands.acquire(requests, clientCredentials, found, scopes)
        this.obtained()
        return "again"
      }))
  }

  private stepUp(
    token: string,
    bearer: Bearer,
    wanted: ReadonlyArray<string>
  ): Effect.Effect<Outcome, McpError.McpError> {
    const { errands } = this
    const about = `403 ${wanted.join(" ")}`
    const work = (requests: Requests): Effect.Effect<Outcome | Person, McpError.McpError> =>
      Effect.gen(this, function*() {
        const { tokens } = errands.vault.known
        // It was asked for, and not given.
        if (tokens === undefined || Scopes.includes(tokens.scopes, wanted)) return "no"
        const { clientCredentials } = errands
        // No person would see what the server makes us ask for.
        const most = clientCredentials?.scopes
        if (most !== undefined && !Scopes.includes(most, wanted)) return "no"
        const resource = yield* errands.resource(requests, bearer)
        const found = yield* errands.authority(requests, resource, bearer)
        if (found === undefined) return "no"
        if (clientCredentials === undefined) return { _tag: "Person", found }
        yield* errands.acquire(requests, clientCredentials, found, tokens.scopes)
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

const bearerHeader = "Bearer "

const tokenOf = (header: string | undefined): string | undefined =>
  header?.startsWith(bearerHeader) === true ? header.slice(bearerHeader.length) : undefined

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
