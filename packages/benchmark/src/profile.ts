/**
 * A CPU profile of some turns of one client: which functions have the most time of their own, and whose they are. The profile
 * itself is kept in a file.
 */
import { writeFileSync } from "node:fs"
import { type Profiler, Session } from "node:inspector/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { table } from "./report/table.js"

export const turnsProfiled = 4
const functionsShown = 30
const packagesShown = 12

type Times = ReadonlyArray<readonly [name: string, millis: number]>

export interface Profiled {
  readonly file: string
  readonly busyMillis: number
  /** Of both the largest first. */
  readonly functions: Times
  readonly packages: Times
}

const shorten = (url: string): string => url.replace(/^.*\/(node_modules|packages)\//, "")

const functionOf = ({ functionName, lineNumber, url }: Profiler.ProfileNode["callFrame"]): string =>
  `${functionName === "" ? "(anonymous)" : functionName}${url === "" ? "" : ` ${shorten(url)}:${lineNumber + 1}`}`

/** What V8 puts beside the functions, in words. */
const engine: { readonly [name: string]: string } = {
  "(garbage collector)": "garbage collection",
  "(program)": "V8 and Node, native"
}

const packageOf = ({ functionName, url }: Profiler.ProfileNode["callFrame"]): string => {
  if (url === "") return engine[functionName] ?? "built-in functions"
  if (url.startsWith("node:")) return "Node's own JavaScript"
  const ours = /\/packages\/([\w-]+)\/(?:dist|src)\//.exec(url)
  if (ours !== null) return `@mcp-runtime/${ours[1]}`
  return /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? "other"
}

/** Nothing was done, or it is the profiler's own. */
const isNoWork = ({ functionName, url }: Profiler.ProfileNode["callFrame"]): boolean =>
  functionName === "(idle)" || url === "node:inspector"

const timesBy = (profile: Profiler.Profile, nameOf: (frame: Profiler.ProfileNode["callFrame"]) => string): Times => {
  const names = new Map(profile.nodes.map(({ callFrame, id }) => [id, nameOf(callFrame)]))
  const left = new Set(profile.nodes.filter((_) => isNoWork(_.callFrame)).map((_) => _.id))
  const millis = new Map<string, number>()
  profile.samples?.forEach((id, i) => {
    if (left.has(id)) return
    const name = names.get(id)!
    millis.set(name, (millis.get(name) ?? 0) + (profile.timeDeltas?.[i] ?? 0) / 1000)
  })
  return [...millis].sort((a, b) => b[1] - a[1])
}

/** Gives how to end it. */
export const record = async (): Promise<(row: string, who: string) => Promise<Profiled>> => {
  const session = new Session()
  session.connect()
  await session.post("Profiler.enable")
  await session.post("Profiler.setSamplingInterval", { interval: 200 })
  await session.post("Profiler.start")
  return async (row, who) => {
    try {
      const { profile } = await session.post("Profiler.stop")
      const file = join(tmpdir(), `mcp-runtime-bench-${row}-${who}.cpuprofile`)
      writeFileSync(file, JSON.stringify(profile))
      const packages = timesBy(profile, packageOf)
      return {
        file,
        busyMillis: packages.reduce((sum, [, millis]) => sum + millis, 0),
        functions: timesBy(profile, functionOf).slice(0, functionsShown),
        packages
      }
    } finally {
      session.disconnect()
    }
  }
}

const show = (row: string, who: string, { busyMillis, file, functions }: Profiled): string =>
  [
    `\n${row}, ${who}: ${Math.round(busyMillis)} ms busy; self time (whole profile in ${file})`,
    ...functions.map(([name, millis]) => `  ${(millis / busyMillis * 100).toFixed(1).padStart(5)} %  ${name}`)
  ].join("\n")

/** Whose code the time of one turn goes to, of several clients side by side. */
const comparison = (row: string, profiles: ReadonlyMap<string, Profiled>): string => {
  const all = [...profiles.values()]
  const perTurn = (millis: number): string => (millis / turnsProfiled).toFixed(2)
  const most = new Map<string, number>()
  for (const { packages } of all) {
    for (const [name, millis] of packages) most.set(name, Math.max(most.get(name) ?? 0, millis))
  }
  const shown = [...most].sort((a, b) => b[1] - a[1]).slice(0, packagesShown).map(([name]) => name)
  const timeOf = ({ packages }: Profiled, name: string): number => packages.find(([_]) => _ === name)?.[1] ?? 0
  const rest = (profiled: Profiled): number =>
    profiled.busyMillis - shown.reduce((sum, name) => sum + timeOf(profiled, name), 0)
  return table([`${row}: ms of a turn`, ...profiles.keys()], [
    ...shown.map((name) => [name, ...all.map((_) => perTurn(timeOf(_, name)))]),
    ["the rest", ...all.map((_) => perTurn(rest(_)))],
    ["together", ...all.map((_) => perTurn(_.busyMillis))]
  ])
}

/** At once, and not with the report: a row that comes later may fail. */
export const print = (row: string, profiles: ReadonlyMap<string, Profiled>): void => {
  for (const [who, profiled] of profiles) console.log(show(row, who, profiled))
  if (profiles.size > 1) console.log(`\n${comparison(row, profiles)}`)
}

/** Of a client in this process. */
export const takeProfile = async (row: string, who: string, turn: () => Promise<unknown>): Promise<Profiled> => {
  const end = await record()
  for (let i = 0; i < turnsProfiled; i++) await turn()
  return end(row, who)
}
