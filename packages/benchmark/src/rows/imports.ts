/**
 * Row about imports: how long it takes in a fresh process to load what an application needs of a client, and what the
 * process weighs then. All packages have been read from the disk before.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import type { Report } from "../importProcess.js"
import type { Options } from "../options.js"
import { reasonAgainst } from "../peers/fitness.js"
import type { Line, Row } from "../row.js"
import { everyone, isPeer, type Who } from "../who.js"
import { valuesOf } from "./work.js"

const program = fileURLToPath(new URL(`../importProcess${extname(fileURLToPath(import.meta.url))}`, import.meta.url))

/** All of ours import the same. */
const takingPart: ReadonlyArray<Who> = everyone.filter((_) => _ !== "toolset" && _ !== "session" && _ !== "traced")

const importOnce = async (who: Who, options: Options): Promise<Report> => {
  const child = fork(program, [who], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    timeout: options.orderMillis,
    killSignal: "SIGKILL"
  })
  const exit = once(child, "exit")
  const report = once(child, "message").then(([report]) => report as Report)
  const nothing = exit.then(([code, signal]) => {
    throw new Error(`its import ended with ${signal ?? code}`)
  })
  const given = await Promise.race([report, nothing])
  nothing.catch(() => {})
  if (child.connected) child.disconnect()
  await exit
  return given
}

const takeRounds = async (options: Options) => {
  const taken = new Map<Who, Array<Report>>()
  const failures = new Map<Who, string>()
  for (const who of takingPart.filter((_) => options.who.includes(_))) {
    const reason = isPeer(who) ? reasonAgainst(who) : undefined
    if (reason === undefined) taken.set(who, [])
    else failures.set(who, reason)
  }
  // The first time reads from the disk.
  for (let round = -1; round < options.rounds; round++) {
    for (const [who, reports] of taken) {
      try {
        const report = await importOnce(who, options)
        if (round >= 0) reports.push(report)
      } catch (error) {
        if (!isPeer(who)) throw error
        taken.delete(who)
        failures.set(who, error instanceof Error ? error.message : String(error))
      }
    }
  }
  return { taken, failures: Object.fromEntries(failures) }
}

export const importRow: Row = {
  name: "import",
  run: async (options) => {
    const { failures, taken } = await takeRounds(options)
    const line = (title: string, unit: Line["unit"], of: (report: Report) => number): Line => ({
      title: `import, ${title}`,
      unit,
      shows: "cost",
      targets: [],
      values: valuesOf(taken, of),
      failures,
      notes: ["connection stands for all of ours: effect, core and node, each whole"]
    })
    return [
      line("time in a fresh process", "ms", (_) => _.millis * 1000),
      line("RSS of the process after it", "MB", (_) => _.rss / 1024 / 1024)
    ]
  }
}
