/**
 * Rounds of the plan against many servers, and what is wrong after each.
 *
 * Owns: the order of things in a round and in a run, and that a round ends whatever happens in it.
 * May not touch: what a step or an event is, what must hold at rest.
 */
import { Effect, Fiber, Logger, LogLevel } from "effect"
import { disturb } from "./disturb.js"
import { Ledger } from "./ledger.js"
import { deadlines } from "./lineup.js"
import { growth, type Sample, sample } from "./measure.js"
import { perform } from "./perform.js"
import { describe, digest, mayRepeat, type Plan, plan, type Size, type Step } from "./plan.js"
import * as Rest from "./rest.js"
import { Stage } from "./stage.js"

export interface Options extends Size {
  readonly seed: number
  /** The number of the first round, and how many there are at most. */
  readonly from: number
  readonly rounds: number
  /** No round begins after so many milliseconds. */
  readonly millis: number
  /** After so many rounds the manager ends, and nothing may be left. */
  readonly managerRounds: number
  readonly onRound: (round: Round) => void
}

export interface Round {
  readonly round: number
  readonly digest: string
  readonly steps: number
  /** Of the whole run so far. */
  readonly outcomes: ReadonlyMap<string, number>
  readonly executions: number
  readonly sessions: number
  readonly replays: number
  readonly sample: Sample
  readonly millis: number
  readonly violations: ReadonlyArray<string>
}

export interface Report {
  readonly rounds: ReadonlyArray<Round>
  readonly outcomes: ReadonlyMap<string, number>
  readonly flaws: ReadonlyMap<string, number>
  readonly happened: ReadonlyMap<string, number>
  readonly violations: ReadonlyArray<string>
}

const workers = 24

const slack = 60_000

/** The deadline of a call, a listing of all servers before it, and slack. */
const bound = deadlines.total + deadlines.listing + slack

/** Of everything in a round: all of its bounds one after the other would be hours. */
const roundBound = 600_000

/** Events wait for each other: each for a connecting and a closing. */
const boundOf = (events: number): number => events * (deadlines.connect + deadlines.close) + slack

const entryOf = (step: Step) => ({ key: step.key, isCall: step.call !== undefined, mayRepeat: mayRepeat(step) })

export const run = (options: Options): Effect.Effect<Report, unknown> =>
  Effect.gen(function*() {
    const unheard: Array<string> = []
    const hear = (what: string) => (reason: unknown) => {
      unheard.push(`${what} that nobody handles: ${reason instanceof Error ? reason.stack : String(reason)}`)
    }
    yield* listening({
      unhandledRejection: hear("a rejection"),
      uncaughtExceptionMonitor: hear("an exception"),
      warning: hear("a warning")
    })
    const started = performance.now()
    const capacity = (options.from + options.rounds) * options.steps
    const ledger = new Ledger(capacity)
    const rounds: Array<Round> = []
    const stage = yield* Stage.make(capacity)
    yield* stage.endCurrent
    yield* sample
    const before = yield* sample
    yield* stage.begin
    const soak = new Soak(options, stage, ledger)
    const isDue = () => performance.now() - started < options.millis
    for (let i = 0; i < options.rounds && (i === 0 || isDue()); i++) {
      const began = performance.now()
      const number = options.from + i
      const today = plan(options.seed, number, options)
      const isOver = yield* soak.bounded(today)
      stage.violations.push(...unheard.splice(0))
      const isLast = (i + 1) % options.managerRounds === 0
      if (isOver && isLast) {
        yield* stage.endCurrent
        stage.violations.push(...yield* Rest.nothingLeft(stage, before))
        yield* stage.begin
      }
      const round: Round = {
        round: number,
        digest: digest(today),
        steps: today.steps.length,
        outcomes: new Map(ledger.outcomes),
        executions: soak.executions,
        sessions: stage.journals.sessions,
        replays: stage.replays,
        sample: soak.sampled ?? before,
        millis: performance.now() - began,
        violations: stage.violations.splice(0)
      }
      rounds.push(round)
      options.onRound(round)
      if (round.violations.length > 0) break
    }
    const isSound = rounds.every((_) => _.violations.length === 0)
    yield* stage.endCurrent
    soak.auditLate()
    const atTheEnd = isSound ? yield* Rest.nothingLeft(stage, before) : []
    return {
      rounds,
      outcomes: ledger.outcomes,
      flaws: stage.journals.flaws,
      happened: stage.happened,
      violations: [
        ...rounds.flatMap((_) => _.violations),
        ...stage.violations,
        ...atTheEnd,
        ...(isSound ? growth(rounds.map((_) => _.sample)) : []),
        ...unheard
      ]
    }
  }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))

/** What nobody handles, and warnings, while the soak runs. */
const listening = (handlers: { readonly [event: string]: (reason: unknown) => void }) =>
  Effect.acquireRelease(
    Effect.sync(() => Object.entries(handlers).forEach(([event, handler]) => process.on(event, handler))),
    () => Effect.sync(() => Object.entries(handlers).forEach(([event, handler]) => process.off(event, handler)))
  )

class Soak {
  sampled: Sample | undefined
  executions = 0

  constructor(
    private readonly options: Options,
    private readonly stage: Stage,
    private readonly ledger: Ledger
  ) {}

  /** One round, in bounded time. Whether it has come to an end: otherwise nothing more can be said. */
  bounded(today: Plan): Effect.Effect<boolean> {
    return Effect.map(Effect.timeoutOption(Effect.disconnect(this.round(today)), roundBound), (ended) => {
      if (ended._tag === "Some") return ended.value
      this.stage.violations.push(`round ${today.round} did not end within ${roundBound} ms`)
      return false
    })
  }

  private round(today: Plan): Effect.Effect<boolean> {
    const { stage } = this
    return Effect.gen(this, function*() {
      yield* stage.total("connectAll", stage.current.start)
      const hung = yield* this.work(today)
      stage.violations.push(...hung)
      if (hung.length > 0) return false
      yield* Rest.heal(stage)
      stage.violations.push(...yield* Rest.recovered(stage))
      stage.violations.push(...yield* Rest.settled(stage))
      stage.violations.push(...stage.current.nonsense.map((_) => `a state of the manager: ${_}`))
      this.audit(today)
      yield* stage.count
      this.sampled = yield* sample
      return true
    })
  }

  /** All steps and events. What has not ended in its time. */
  private work({ events, steps }: Plan): Effect.Effect<ReadonlyArray<string>> {
    return Effect.gen(this, function*() {
      const hung: Array<string> = []
      const happening: Array<Fiber.RuntimeFiber<void>> = []
      let next = 0
      let nextEvent = 0
      const worker = Effect.gen(this, function*() {
        while (next < steps.length) {
          const i = next++
          while (nextEvent < events.length && events[nextEvent]!.at <= i) {
            happening.push(yield* Effect.forkDaemon(disturb(this.stage, events[nextEvent++]!)))
          }
          if (!(yield* this.take(steps[i]!))) {
            hung.push(`${this.evidence(steps[i]!)}: it did not end within ${bound} ms`)
            return
          }
        }
      })
      yield* Effect.forEach(Array.from({ length: workers }), () => worker, { concurrency: workers, discard: true })
      const ended = yield* Effect.timeoutOption(Fiber.awaitAll(happening), boundOf(happening.length))
      if (ended._tag === "None") {
        events.forEach(({ kind, server }, i) => {
          if (happening[i]?.unsafePoll() === null) hung.push(`${kind} of ${server} did not end`)
        })
      }
      return hung
    })
  }

  /** Whether it has ended in its time. */
  private take(step: Step): Effect.Effect<boolean> {
    const { ledger, stage } = this
    let isOver = false
    const onProgress = () => {
      if (isOver) stage.violations.push(`${this.evidence(step)}: progress after its end`)
    }
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const settled = Effect.map(Effect.exit(restore(perform(stage.current, step, onProgress))), (exit) => {
          isOver = true
          ledger.settle(entryOf(step), exit)
        })
        const fiber = yield* Effect.forkDaemon(settled)
        if (step.patience !== undefined) {
          yield* turns(step.patience)
          yield* Fiber.interruptFork(fiber)
        }
        return yield* restore(Effect.timeoutOption(Fiber.await(fiber), bound))
      })
    ).pipe(Effect.map((ended) => ended._tag === "Some"))
  }

  /** All calls of this round, and what ran late of earlier ones. */
  private audit({ steps }: Plan): void {
    const { journals } = this.stage
    const first = steps[0]!.key
    const executed = journals.executed()
    this.executions += executed.length
    const late = executed.filter((key) => key < first).map((key) => this.stepOf(key))
    this.judge([...steps, ...late])
  }

  /** What has run since the last round was over. */
  auditLate(): void {
    this.judge(this.stage.journals.executed().map((key) => this.stepOf(key)))
  }

  private judge(steps: ReadonlyArray<Step>): void {
    const { journals, violations } = this.stage
    const wrong = steps.flatMap((step) => {
      const found = this.ledger.judge(entryOf(step), journals.executionsOf(step.key))
      return found === undefined ? [] : [`${this.evidence(step)}: ${found}`]
    })
    violations.push(...wrong.slice(0, mostShown))
    if (wrong.length > mostShown) violations.push(`and ${wrong.length - mostShown} more`)
  }

  private stepOf(key: number): Step {
    const round = Math.floor(key / this.options.steps)
    return plan(this.options.seed, round, this.options).steps[key % this.options.steps]!
  }

  private evidence(step: Step): string {
    const { steps } = this.options
    const lines = this.stage.journals.linesOf(step.server, step.key)
    const journal = step.call === undefined ? "" : `; journal: ${lines.length === 0 ? "nothing" : lines.join(", ")}`
    return `round ${Math.floor(step.key / steps)}, step ${step.key} (${describe(step)}${journal})`
  }
}

const mostShown = 10

/** The caller loses patience after so many turns. */
const turns = (count: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (let turn = 0; turn < count; turn++) yield* turn % 4 === 3 ? turnOfTheLoop : Effect.yieldNow()
  })

const turnOfTheLoop = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})
