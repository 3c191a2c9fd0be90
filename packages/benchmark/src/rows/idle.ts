/**
 * Row about idle connections over HTTP, each with its standalone stream open: what they cost in memory. Every client is
 * measured in a fresh process with a server of its own.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { extname } from "node:path"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import type { Contender } from "../clients/client.js"
import type { Report } from "../idleProcess.js"
import { contenders } from "../measure.js"
import type { Row, Values } from "../row.js"
import { withHttpServer } from "../servers.js"
import type { PerContender } from "./sessions.js"

const connections = 200

const program = fileURLToPath(new URL(`../idleProcess${extname(fileURLToPath(import.meta.url))}`, import.meta.url))

type Measured = Exclude<Report, { readonly opened: number }>

/** Waits until the server has seen the stream of every connection; a client may open it in the background. */
const streamsOpen = async (origin: string, expected: number): Promise<void> => {
  let seen = 0
  for (let i = 0; i < 500; i++) {
    seen = Number(await (await fetch(`${origin}/streams`)).text())
    if (seen >= expected) return
    await setTimeout(10)
  }
  throw new Error(`only ${seen} of ${expected} connections have opened their stream`)
}

const measure = (contender: Contender, restMillis: number): Promise<Measured> =>
  withHttpServer(async (origin) => {
    const child = fork(program, [contender, `${origin}/json`, String(connections), String(restMillis)])
    const exit = once(child, "exit")
    try {
      return await new Promise<Measured>((resolve, reject) => {
        child.on("message", (report: Report) => {
          if ("idle" in report) {
            resolve(report)
          } else {
            streamsOpen(origin, report.opened).then(() => child.send("go on"), reject)
          }
        })
        exit.then(
          ([code]) => reject(new Error(`the process of idle connections (${contender}) ended with ${code}`)),
          reject
        )
      })
    } finally {
      if (child.connected) child.disconnect()
      await exit
    }
  })

const valuesOf = (rounds: ReadonlyArray<PerContender<Measured>>, of: (measured: Measured) => number): Values => ({
  sdk: rounds.map((_) => of(_.sdk)),
  ours: rounds.map((_) => of(_.ours)),
  limit: rounds.map((_) => of(_.limit))
})

const heapEach = (when: "fresh" | "idle") => (measured: Measured): number =>
  (measured[when].heap - measured.before.heap) / connections / 1024

// What the pages of one connection are can't be told: V8 gives back pages of the start while connections rest.
const rssOfAll = (measured: Measured): number => measured.idle.rss / 1024 / 1024

export const idleRow: Row = {
  name: "idle-200",
  run: async (options) => {
    const rounds: Array<PerContender<Measured>> = []
    for (let round = 0; round < options.idleRounds; round++) {
      const measured = await Promise.all(contenders.map((contender) => measure(contender, options.idleMillis)))
      rounds.push(
        Object.fromEntries(contenders.map((contender, i) => [contender, measured[i]])) as PerContender<Measured>
      )
    }
    return [
      {
        title: "200 idle HTTP, heap each",
        unit: "KB",
        shows: "cost",
        targets: [{ against: "sdk", bound: 0.75 }],
        values: valuesOf(rounds, heapEach("idle"))
      },
      {
        title: "200 idle HTTP, heap each, just opened",
        unit: "KB",
        shows: "cost",
        targets: [],
        values: valuesOf(rounds, heapEach("fresh"))
      },
      {
        title: "200 idle HTTP, RSS of the process",
        unit: "MB",
        shows: "cost",
        targets: [],
        values: valuesOf(rounds, rssOfAll)
      }
    ]
  }
}
