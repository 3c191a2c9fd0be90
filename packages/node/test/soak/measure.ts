/**
 * What this process holds at a moment of rest, and what of it has grown.
 *
 * Owns: garbage collection, counting, and the judgement. May not touch: what is measured.
 */
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { childrenOf } from "../internal/processes.js"

export interface Sample {
  /** Bytes, buffers included. */
  readonly heap: number
  readonly descriptors: number
  readonly children: number
  readonly listeners: number
  readonly timers: number
  /** Everything else that keeps the event loop busy. */
  readonly handles: number
}

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** Turns of the event loop, for what is on its way out. */
const settle = Effect.async<void>((resume) => {
  let turns = 10
  const turn = () => turns-- > 0 ? setImmediate(turn) : resume(Effect.void)
  turn()
})

const listeners = (): number => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)

export const sample: Effect.Effect<Sample> = Effect.gen(function*() {
  for (let i = 0; i < 3; i++) {
    collect()
    yield* settle
  }
  const { external, heapUsed } = process.memoryUsage()
  const resources = process.getActiveResourcesInfo()
  const timers = resources.filter((_) => _ === "Timeout" || _ === "Immediate").length
  return {
    heap: heapUsed + external,
    descriptors: readdirSync("/proc/self/fd").length,
    children: childrenOf(process.pid).length,
    listeners: listeners(),
    timers,
    handles: resources.length - timers
  }
})

/** By how much a value grows from one measurement to the next, by least squares. */
export const slope = (values: ReadonlyArray<number>): number => {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((a, b) => a + b, 0) / values.length
  let over = 0
  let under = 0
  values.forEach((value, i) => {
    over += (i - middle) * (value - mean)
    under += (i - middle) ** 2
  })
  return under === 0 ? 0 : over / under
}

/**
 * The rounds that count. What a process compiles and caches in the first ones is no leak: the heap comes to a level that
 * 400,000 more calls do not change.
 */
export const afterWarmUp = <A>(rounds: ReadonlyArray<A>): ReadonlyArray<A> =>
  rounds.slice(Math.floor(rounds.length * 0.35))

const megabyte = 1024 * 1024

/**
 * What has grown in the rounds after the first ones. The heap may be larger by `heapSlack` bytes at the end, on the line
 * through all rounds as well as in the last one.
 */
export const growth = (samples: ReadonlyArray<Sample>, heapSlack: number): ReadonlyArray<string> => {
  const rounds = afterWarmUp(samples)
  const [first] = rounds
  const last = rounds.at(-1)
  if (first === undefined || last === undefined) return ["nothing was measured"]
  const found: Array<string> = []
  const heaps = rounds.map((_) => _.heap)
  const byLine = slope(heaps) * (rounds.length - 1)
  if (byLine > heapSlack && last.heap - first.heap > heapSlack / 2) {
    found.push(`the heap grows by ${(byLine / megabyte).toFixed(2)} MB in ${rounds.length - 1} rounds`)
  }
  // Sockets and what belongs to them come and go with the load.
  const kinds = [["descriptors", 8], ["handles", 8], ["timers", 4], ["children", 0], ["listeners", 0]] as const
  const early = samples.slice(0, Math.max(1, Math.floor(samples.length / 2)))
  for (const [kind, slack] of kinds) {
    const most = Math.max(...early.map((_) => _[kind]))
    if (last[kind] > most + slack) found.push(`${kind}: ${last[kind]}, while there were ${most} at most before`)
  }
  return found
}

/** What is more than before. */
export const left = (before: Sample, after: Sample): ReadonlyArray<string> =>
  (["descriptors", "handles", "timers", "children", "listeners"] as const)
    .filter((kind) => after[kind] > before[kind])
    .map((kind) => `${kind}: ${after[kind]} after the end, ${before[kind]} before the start`)
