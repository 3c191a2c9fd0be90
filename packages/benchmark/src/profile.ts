/**
 * A CPU profile of one client's turns: the functions with the most self time, and the profile itself in a file.
 */
import { writeFileSync } from "node:fs"
import { type Profiler, Session } from "node:inspector/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

const turnsProfiled = 4
const functionsShown = 30

const shorten = (url: string): string => url.replace(/^.*\/(node_modules|packages)\//, "")

const selfTimes = (profile: Profiler.Profile): ReadonlyArray<readonly [string, number]> => {
  const names = new Map<number, string>()
  for (const { callFrame, id } of profile.nodes) {
    const place = callFrame.url === "" ? "" : ` ${shorten(callFrame.url)}:${callFrame.lineNumber + 1}`
    names.set(id, `${callFrame.functionName === "" ? "(anonymous)" : callFrame.functionName}${place}`)
  }
  const micros = new Map<string, number>()
  profile.samples?.forEach((id, i) => {
    const name = names.get(id)!
    micros.set(name, (micros.get(name) ?? 0) + (profile.timeDeltas?.[i] ?? 0))
  })
  return [...micros].sort((a, b) => b[1] - a[1])
}

const show = (title: string, file: string, profile: Profiler.Profile): string => {
  const times = selfTimes(profile)
  const busy = times.reduce((sum, [name, micros]) => name === "(idle)" ? sum : sum + micros, 0)
  const shown = times.filter(([name]) => name !== "(idle)").slice(0, functionsShown)
  return [
    `\n${title}: ${Math.round(busy / 1000)} ms busy; self time (whole profile in ${file})`,
    ...shown.map(([name, micros]) => `  ${(micros / busy * 100).toFixed(1).padStart(5)} %  ${name}`)
  ].join("\n")
}

export const takeProfile = async (row: string, who: string, turn: () => Promise<unknown>): Promise<string> => {
  const session = new Session()
  session.connect()
  try {
    await session.post("Profiler.enable")
    await session.post("Profiler.setSamplingInterval", { interval: 200 })
    await session.post("Profiler.start")
    for (let i = 0; i < turnsProfiled; i++) await turn()
    const { profile } = await session.post("Profiler.stop")
    const file = join(tmpdir(), `mcp-runtime-bench-${row}-${who}.cpuprofile`)
    writeFileSync(file, JSON.stringify(profile))
    return show(`${row}, ${who}`, file, profile)
  } finally {
    session.disconnect()
  }
}
