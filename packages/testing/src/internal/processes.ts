/**
 * Which processes have this process started, and which of them are alive.
 *
 * Owns: reading `/proc`, and noticing every child that `node:child_process` starts.
 * May not touch: the processes themselves. Nothing here sends a signal.
 *
 * A process that has lost its parent is still ours when it is in the process group or the session of a child that we
 * started, or when its environment has the marker that is in ours meanwhile.
 */
import type { ChildProcess } from "node:child_process"
import * as DiagnosticsChannel from "node:diagnostics_channel"
import * as Fs from "node:fs"

interface ProcessRow {
  readonly pid: number
  readonly name: string
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly session: number
  /** In clock ticks since boot: with the pid it names a process for good. */
  readonly started: string
}

export interface LiveProcess {
  readonly pid: number
  readonly detail: string
}

const markerName = "MCP_RUNTIME_LEAK_CHECK"

let watches = 0

export class ProcessWatch {
  private readonly before = new Set(readTable().map(keyOf))
  private readonly children: Array<ChildProcess> = []
  private readonly marker = `${process.pid}-${++watches}`
  private readonly outerMarker = process.env[markerName]

  constructor() {
    // a marker of a watch around this one stays in front, so that it too finds what is started now
    process.env[markerName] = this.outerMarker === undefined ? this.marker : `${this.outerMarker},${this.marker}`
    DiagnosticsChannel.subscribe("child_process", this.onChild)
  }

  stop(): void {
    DiagnosticsChannel.unsubscribe("child_process", this.onChild)
    if (this.outerMarker === undefined) delete process.env[markerName]
    else process.env[markerName] = this.outerMarker
  }

  live(): ReadonlyArray<LiveProcess> {
    const table = readTable()
    return table.length === 0 ? this.liveByHandle() : this.liveByTable(table)
  }

  private readonly onChild = (message: unknown): void => {
    this.children.push((message as { readonly process: ChildProcess }).process)
  }

  private liveByTable(table: ReadonlyArray<ProcessRow>): ReadonlyArray<LiveProcess> {
    const started = new Set(this.children.flatMap((child) => child.pid === undefined ? [] : [child.pid]))
    const byPid = new Map(table.map((row) => [row.pid, row]))
    return table.filter((row) =>
      row.pid !== process.pid && !isDead(row) && !this.before.has(keyOf(row)) &&
      (started.has(row.group) || started.has(row.session) || descends(row, started, byPid) || this.isMarked(row.pid))
    ).map((row) => ({
      pid: row.pid,
      detail: `process ${row.pid} (${row.name}) is alive: state ${row.state}, parent ${row.parent}, group ${row.group}`
    }))
  }

  /** Where there is no `/proc`, only direct children are known. */
  private liveByHandle(): ReadonlyArray<LiveProcess> {
    return this.children.flatMap((child) =>
      child.pid === undefined || child.exitCode !== null || child.signalCode !== null
        ? []
        : [{ pid: child.pid, detail: `process ${child.pid} (${child.spawnfile}) is alive` }]
    )
  }

  private isMarked(pid: number): boolean {
    try {
      return Fs.readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").some((entry) =>
        entry.startsWith(`${markerName}=`) && entry.slice(markerName.length + 1).split(",").includes(this.marker)
      )
    } catch {
      // it has ended meanwhile, or is someone else's
      return false
    }
  }
}

const keyOf = (row: ProcessRow): string => `${row.pid}@${row.started}`

const isDead = (row: ProcessRow): boolean => row.state === "Z" || row.state === "X"

/** Walks up to this process. The table may change while it is read, so the walk is bounded. */
const descends = (
  row: ProcessRow,
  started: ReadonlySet<number>,
  byPid: ReadonlyMap<number, ProcessRow>
): boolean => {
  let parent = row.parent
  for (let steps = 0; steps < 256 && parent > 1; steps++) {
    if (parent === process.pid || started.has(parent)) return true
    parent = byPid.get(parent)?.parent ?? 0
  }
  return false
}

const readTable = (): ReadonlyArray<ProcessRow> => {
  let names: ReadonlyArray<string>
  try {
    names = Fs.readdirSync("/proc")
  } catch {
    return []
  }
  return names.flatMap((name) => {
    const row = /^\d+$/.test(name) ? readRow(Number(name)) : undefined
    return row === undefined ? [] : [row]
  })
}

const readRow = (pid: number): ProcessRow | undefined => {
  try {
    const stat = Fs.readFileSync(`/proc/${pid}/stat`, "latin1")
    // the name is in parentheses and may hold anything, parentheses too
    const nameEnd = stat.lastIndexOf(")")
    const fields = stat.slice(nameEnd + 2).split(" ")
    return {
      pid,
      name: stat.slice(stat.indexOf("(") + 1, nameEnd),
      state: fields[0] ?? "",
      parent: Number(fields[1]),
      group: Number(fields[2]),
      session: Number(fields[3]),
      started: fields[19] ?? ""
    }
  } catch {
    return undefined
  }
}
