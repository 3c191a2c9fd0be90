/**
 * What servers have written down, read as it grows.
 *
 * Owns: one file per server, how far each was read, how often each call was executed, and which processes have started.
 * May not touch: servers.
 */
import { closeSync, openSync, readFileSync, readSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { servers } from "./plan.js"

export class Journals {
  /** How often a server has misbehaved in each way. */
  readonly flaws = new Map<string, number>()
  /** How many handshakes there were. */
  sessions = 0
  private readonly executions: Uint8Array
  private readonly unseen = new Set<number>()
  private readonly offsets = new Map<string, number>()
  private readonly rests = new Map<string, string>()
  private readonly started = new Map<string, { readonly pid: number; readonly parent: number }>()

  constructor(private readonly path: string, capacity: number) {
    this.executions = new Uint8Array(capacity)
    for (const { name } of servers) writeFileSync(this.file(name), "")
  }

  file(server: string): string {
    return join(this.path, `journal-${server}`)
  }

  /** The calls that were executed since it was asked last. */
  executed(): ReadonlyArray<number> {
    this.read()
    const keys = [...this.unseen]
    this.unseen.clear()
    return keys
  }

  private read(): void {
    for (const { name } of servers) for (const line of this.news(name)) this.take(name, line)
  }

  executionsOf(key: number): number {
    return this.executions[key] ?? 0
  }

  /** The process of a server that has started last. */
  latest(server: string): { readonly pid: number; readonly parent: number } | undefined {
    this.read()
    return this.started.get(server)
  }

  /** The lines about one call, as evidence. */
  linesOf(server: string, key: number): ReadonlyArray<string> {
    return readFileSync(this.file(server), "utf8").split("\n").filter((_) => _.startsWith(`run ${key} `))
  }

  private news(server: string): ReadonlyArray<string> {
    const descriptor = openSync(this.file(server), "r")
    try {
      const buffer = Buffer.allocUnsafe(65_536)
      let offset = this.offsets.get(server) ?? 0
      let text = this.rests.get(server) ?? ""
      for (let read = 1; read > 0; offset += read) {
        read = readSync(descriptor, buffer, 0, buffer.length, offset)
        text += buffer.toString("latin1", 0, read)
      }
      const lines = text.split("\n")
      this.rests.set(server, lines.pop()!)
      this.offsets.set(server, offset)
      return lines
    } finally {
      closeSync(descriptor)
    }
  }

  private take(server: string, line: string): void {
    const [what, subject = "", pid] = line.split(" ")
    if (what === "run") {
      this.unseen.add(Number(subject))
      this.executions[Number(subject)]!++
    }
    if (what === "session") this.sessions++
    if (what === "flaw") this.flaws.set(subject, (this.flaws.get(subject) ?? 0) + 1)
    if (what === "started") this.started.set(server, { pid: Number(pid), parent: Number(subject) })
  }
}
