/**
 * What is known of one server, in memory and in the store.
 *
 * Owns: reading, writing and locking, each with a deadline, whatever the store does.
 * May not touch: what is kept, and when.
 */
import * as PlatformError from "@effect/platform/Error"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { TokenStore } from "../../McpAuth.js"
import type * as McpError from "../../McpError.js"
import * as Lines from "../telemetry/lines.js"
import { inTime } from "../within.js"
import * as Reasons from "./reasons.js"
import * as Records from "./record.js"
import type { Witness } from "./witness.js"

const answerWithin = "10 seconds"
/** Another process may be renewing the tokens: as long as that may take. */
const lockWithin = "2 minutes"

export class Vault {
  /** Nothing before it was read for the first time. */
  record: Records.Record | undefined = undefined
  /** What is in memory could not be written, and is newer. */
  private unwritten = false

  constructor(
    private readonly server: string,
    private readonly key: string,
    private readonly store: Context.Tag.Service<TokenStore>,
    private readonly witness: Witness,
    /** Called when the record is another one. */
    private readonly changed: () => void
  ) {}

  get known(): Records.Record {
    return this.record ?? Records.empty
  }

  /** As it is in the store now. */
  readonly reload: Effect.Effect<Records.Record, McpError.McpError> = Effect.suspend(() => {
    if (this.unwritten) return Effect.succeed(this.known)
    return this.asked(() => this.store.get(this.key), "could not be read", answerWithin).pipe(
      Effect.flatMap((stored) => this.ours(Records.decode(stored))),
      Effect.map((record) => {
        this.become(record)
        return record
      })
    )
  })

  /** Tokens that another application has got there, which shows something else, are none of ours; those we have stay. */
  private ours(record: Records.Record): Effect.Effect<Records.Record> {
    if (record.tokens === undefined) return Effect.succeed(record)
    return Effect.map(
      this.witness.knows(record.tokens.proof),
      (isOurs) => isOurs ? record : { ...record, tokens: this.known.tokens }
    )
  }

  /** The same, once; what can't be read is as if nothing were kept. */
  readonly load: Effect.Effect<void> = Effect.suspend(() =>
    this.record !== undefined ? Effect.void : Effect.catchAll(this.reload, (error) =>
      Effect.zipRight(
        this.log(Effect.logDebug(error.message)),
        Effect.sync(() => {
          if (this.record === undefined) this.become(Records.empty)
        })
      ))
  )

  /** Nobody else who shares the store has the lock until the scope closes. */
  readonly lock: Effect.Effect<void, McpError.McpError, Scope.Scope> = Effect.suspend(() =>
    this.asked(() => this.store.lock(this.key), "could not be locked", lockWithin)
  )

  /** Holds in memory in any case. To be called with the lock. */
  save(record: Records.Record): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.become(record)
      return this.write(() => this.store.set(this.key, Records.encode(record)))
    })
  }

  /** To be called with the lock. Fails where it is still there. */
  readonly remove: Effect.Effect<void, McpError.McpError> = Effect.suspend(() => {
    this.become(Records.empty)
    this.unwritten = false
    return this.asked(() => this.store.remove(this.key), "could not be removed", answerWithin)
  })

  private become(record: Records.Record): void {
    this.record = record
    this.changed()
  }

  private write(effect: () => Effect.Effect<void, PlatformError.PlatformError>): Effect.Effect<void> {
    return Effect.matchEffect(this.asked(effect, "could not be written", answerWithin), {
      onSuccess: () =>
        Effect.sync(() => {
          this.unwritten = false
        }),
      onFailure: (error) =>
        Effect.zipRight(
          Effect.sync(() => {
            this.unwritten = true
          }),
          this.log(Effect.logWarning(`${error.message}; they last as long as this process`))
        )
    })
  }

  /** The words of a store may quote what it holds, so only the kind of its failure is told. */
  private asked<A, R>(
    effect: () => Effect.Effect<A, PlatformError.PlatformError, R>,
    problem: string,
    limit: string & Duration.DurationInput
  ): Effect.Effect<A, McpError.McpError, R> {
    const failed = (why: string) => Reasons.unauthorized(this.server, `its tokens ${problem}: ${why}`)
    return inTime(Effect.sandbox(Effect.suspend(effect)), limit, () => Effect.fail("slow" as const)).pipe(
      Effect.catchAll((cause) => {
        if (cause === "slow") return Effect.fail(failed(`the store did not answer within ${limit}`))
        if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
        return Effect.fail(failed(kindOf(cause)))
      })
    )
  }

  private log(effect: Effect.Effect<void>): Effect.Effect<void> {
    return Lines.about(this.server, "authorize")(effect)
  }
}

const kindOf = (cause: Cause.Cause<PlatformError.PlatformError>): string => {
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  if (error instanceof PlatformError.SystemError) return error.reason
  return error instanceof PlatformError.BadArgument ? "the store does not take them" : "the store is defective"
}
