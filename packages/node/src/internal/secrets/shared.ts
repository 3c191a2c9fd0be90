/**
 * Commands that several sessions ask for at once.
 *
 * Owns: that one run serves them all, that it ends when nobody waits for it any more, and for how long its value is used again.
 * May not touch: the command.
 */
import type { SecretUnavailable } from "@mcp-runtime/core/SecretResolver"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as Redacted from "effect/Redacted"
import * as Steady from "../steady.js"

type Value = Redacted.Redacted<string>

interface Run {
  readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  readonly exit: Deferred.Deferred<Value, SecretUnavailable>
  waiting: number
}

interface Kept {
  readonly value: Value
  readonly until: number
}

/** @internal */
export class Shared {
  private readonly runs = new Map<string, Run>()
  private readonly kept = new Map<string, Kept>()

  /** For so many milliseconds a value is used again. */
  constructor(private readonly reuse: number) {}

  get(key: string, run: Effect.Effect<Value, SecretUnavailable>): Effect.Effect<Value, SecretUnavailable> {
    return Effect.flatMap(Steady.now, (now) => {
      for (const [other, { until }] of this.kept) if (until <= now) this.kept.delete(other)
      const kept = this.kept.get(key)
      return kept === undefined ? this.join(key, run) : Effect.succeed(kept.value)
    })
  }

  private join(key: string, run: Effect.Effect<Value, SecretUnavailable>): Effect.Effect<Value, SecretUnavailable> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(this, function*() {
        const current = this.runs.get(key) ?? (yield* this.begin(key, run))
        current.waiting++
        return yield* Effect.onExit(restore(Deferred.await(current.exit)), () => this.leave(key, current))
      })
    )
  }

  private begin(key: string, run: Effect.Effect<Value, SecretUnavailable>): Effect.Effect<Run> {
    const exit = Deferred.unsafeMake<Value, SecretUnavailable>(FiberId.none)
    const running = Effect.onExit(
      Effect.interruptible(run),
      (ended) =>
        Effect.flatMap(Steady.now, (now) => {
          if (this.runs.get(key)?.exit === exit) this.runs.delete(key)
          if (Exit.isSuccess(ended) && this.reuse > 0) {
            this.kept.set(key, { value: ended.value, until: now + this.reuse })
          }
          return Deferred.done(exit, ended)
        })
    )
    return Effect.map(Effect.forkDaemon(running), (fiber) => {
      const begun: Run = { fiber, exit, waiting: 0 }
      this.runs.set(key, begun)
      return begun
    })
  }

  /** The last one who leaves ends it, if it has not ended. Who comes then begins anew. */
  private leave(key: string, run: Run): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (--run.waiting > 0) return Effect.void
      if (this.runs.get(key) === run) this.runs.delete(key)
      return Effect.asVoid(Fiber.interrupt(run.fiber))
    })
  }
}
