/**
 * The report of a soak as text.
 */
import type { Report } from "./soak.js"

const header = ["round", "calls", "sessions", "heap MB", "fds", "children", "handles", "timers", "listeners"]

const most = 13

export const render = ({ disturbances, ledger, reconnects, replays, rounds }: Report): string => {
  const every = Math.max(1, Math.ceil(rounds.length / (most - 1)))
  let calls = 0
  const rows = rounds.map((round, i) => {
    calls += round.calls
    const { children, descriptors, handles, heap, listeners, timers } = round.sample
    const cells = [i + 1, calls, round.sessions, (heap / 1024 / 1024).toFixed(2)]
    return [...cells, descriptors, children, handles, timers, listeners].map(String)
  }).filter((_, i) => i === 0 || i === rounds.length - 1 || i % every === 0)
  const all = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  const table = all.map((row) => row.map((cell, column) => cell.padStart(widths[column]!)).join("  ")).join("\n")
  const fates = (["ok", "unknown", "not executed", "interrupted"] as const).map((_) => `${ledger.count(_)} ${_}`)
  const happened = [...disturbances].sort(([a], [b]) => a < b ? -1 : 1).map(([name, count]) => `${count} ${name}`)
  return [
    table,
    "",
    `calls: ${fates.join(", ")}; ${replays} replays`,
    `reconnects: ${reconnects}; disturbances: ${happened.join(", ")}`
  ].join("\n")
}
