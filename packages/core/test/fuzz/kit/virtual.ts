/**
 * Runs an effect without real time and without the event loop of the platform: a clock that jumps, and a scheduler that is
 * drained by hand.
 *
 * Owns: that nothing hangs unnoticed. When there is no task, no timer, and no end, the effect waits for something that can't
 * happen; when there are too many tasks, it spins. Both are told at once, whatever the machine is doing.
 * May not touch: what is run. What needs the platform (sockets, files, keys) can't be run here; digests can, and what is
 * derived of a password.
 */
import { Cause, Clock, Duration, Effect, FiberRef, HashSet, Logger, LogLevel, Option, Scheduler } from "effect"
import type { Exit, Fiber } from "effect"
import { createHash, pbkdf2Sync } from "node:crypto"

export interface Bounds {
  /** How often fibers may be run. */
  readonly tasks?: number | undefined
  /** How far the clock may go, in milliseconds. */
  readonly millis?: number | undefined
  /** Gets every line of the log. */
  readonly onLog?: ((text: string) => void) | undefined
}

export interface Run<A, E> {
  readonly exit: Exit.Exit<A, E>
  readonly millis: number
  readonly tasks: number
}

/** Throws where it hangs or spins, where a fiber has died, and where a timer is left behind. */
export const simulate = async <A, E>(effect: Effect.Effect<A, E>, bounds: Bounds = {}): Promise<Run<A, E>> => {
  const { subtle } = crypto
  for (const [name, value] of Object.entries(ownCrypto)) {
    Object.defineProperty(subtle, name, { value, configurable: true })
  }
  try {
    return await simulated(effect, bounds)
  } finally {
    for (const name of Object.keys(ownCrypto)) Reflect.deleteProperty(subtle, name)
  }
}

/** The same as Web Crypto's, but for the thread in which that runs: nobody here could wait for it. */
const digest = (algorithm: string, data: Uint8Array): Promise<ArrayBuffer> =>
  Promise.resolve(Uint8Array.from(createHash(algorithm.replace("-", "")).update(data).digest()).buffer)

interface Password {
  readonly password: Uint8Array
}

/** One round is enough for who looks for nothing in it. */
const ownCrypto = {
  digest,
  importKey: (format: string, data: Uint8Array, ...more: ReadonlyArray<unknown>): Promise<unknown> =>
    more[0] === "PBKDF2"
      ? Promise.resolve({ password: data } satisfies Password)
      : Reflect.apply(SubtleCrypto.prototype.importKey, crypto.subtle, [format, data, ...more]),
  deriveBits: ({ salt }: { readonly salt: Uint8Array }, { password }: Password, bits: number) =>
    Promise.resolve(Uint8Array.from(pbkdf2Sync(password, salt, 1, bits / 8, "sha256")).buffer)
}

const simulated = async <A, E>(
  effect: Effect.Effect<A, E>,
  { millis = 30 * 86_400_000, onLog, tasks = 100_000 }: Bounds
): Promise<Run<A, E>> => {
  const scheduler = new Steps(tasks)
  const clock = new Virtual()
  const deaths: Array<string> = []
  const watch = Logger.make<unknown, void>(({ cause, message }) => {
    onLog?.(String(message))
    if (Option.isSome(Cause.dieOption(cause))) deaths.push(Cause.pretty(cause))
  })
  const fiber = Effect.runFork(
    effect.pipe(
      Effect.withClock(clock),
      Effect.locally(FiberRef.currentLoggers, HashSet.make(watch)),
      Effect.locally(FiberRef.currentMinimumLogLevel, LogLevel.All)
    ),
    { scheduler }
  )
  let exit: Exit.Exit<A, E> | undefined
  fiber.addObserver((_) => {
    exit = _
  })
  for (;;) {
    scheduler.drain()
    for (let i = 0; i < microtasks; i++) await undefined
    if (!scheduler.isIdle) continue
    if (exit !== undefined) break
    if (!clock.jump()) throw new Error("it hangs: nothing is left that could wake it")
    if (clock.now > millis) throw new Error(`it has not ended after ${Duration.format(Duration.millis(millis))}`)
  }
  if (clock.waiting > 0) throw new Error(`${clock.waiting} timers were left behind`)
  if (deaths.length > 0) throw new Error(`a fiber has died: ${deaths[0]}`)
  return { exit, millis: clock.now, tasks: scheduler.count }
}

/** The same for a test that lets time pass itself, and looks when nothing more happens. */
export class Laboratory {
  readonly clock = new Virtual()
  private readonly scheduler: Steps
  private readonly looking: Array<() => void> = []

  /** `tasks`: how often fibers may be run. */
  constructor(tasks: number) {
    this.scheduler = new Steps(tasks)
  }

  /** Everything has happened that needs no time. */
  readonly settled: Effect.Effect<void> = Effect.async((resume) => void this.looking.push(() => resume(Effect.void)))

  /** Whatever happens meanwhile has its own moment. */
  pass(millis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const end = this.clock.now + millis
      const onward: Effect.Effect<void> = Effect.suspend(() => {
        if (this.clock.jump(end)) return Effect.zipRight(this.settled, onward)
        this.clock.now = end
        return Effect.void
      })
      return Effect.zipRight(this.settled, onward)
    })
  }

  async run<A, E>(effect: Effect.Effect<A, E>): Promise<Exit.Exit<A, E>> {
    const fiber = Effect.runFork(Effect.withClock(effect, this.clock), { scheduler: this.scheduler })
    let exit: Exit.Exit<A, E> | undefined
    fiber.addObserver((_) => {
      exit = _
    })
    for (;;) {
      this.scheduler.drain()
      for (let i = 0; i < microtasks; i++) await undefined
      if (!this.scheduler.isIdle) continue
      const look = this.looking.shift()
      if (look !== undefined) look()
      else if (exit !== undefined) return exit
      else throw new Error("it hangs: nobody looks, and no time passes")
    }
  }
}

/** How many turns what is queued for the end of a task may take. */
const microtasks = 8

/** Runs what is due in order, and counts. */
export class Steps implements Scheduler.Scheduler {
  private readonly tasks = new Scheduler.PriorityBuckets()
  count = 0

  constructor(private readonly most: number) {}

  get isIdle(): boolean {
    return this.tasks.buckets.length === 0
  }

  scheduleTask(task: Scheduler.Task, priority: number): void {
    this.tasks.scheduleTask(task, priority)
  }

  shouldYield(fiber: Fiber.RuntimeFiber<unknown, unknown>): number | false {
    return fiber.currentOpCount > fiber.getFiberRef(FiberRef.currentMaxOpsBeforeYield)
      ? fiber.getFiberRef(FiberRef.currentSchedulingPriority)
      : false
  }

  drain(): void {
    while (this.tasks.buckets.length > 0) {
      const buckets = this.tasks.buckets
      this.tasks.buckets = []
      for (const [, tasks] of buckets) {
        for (const task of tasks) {
          if (++this.count > this.most) throw new Error(`it spins: fibers have run ${this.most} times`)
          task()
        }
      }
    }
  }
}

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

/** A clock that jumps. */
export class Virtual implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  private readonly sleepers = new Set<Sleeper>()
  now = 0

  get waiting(): number {
    return this.sleepers.size
  }

  unsafeCurrentTimeMillis(): number {
    return this.now
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(this.now) * 1_000_000n
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())
  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const sleeper: Sleeper = {
        at: this.now + Math.max(0, Math.ceil(Duration.toMillis(duration))),
        wake: () => {
          this.sleepers.delete(sleeper)
          resume(Effect.void)
        }
      }
      this.sleepers.add(sleeper)
      return Effect.sync(() => this.sleepers.delete(sleeper))
    })
  }

  /** To the next sleeper, if there is one that wakes at all, and not later. */
  jump(latest = Number.MAX_VALUE): boolean {
    let next: Sleeper | undefined
    for (const sleeper of this.sleepers) if (next === undefined || sleeper.at < next.at) next = sleeper
    if (next === undefined || next.at > latest) return false
    this.now = next.at
    next.wake()
    return true
  }
}
