/**
 * What a soak says: a line for each round, and everything together at the end.
 */
import { fewestRounds, warmUp } from "./measure.js"
import { eventKinds, flaws } from "./plan.js"
import type { Report, Round } from "./soak.js"

const megabyte = 1024 * 1024

const sumOf = (outcomes: ReadonlyMap<string, number>, wanted: (outcome: string) => boolean): number =>
  [...outcomes].reduce((sum, [outcome, count]) => wanted(outcome) ? sum + count : sum, 0)

const columns: ReadonlyArray<readonly [name: string, wanted: (outcome: string) => boolean]> = [
  ["ok", (_) => _.startsWith("ok")],
  ["not executed", (_) => _.startsWith("no:")],
  ["unknown", (_) => _.startsWith("maybe:")],
  ["executed", (_) => _.startsWith("yes:")],
  ["interrupted", (_) => _ === "interrupted"]
]

const none: ReadonlyMap<string, number> = new Map()

/** One line. `before` is the round before it, of whose numbers it shows the difference. */
export const lineOf = (round: Round, before: Round | undefined): string => {
  const counts = columns.map(([name, wanted]) =>
    `${sumOf(round.outcomes, wanted) - sumOf(before?.outcomes ?? none, wanted)} ${name}`
  )
  const { children, descriptors, external, fibers, heap, listeners, objects, sockets, timers } = round.sample
  return [
    `round ${String(round.round).padStart(3)} ${round.digest}: ${counts.join(", ")}`,
    `${round.executions - (before?.executions ?? 0)} executions`,
    `${round.sessions - (before?.sessions ?? 0)} sessions`,
    `${(heap / megabyte).toFixed(2)} MB in ${objects} objects (and ${(external / megabyte).toFixed(2)} MB of buffers)`,
    `${descriptors} fds (${sockets} sockets), ${children} children, ${fibers} fibers, ${timers} timers, ` +
    `${listeners} listeners`,
    `${(round.millis / 1000).toFixed(1)} s${round.violations.length === 0 ? "" : "; VIOLATED"}`
  ].join("; ")
}

const listed = (counts: ReadonlyMap<string, number>): string =>
  [...counts].sort(([a], [b]) => a < b ? -1 : 1).map(([name, count]) => `${count} ${name}`).join(", ")

/** Kinds that never happened: what is said of them is not proven. */
export const neverHappened = ({ flaws: had, happened }: Pick<Report, "flaws" | "happened">): ReadonlyArray<string> => [
  ...[...flaws].filter((_) => !had.has(_)),
  ...eventKinds.filter((_) => !happened.has(_))
]

export const summaryOf = (report: Report): string => {
  const { flaws: had, happened, outcomes, rounds } = report
  const first = rounds[warmUp(rounds.length)]
  const last = rounds.at(-1)
  if (first === undefined || last === undefined) return "nothing was done"
  const of = (name: keyof Round["sample"], scale = 1) =>
    `${name} ${(first.sample[name] / scale).toFixed(scale === 1 ? 0 : 2)} -> ${
      (last.sample[name] / scale).toFixed(scale === 1 ? 0 : 2)
    }`
  const missing = neverHappened(report)
  return [
    `steps by outcome: ${listed(outcomes)}`,
    `misbehaviour of servers: ${listed(had)}`,
    `what was done to servers and managers: ${listed(happened)}`,
    `rounds: ${rounds.length}; steps: ${
      rounds.reduce((sum, _) => sum + _.steps, 0)
    }; executions: ${last.executions}; ` +
    `sessions: ${last.sessions}; replays: at least ${last.replays}`,
    `from round ${first.round} to round ${last.round}: ${of("heap", megabyte)} MB, ${of("objects")}, ${
      of("descriptors")
    }, ${of("sockets")}, ${of("children")}, ${of("handles")}, ${of("timers")}, ${of("fibers")}, ${of("listeners")}`,
    ...(rounds.length < fewestRounds ? [`what grows is judged from ${fewestRounds} rounds on`] : []),
    ...(missing.length === 0 ? [] : [`never happened: ${missing.join(", ")}`])
  ].join("\n")
}
