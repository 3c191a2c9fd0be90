/**
 * Asking a person.
 *
 * Owns: that there is one page at a time for one server, that it is closed when nobody wants the server any more, and that
 * whoever waits for new credentials is told.
 * May not touch: what is asked, which is up to `Errands`.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import type { AuthorizationRequest, Authorizer } from "../../McpAuth.js"
import type * as McpError from "../../McpError.js"
import * as Lines from "../telemetry/lines.js"
import { inTime } from "../within.js"
import type { Found } from "./errands.js"
import type { Keeper } from "./keeper.js"
import * as Reasons from "./reasons.js"
import type * as Records from "./record.js"

/** How long a person has. */
const pageLasts = "10 minutes"

interface Page {
  readonly url: Deferred.Deferred<string, McpError.McpError>
  readonly done: Deferred.Deferred<void, McpError.McpError>
  fiber: Fiber.RuntimeFiber<void, McpError.McpError> | undefined
}

/** Runs it until it ends, or the scope of the layer closes. */
export type Fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<Fiber.RuntimeFiber<A, E>>

export class Asking {
  private page: Page | undefined = undefined
  private readonly listeners = new Set<() => void>()

  constructor(
    private readonly keeper: Keeper,
    private readonly authorizer: Context.Tag.Service<Authorizer> | undefined,
    private readonly fork: Fork
  ) {}

  /** Whoever listens wants the server. */
  follow(listener: () => void): () => void {
    const one = () => listener()
    this.listeners.add(one)
    return () => {
      this.listeners.delete(one)
      if (this.listeners.size === 0) this.stop()
    }
  }

  /** The page is not waited for any more. */
  stop(): void {
    this.page?.fiber?.unsafeInterruptAsFork(FiberId.none)
  }

  /** There are new credentials. */
  wake(): void {
    this.keeper.obtained()
    for (const listener of Array.from(this.listeners)) listener()
  }

  /** The page that a person has to visit. With an `Authorizer` they are shown it, and nobody waits for them. */
  inBackground(
    found: Found,
    before: ReadonlyArray<string> | undefined
  ): Effect.Effect<string, McpError.McpError> {
    return Effect.suspend(() => {
      if (this.page !== undefined) return Deferred.await(this.page.url)
      const { authorizer, keeper } = this
      if (authorizer === undefined) return Effect.map(this.prepared(found, undefined, before), (_) => _.url)
      if (!keeper.memory.mayAsk(keeper.now)) {
        return Effect.fail(
          Reasons.unauthorized(
            keeper.errands.server,
            "a person was asked several times lately, which has not helped, so they are not asked again for a while"
          )
        )
      }
      return Effect.flatMap(this.show(authorizer, found, before, true), (page) => Deferred.await(page.url))
    })
  }

  /** Waits until a person has authorized, or has not. */
  inForeground(
    found: Effect.Effect<Found, McpError.McpError>,
    before: ReadonlyArray<string> | undefined
  ): Effect.Effect<void, McpError.McpError> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.follow(() => {})),
      () =>
        Effect.gen(this, function*() {
          if (this.page !== undefined) return yield* Deferred.await(this.page.done)
          const known = yield* found
          const { authorizer } = this
          if (authorizer === undefined) {
            const { url } = yield* this.prepared(known, undefined, before)
            return yield* Effect.fail(Reasons.needsPerson(this.keeper.errands.server, url))
          }
          const page = this.page ?? (yield* this.show(authorizer, known, before, false))
          return yield* Deferred.await(page.done)
        }),
      (unfollow) => Effect.sync(unfollow)
    )
  }

  /** With the lock, so that two processes do not register twice. */
  prepared(
    found: Found,
    redirectUri: string | undefined,
    before: ReadonlyArray<string> | undefined
  ): Effect.Effect<Records.Pending, McpError.McpError> {
    const { errands } = this.keeper
    return Effect.scoped(
      Effect.gen(function*() {
        yield* errands.vault.lock
        return yield* errands.page(yield* errands.requests, found, { redirectUri, before })
      })
    )
  }

  private show(
    authorizer: Context.Tag.Service<Authorizer>,
    found: Found,
    before: ReadonlyArray<string> | undefined,
    unattended: boolean
  ): Effect.Effect<Page> {
    return Effect.suspend(() => {
      const page: Page = {
        url: Deferred.unsafeMake(FiberId.none),
        done: Deferred.unsafeMake(FiberId.none),
        fiber: undefined
      }
      this.page = page
      const asked = this.asked(authorizer, found, before, page)
      const forked = this.fork(unattended ? Effect.tapError(asked, (error) => this.notDone(error)) : asked)
      return Effect.uninterruptible(Effect.map(forked, (fiber) => {
        page.fiber = fiber
        fiber.addObserver((exit) => {
          this.page = undefined
          const outcome = Exit.isFailure(exit) ? Exit.fail(this.errorOf(exit.cause)) : exit
          Deferred.unsafeDone(page.url, Exit.isFailure(outcome) ? outcome : Effect.succeed(""))
          Deferred.unsafeDone(page.done, outcome)
          if (Exit.isSuccess(exit)) this.wake()
        })
        return page
      }))
    })
  }

  private asked(
    authorizer: Context.Tag.Service<Authorizer>,
    found: Found,
    before: ReadonlyArray<string> | undefined,
    page: Page
  ): Effect.Effect<void, McpError.McpError> {
    const { errands } = this.keeper
    const { server } = errands
    return Effect.scoped(Effect.gen(this, function*() {
      const redirect = yield* errands.redirect(found.authority)
      const callback = yield* authorizer.listen({ server, ...redirect })
      if (redirect.fixed && callback.redirectUri !== redirect.registered) {
        return yield* Effect.fail(
          Reasons.unauthorized(server, "the browser can't come back to the address that is configured")
        )
      }
      const { redirectUri, state, url, ...pending } = yield* this.prepared(found, callback.redirectUri, before)
      yield* Deferred.succeed(page.url, url)
      const request: AuthorizationRequest = { server, url, redirectUri, state }
      const answer = yield* inTime(
        callback.authorize(request),
        pageLasts,
        () => Effect.fail(Reasons.unauthorized(server, `nobody has authorized it within ${pageLasts}`))
      )
      yield* errands.redeem(yield* errands.requests, { ...pending, redirectUri, state, url }, answer)
    }))
  }

  private notDone(error: McpError.McpError): Effect.Effect<void> {
    return Lines.about(this.keeper.errands.server, "authorize")(
      Effect.logWarning(`the authorization did not come about: ${error.message}`)
    )
  }

  /** What the application has given to ask people with may have died. */
  private errorOf(cause: Cause.Cause<McpError.McpError>): McpError.McpError {
    return Option.getOrElse(
      Cause.failureOption(cause),
      () =>
        Reasons.unauthorized(
          this.keeper.errands.server,
          Cause.isInterrupted(cause)
            ? "nobody wants to use it any more"
            : "the Authorizer of the application is defective"
        )
    )
  }
}
