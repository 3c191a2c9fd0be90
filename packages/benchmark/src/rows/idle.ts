/**
 * Row about idle connections over HTTP, each with its standalone stream open: what they cost in memory, and in CPU while
 * nothing happens. Every client is measured in a fresh process with a server of its own.
 */
import { setTimeout } from "node:timers/promises"
import type { Memory } from "../memory.js"
import type { Options } from "../options.js"
import type { Failures, Line, Row, Values } from "../row.js"
import { withHttpServer } from "../servers.js"
import { everyone, type Who } from "../who.js"
import { type PerWho, withCrew } from "../worker/crew.js"
import type { Worker } from "../worker/worker.js"

const connections = 200

/** Opened before, so that what a client needs once is not taken for what a connection needs. */
const firstConnections = 5

/** What the server over HTTP lists. */
const toolCount = 3

interface Measured {
  readonly before: Memory
  readonly fresh: Memory
  readonly idle: Memory
  /** Milliseconds of CPU in a second of rest. */
  readonly cpu: number
  readonly streams: number
}

const measuredMillis = 3000

/** Waits until the server has seen the stream of every connection; a client may open it in the background, or never. */
const streamsOpen = async (origin: string, expected: number): Promise<number> => {
  let seen = 0
  for (let i = 0; i < 300; i++) {
    seen = Number(await (await fetch(`${origin}/streams`)).text())
    if (seen >= expected) return seen
    await setTimeout(10)
  }
  return seen
}

/** What the opening has left, garbage and spare sockets, is not what a connection at rest costs. */
const atRest = async (worker: Worker, restMillis: number): Promise<number> => {
  await worker.ask("rest", { millis: restMillis })
  return await worker.ask("rest", { millis: measuredMillis }) / measuredMillis
}

const measure = (worker: Worker, restMillis: number): Promise<Measured> =>
  withHttpServer(async (origin) => {
    const hold = (count: number) =>
      worker.ask("hold", {
        wires: Array.from({ length: count }, () => ({ type: "http", url: `${origin}/json` })),
        tools: toolCount
      })
    await hold(firstConnections)
    const firstStreams = await streamsOpen(origin, firstConnections)
    const before = await worker.ask("memory", {})
    await hold(connections)
    const streams = await streamsOpen(origin, firstStreams + connections)
    const fresh = await worker.ask("memory", {})
    const cpu = restMillis === 0 ? 0 : await atRest(worker, restMillis)
    return { before, fresh, idle: await worker.ask("memory", {}), cpu, streams: streams - firstStreams }
  })

interface Taken {
  readonly rounds: ReadonlyArray<PerWho<Measured>>
  readonly failures: Failures
}

const takeRounds = async (options: Options): Promise<Taken> => {
  const rounds: Array<PerWho<Measured>> = []
  let failures: Failures = {}
  for (let round = 0; round < options.idleRounds; round++) {
    await withCrew(everyone.filter((_) => _ !== "traced"), options, async (crew) => {
      rounds.push(await crew.together((worker) => measure(worker, options.idleMillis)))
      failures = { ...failures, ...crew.failures() }
    })
  }
  return { rounds, failures }
}

/** Of those who took part in every round. */
const valuesOf = ({ failures, rounds }: Taken, of: (measured: Measured) => number): Values => {
  const complete = [...rounds[0]!.keys()].filter((who) => failures[who] === undefined)
  return Object.fromEntries(complete.map((who) => [who, rounds.map((_) => of(_.get(who)!))]))
}

const heapEach = (when: "fresh" | "idle") => (measured: Measured): number =>
  (measured[when].heap - measured.before.heap) / connections / 1024

// What the pages of one connection are can't be told: V8 gives back pages of the start while connections rest.
const rssOfAll = (measured: Measured): number => measured.idle.rss / 1024 / 1024

const notesOf = ({ rounds }: Taken): ReadonlyArray<string> => {
  const notes: Array<string> = []
  for (const [who, { streams }] of rounds[0] ?? new Map<Who, Measured>()) {
    if (streams !== connections) notes.push(`${who} has ${streams} standalone streams for ${connections} connections`)
  }
  return notes
}

export const idleRow: Row = {
  name: "idle-200",
  run: async (options) => {
    const taken = await takeRounds(options)
    const line = (title: string, unit: Line["unit"], of: (measured: Measured) => number): Line => ({
      title: `${connections} idle HTTP connections, ${title}`,
      unit,
      shows: "cost",
      targets: [],
      values: valuesOf(taken, of),
      failures: taken.failures,
      notes: notesOf(taken)
    })
    const lines: Array<Line> = [
      {
        ...line("heap each", "KB", heapEach("idle")),
        targets: [{ of: "session", against: "sdk", bound: 0.75 }]
      },
      line("heap each, just opened", "KB", heapEach("fresh")),
      line("RSS of the process", "MB", rssOfAll)
    ]
    // Without a rest nothing was measured.
    if (options.idleMillis > 0) lines.push(line("CPU in a second", "us", (_) => _.cpu * 1000))
    return lines
  }
}
