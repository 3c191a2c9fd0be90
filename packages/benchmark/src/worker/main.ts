/**
 * A process of its own with one client in it, which does what it is told. Started by `crew.ts` with the name of the client.
 */
import "../builtinFetch.js"
import { setTimeout } from "node:timers/promises"
import { load, loadFleet } from "../clients/all.js"
import type { Session } from "../clients/client.js"
import type { Fleet } from "../clients/fleet.js"
import { calibrate, type Sample, timed } from "../measure.js"
import { memory } from "../memory.js"
import { record } from "../profile.js"
import type { Who } from "../who.js"
import type { Asked, Given, Gives, Op, Work } from "./orders.js"

const who = process.argv[2] as Who

/**
 * Whoever has asked is asleep by then, and client and server are on the processors that the kernel gives them in peace. Else one of
 * them may be on another one for the whole turn, which costs more than all that clients differ by.
 *
 * It is time that is waited for: nothing tells when the kernel has moved them. As long as this, no ratio is changed by it; a call over
 * HTTP has quartiles of 28.5 and 30.6 us, and of 33 and 56 without.
 */
const restMillis = 50

let current: Session | undefined
let endRecording: Awaited<ReturnType<typeof record>> | undefined
const held: Array<Fleet> = []

const session = (): Session => {
  if (current === undefined) throw new Error("no session is open")
  return current
}

const doing = (work: Work) => (count: number): Promise<void> =>
  work.kind === "again"
    ? session().again(work.tools, count)
    : work.inFlight === 1
    ? session().sequential(work.tool, count)
    : session().concurrent(work.tool, count, work.inFlight)

const opening = async (wire: Given<"open">["wire"]): Promise<{ readonly opened: Session; readonly sample: Sample }> => {
  const open = await load(who)
  let opened: Session | undefined
  const sample = await timed(1, async () => {
    opened = await open(wire)
  })
  return { opened: opened!, sample }
}

const mean = (samples: ReadonlyArray<Sample>): Sample => ({
  wall: samples.reduce((sum, _) => sum + _.wall, 0) / samples.length,
  cpu: samples.reduce((sum, _) => sum + _.cpu, 0) / samples.length
})

const handlers: { readonly [O in Op]: (given: Given<O>) => Promise<Gives<O>> } = {
  open: async ({ wire }) => {
    current = await (await load(who))(wire)
    return null
  },
  calibrate: ({ turnMillis, warmUpMillis, work }) => calibrate(doing(work), turnMillis, warmUpMillis),
  turn: async ({ count, work }) => {
    await setTimeout(restMillis)
    return timed(count, () => doing(work)(count))
  },
  record: async () => {
    endRecording = await record()
    return null
  },
  recorded: ({ row }) => {
    if (endRecording === undefined) throw new Error("no profile was begun")
    return endRecording(row, who)
  },
  start: async ({ tools, wire }) => {
    const { opened, sample } = await opening(wire)
    let listed = 0
    const list = await timed(1, async () => {
      listed = await opened.list()
    })
    await opened.close()
    if (listed !== tools) throw new Error(`a listing has ${listed} of ${tools} tools`)
    return { open: sample, list }
  },
  connect: async ({ times, wire }) => {
    const samples: Array<Sample> = []
    for (let i = 0; i < times; i++) {
      const { opened, sample } = await opening(wire)
      samples.push(sample)
      await opened.close()
    }
    return mean(samples)
  },
  fleet: async ({ tools, wires }) => {
    const openFleet = await loadFleet(who)
    let close = async (): Promise<void> => {}
    const open = await timed(1, async () => {
      close = (await openFleet(wires, tools)).close
    })
    return { open, close: await timed(1, () => close()) }
  },
  hold: async ({ tools, wires }) => {
    held.push(await (await loadFleet(who))(wires, tools))
    return null
  },
  rest: async ({ millis }) => {
    const before = process.cpuUsage()
    // To do nothing so long is what is measured.
    await setTimeout(millis)
    const { system, user } = process.cpuUsage(before)
    return system + user
  },
  reset: async () => {
    await current?.close()
    current = undefined
    await Promise.all(held.splice(0).map((_) => _.close()))
    return null
  },
  memory: () => memory()
}

/**
 * No garbage is collected before a turn: whoever makes it pays for it. And a whole collection makes V8 forget what it has learned
 * of shapes that no object has at that moment; then turns measure how long it takes to learn that again (twice as long, for
 * all but the code written by hand).
 */
const handle = async ({ given, op }: Asked): Promise<unknown> =>
  (handlers[op] as (given: unknown) => Promise<unknown>)(given)

const textOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

process.on("message", (asked: Asked) => {
  handle(asked).then(
    (value) => process.send!({ value }),
    (error: unknown) => process.send!({ error: textOf(error) })
  )
})
// Nobody asks any more: whatever a client has left open must not keep this process.
process.once("disconnect", () => process.exit(0))
process.send!({ value: null })
