/**
 * What this process holds at a moment of rest, and what of it has grown.
 *
 * Owns: garbage collection, counting, and the judgement. May not touch: what is measured.
 */
import { Effect, Fiber } from "effect"
import { readdirSync, readlinkSync } from "node:fs"
import { queryObjects, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { childrenOf } from "../internal/processes.js"

export interface Sample {
  /** Bytes, without buffers. */
  readonly heap: number
  /** How many objects and functions there are. */
  readonly objects: number
  /** Bytes of buffers. */
  readonly external: number
  readonly descriptors: number
  /** Of these. */
  readonly sockets: number
  readonly children: number
  /** Fibers that nobody is the parent of. */
  readonly fibers: number
  readonly listeners: number
  readonly timers: number
  /** Everything else that keeps the event loop busy. */
  readonly handles: number
}

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

const objects = (): number => queryObjects(Object, { format: "count" })

/** Node warns once that this is an experiment; a warning in the soak is a failure. */
const { emitWarning } = process
process.emitWarning = () => {}
objects()
process.emitWarning = emitWarning

/** Turns of the event loop, for what is on its way out. */
const settle = Effect.async<void>((resume) => {
  let turns = 10
  const turn = () => turns-- > 0 ? setImmediate(turn) : resume(Effect.void)
  turn()
})

const isSocket = (descriptor: string): boolean => {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith("socket:")
  } catch {
    // That with which the directory was read.
    return false
  }
}

const listeners = (): number => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)

export const sample: Effect.Effect<Sample> = Effect.gen(function*() {
  for (let i = 0; i < 3; i++) {
    collect()
    yield* settle
  }
  const { external, heapUsed } = process.memoryUsage()
  const resources = process.getActiveResourcesInfo()
  const timers = resources.filter((_) => _ === "Timeout" || _ === "Immediate").length
  const descriptors = readdirSync("/proc/self/fd")
  return {
    heap: heapUsed,
    objects: objects(),
    external,
    descriptors: descriptors.length,
    sockets: descriptors.filter(isSocket).length,
    children: childrenOf(process.pid).length,
    fibers: [...(yield* Fiber.roots)].length,
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

const megabyte = 1024 * 1024

/** Fewer rounds say nothing: the compiler is still at work, and one busy round keeps twice the sockets of another. */
export const fewestRounds = 12

/** What a process compiles and caches in its first rounds is no leak. */
export const warmUp = (rounds: number): number => Math.floor(rounds * 0.35)

/** The reader of a process keeps up to 4 MB for its next long line, and there are three: they come and go. */
const bufferSlack = 12 * megabyte

/** How much more there may be at rest: sockets and what belongs to them come and go with the load. */
const kinds = [
  ["descriptors", 10],
  ["sockets", 10],
  ["handles", 10],
  ["timers", 6],
  ["fibers", 6],
  ["children", 1],
  ["listeners", 0]
] as const

/**
 * How much more there may be at the end, on the line through all rounds. In ten minutes, of some hundred rounds, the engine
 * compiles 2 to 4 MB more, which is no object. A metric has some fifteen objects for each combination of its tags, and there are
 * a few hundred of these. Texts, and what a map holds, are no objects either: they show in the heap.
 */
const heapSlack = (rounds: number): number => (2 + rounds / 20) * megabyte
const objectSlack = 12_000

/** Growth on the line that shows at the end, too. */
const grown = (values: ReadonlyArray<number>, slack: number): number | undefined => {
  const byLine = slope(values) * (values.length - 1)
  return byLine > slack && values.at(-1)! - values[0]! > slack / 2 ? byLine : undefined
}

/** What has grown in the rounds after the first ones. */
export const growth = (samples: ReadonlyArray<Sample>): ReadonlyArray<string> => {
  if (samples.length < fewestRounds) return []
  const judged = samples.slice(warmUp(samples.length))
  const last = judged.at(-1)!
  const found: Array<string> = []
  const heap = grown(judged.map((_) => _.heap), heapSlack(judged.length))
  if (heap !== undefined) {
    found.push(`the heap grows by ${(heap / megabyte).toFixed(2)} MB in ${judged.length - 1} rounds`)
  }
  const more = grown(judged.map((_) => _.objects), objectSlack)
  if (more !== undefined) {
    found.push(`there are ${more.toFixed(0)} objects more after ${judged.length - 1} rounds`)
  }
  const early = samples.slice(0, Math.max(1, Math.floor(samples.length / 2)))
  const buffers = Math.max(...early.map((_) => _.external))
  if (last.external > buffers + bufferSlack) {
    found.push(`buffers: ${last.external} bytes, while there were ${buffers} at most before`)
  }
  for (const [kind, slack] of kinds) {
    const most = Math.max(...early.map((_) => _[kind]))
    if (last[kind] > most + slack) found.push(`${kind}: ${last[kind]}, while there were ${most} at most before`)
  }
  return found
}

/** What is more than before. */
export const left = (before: Sample, after: Sample): ReadonlyArray<string> =>
  kinds.map(([kind]) => kind).filter((kind) => after[kind] > before[kind])
    .map((kind) => `${kind}: ${after[kind]} after the end, ${before[kind]} before the start`)
