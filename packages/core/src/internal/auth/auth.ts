/**
 * The service of authorization.
 *
 * Owns: one keeper for each server, and what runs in the background, which ends with the scope of the layer.
 * May not touch: what a keeper decides.
 */
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { HttpExchange } from "../../HttpExchange.js"
import type { Authorizer, Credentials, McpAuth, Status, TokenStore } from "../../McpAuth.js"
import * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import type * as SecretResolver from "../../SecretResolver.js"
import * as Expand from "../config/expand.js"
import * as Secrets from "../secrets.js"
import { within } from "../within.js"
import * as Applications from "./application.js"
import { Asking, type Fork } from "./asking.js"
import { type Demand, Errands, type Found } from "./errands.js"
import { Keeper } from "./keeper.js"
import * as Keys from "./keys.js"
import * as Reasons from "./reasons.js"
import * as Scopes from "./scopes.js"
import * as Urls from "./urls.js"
import { Vault } from "./vault.js"
import { Witness } from "./witness.js"

interface Kept {
  readonly keeper: Keeper
  readonly asking: Asking
  /** What the browser has brought is redeemed once, also if it is handed in twice. */
  readonly finishing: Effect.Semaphore
}

const mostKept = 256
/** A page may be visited this long after it was asked for. */
const pendingLasts = 60 * 60_000

export interface Parts {
  readonly exchange: Context.Tag.Service<HttpExchange>
  readonly store: Context.Tag.Service<TokenStore>
  readonly authorizer: Context.Tag.Service<Authorizer> | undefined
  readonly secrets: Context.Tag.Service<SecretResolver.SecretResolver>
}

export const make = (
  parts: Parts
): Effect.Effect<Context.Tag.Service<McpAuth>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    const fork = yield* background
    const all = new Map<string, Kept>()

    const kept = (config: McpConfig.AnyHttpConfig): Effect.Effect<Kept, McpError.McpError> =>
      Effect.map(Keys.of(config), (keys) => {
        const known = all.get(keys.process)
        if (known !== undefined) {
          known.keeper.errands.config = config
          known.keeper.changed()
          return known
        }
        if (all.size >= mostKept) forgetUnused(all)
        const made = keep(config, keys.store, parts, clock, fork)
        all.set(keys.process, made)
        return made
      })

    const wanting = (config: McpConfig.ServerConfig) => Effect.flatMap(resolved(config, parts.secrets), authorizable)

    const of = (config: McpConfig.ServerConfig): Effect.Effect<Kept, McpError.McpError> =>
      Effect.flatMap(wanting(config), (_) => isTooPlain(_) ? Effect.fail(tooPlain(_)) : kept(_))

    return {
      authorize: (server) => Effect.flatMap(of(server), authorize),
      begin: (server) =>
        Effect.flatMap(of(server), (_) =>
          Effect.map(begin(_), ({ redirectUri, state, url }) => ({ server: server.name, url, redirectUri, state }))),
      finish: (server, callback) =>
        Effect.flatMap(of(server), (_) => finish(_, callback)),
      forget: (server) => Effect.flatMap(of(server), forget),
      status: (server) => Effect.flatMap(of(server), status),
      credentials: (server) =>
        wanting(server).pipe(
          Effect.flatMap((_) =>
            isTooPlain(_) ? Effect.succeed(refusing(tooPlain(_))) : Effect.flatMap(kept(_), credentials)
          ),
          Effect.orElseSucceed(() => undefined)
        )
    }
  })

/** Runs what nobody waits for, until the scope closes; what can't be interrupted is not waited for then. */
const background: Effect.Effect<Fork, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => ({ running: new Set<Fiber.RuntimeFiber<unknown, unknown>>(), closed: false })),
    (state) =>
      Effect.suspend(() => {
        state.closed = true
        return Effect.asVoid(within(Fiber.interruptAll(state.running), "1 second"))
      })
  ),
  (state): Fork => (effect) =>
    Effect.map(Effect.forkDaemon(state.closed ? Effect.interrupt : Effect.interruptible(effect)), (fiber) => {
      state.running.add(fiber)
      fiber.addObserver(() => state.running.delete(fiber))
      return fiber
    })
)

const keep = (
  config: McpConfig.AnyHttpConfig,
  key: string,
  { authorizer, exchange, store }: Parts,
  clock: Clock.Clock,
  fork: Fork
): Kept => {
  const witness = new Witness(Applications.credentialsOf(config.auth))
  const vault = new Vault(config.name, key, store, witness, () => keeper.changed())
  const errands = new Errands(config, vault, exchange, witness)
  const keeper: Keeper = new Keeper(errands, clock, () => asking)
  const asking = new Asking(keeper, authorizer, fork)
  return { keeper, asking, finishing: Effect.unsafeMakeSemaphore(1) }
}

const forgetUnused = (all: Map<string, Kept>): void => {
  for (const [key, { keeper }] of all) {
    if (keeper.users > 0) continue
    all.delete(key)
    return
  }
}

const resolved = (
  config: McpConfig.ServerConfig,
  secrets: Context.Tag.Service<SecretResolver.SecretResolver>
): Effect.Effect<McpConfig.ServerConfig, McpError.McpError> =>
  McpConfig.isResolved(config)
    ? Effect.succeed(config)
    : Effect.map(Expand.resolve(config, secrets), (_) => _.config)

/** Whether it brings no credentials of its own, and wants some. */
const authorizable = (
  config: McpConfig.ServerConfig
): Effect.Effect<McpConfig.AnyHttpConfig, McpError.ConfigInvalid> => {
  const refuse = (field: string, problem: string) => Effect.fail(Reasons.misconfigured(config.name, field, problem))
  if (config.transport === "stdio" || config.transport === "inMemory") {
    return refuse("transport", "only servers over HTTP are authorized")
  }
  if (config.auth === "none") return refuse("auth", `is "none", so there is nothing to authorize`)
  if (Object.keys(config.headers ?? {}).some((_) => _.toLowerCase() === "authorization")) {
    return refuse("headers", "has an Authorization header, which is used instead")
  }
  const url = new URL(config.url)
  return url.username !== "" || url.password !== ""
    ? refuse("url", "has credentials, which are used instead")
    : Effect.succeed(config)
}

/** Whoever is in between could read a token that goes there. */
const isTooPlain = (config: McpConfig.AnyHttpConfig): boolean => Urls.isInTheClear(new URL(config.url), config)

const tooPlain = ({ name }: McpConfig.AnyHttpConfig): McpError.ConfigInvalid =>
  Reasons.misconfigured(name, "url", Urls.plainProblem)

/** A server that wants a token may have none. */
const refusing = (error: McpError.McpError): Credentials => ({
  current: () => ({ header: undefined }),
  prepare: Effect.succeed({ header: undefined }),
  accepted: () => {},
  refused: ({ status }) => status === 401 ? Effect.fail(error) : Effect.succeed("no"),
  secrets: () => Secrets.none,
  follow: () => () => {}
})

const credentials = ({ asking, keeper }: Kept): Effect.Effect<Credentials, never, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        keeper.users++
        return asking.follow(() => {})
      }),
      (unfollow) =>
        Effect.sync(() => {
          keeper.users--
          unfollow()
        })
    ).pipe(
      Effect.as({
        current: () => keeper.current(),
        prepare: Effect.suspend(() => keeper.prepare(scope)),
        accepted: (sent: string) => keeper.accepted(sent),
        refused: (refusal) => keeper.refused(refusal, scope),
        proofs: { prove: (request) => keeper.prove(request), learn: (nonce) => keeper.learn(nonce) },
        secrets: () => keeper.secrets,
        follow: (listener) => asking.follow(listener)
      })
    ))

/** What the server says without credentials, and what follows from it. */
const found = ({ errands }: Keeper): Effect.Effect<Found, McpError.McpError> =>
  Effect.scoped(Effect.gen(function*() {
    const requests = yield* errands.requests
    const demand: Demand = yield* errands.probe(requests)
    const resource = yield* errands.resource(requests, demand)
    const known = yield* errands.authority(requests, resource, demand)
    return known ?? (yield* Effect.fail(
      Reasons.unauthorized(
        errands.server,
        `it does not say who authorizes its users; set "auth" to { "type": "oauth" } to try`
      )
    ))
  }))

const authorize = ({ asking, keeper }: Kept): Effect.Effect<void, McpError.McpError> =>
  Effect.gen(function*() {
    const { errands } = keeper
    yield* errands.vault.load
    const { application } = errands
    if (application === undefined) return yield* asking.inForeground(found(keeper), beforeOf(keeper))
    const known = yield* found(keeper)
    yield* Effect.scoped(Effect.gen(function*() {
      yield* errands.vault.lock
      yield* errands.vault.reload
      yield* errands.acquire(yield* errands.requests, application, known, undefined)
    }))
    asking.wake()
  })

/** Nothing is lost of what was authorized before, or is just being asked for. */
const beforeOf = ({ errands, now }: Keeper): ReadonlyArray<string> | undefined => {
  const { pending, tokens } = errands.vault.known
  const fresh = pending !== undefined && now - pending.since < pendingLasts ? pending.scopes : undefined
  const scopes = Scopes.union(tokens?.scopes, fresh)
  return scopes.length === 0 ? undefined : scopes
}

const begin = ({ asking, keeper }: Kept) =>
  Effect.gen(function*() {
    yield* keeper.errands.vault.load
    const known = yield* found(keeper)
    return yield* asking.prepared(known, undefined, beforeOf(keeper))
  })

const finish = ({ asking, finishing, keeper }: Kept, callback: string): Effect.Effect<void, McpError.McpError> =>
  Effect.scoped(Effect.gen(function*() {
    const { errands } = keeper
    const { pending } = yield* errands.vault.reload
    if (pending === undefined || keeper.now - pending.since >= pendingLasts) {
      return yield* Effect.fail(
        Reasons.unauthorized(errands.server, "no authorization was begun, or it is over; begin another one")
      )
    }
    yield* errands.redeem(yield* errands.requests, pending, callback)
    asking.wake()
    asking.stop()
  })).pipe(finishing.withPermits(1))

const forget = ({ asking, keeper }: Kept): Effect.Effect<void, McpError.McpError> =>
  Effect.scoped(Effect.gen(function*() {
    asking.stop()
    yield* keeper.errands.vault.lock
    yield* keeper.errands.vault.remove
    keeper.memory.succeeded()
  }))

const status = ({ keeper }: Kept): Effect.Effect<Status, McpError.McpError> =>
  Effect.map(keeper.errands.vault.reload, ({ pending, tokens }): Status => {
    if (tokens !== undefined && keeper.errands.isUsable(tokens) && !keeper.isRejected(Redacted.value(tokens.access))) {
      return {
        _tag: "Authorized",
        issuer: tokens.authority.issuer,
        clientId: tokens.client.clientId,
        scopes: tokens.scopes,
        expiresAt: tokens.expiresAt,
        bound: tokens.key !== undefined,
        refreshable: tokens.refresh !== undefined || keeper.errands.application !== undefined
      }
    }
    return pending !== undefined && keeper.now - pending.since < pendingLasts
      ? { _tag: "Pending", authorizationUrl: pending.url, since: pending.since }
      : { _tag: "None" }
  })
