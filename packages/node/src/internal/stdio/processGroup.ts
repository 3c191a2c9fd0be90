/**
 * A server process and everything it has started, as long as that stays in its process group.
 *
 * Owns: signals to the group, and whether anyone in it lives.
 * May not touch: pipes, time.
 *
 * A process id may be given to a stranger once its process has been reaped. It can't while anyone, even a zombie, is in the
 * group of that number. So the group is signalled only while its leader is not reaped, or while members were seen and no
 * process has the leader's id.
 */
import { spawn, spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import { endCommand } from "../windows.js"

/** @internal */
export class ProcessGroup {
  private leaderReaped = false
  private gone = false
  /** Members that were alive when last looked at: they are looked at before the whole system is. */
  private known: ReadonlyArray<number> = []

  constructor(readonly id: number) {}

  /** The leader has exited, and its number is free as soon as the group is empty. */
  reaped(): void {
    this.leaderReaped = true
  }

  /** Whether nobody in the group lives. Zombies don't: nobody may be there to reap them, as in a container. */
  isEmpty(): boolean {
    if (this.gone) return true
    if (!this.leaderReaped) return false
    this.gone = process.platform === "win32" || !exists(-this.id) || exists(this.id) || !this.hasLivingMember()
    return this.gone
  }

  signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.isEmpty()) return
    if (process.platform === "win32") {
      const [command, ...args] = endCommand(this.id)
      spawn(command, args, { stdio: "ignore", windowsHide: true }).on("error", () => {})
    } else {
      kill(-this.id, signal)
    }
  }

  /** For the moment in which this process exits. */
  killSync(): void {
    if (this.isEmpty()) return
    if (process.platform === "win32") {
      const [command, ...args] = endCommand(this.id)
      spawnSync(command, args, { stdio: "ignore", windowsHide: true })
    } else {
      kill(-this.id, "SIGKILL")
    }
  }

  private hasLivingMember(): boolean {
    if (process.platform !== "linux") return true
    if (this.known.some((pid) => isLivingMember(pid, this.id))) return true
    const members = membersOf(this.id)
    if (members === undefined) return true
    this.known = members.living
    // Members that can't be seen at all are believed to live.
    return members.living.length > 0 || (members.zombies === 0 && exists(-this.id))
  }
}

const kill = (pid: number, signal: "SIGTERM" | "SIGKILL" | 0): string | undefined => {
  try {
    process.kill(pid, signal)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "UNKNOWN"
  }
}

const exists = (pid: number): boolean => kill(pid, 0) !== "ESRCH"

interface Status {
  readonly group: number
  readonly living: boolean
}

/**
 * The line of `/proc/<pid>/stat`. The name of the program stands in parentheses and may contain anything. A process whose
 * main thread has ended shows `Z`, but lives while it has other threads.
 *
 * @internal
 */
export const parseStat = (line: string): Status => {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ", 18)
  const state = fields[0]
  const dead = state === "X" || state === "x" || (state === "Z" && !(Number(fields[17]) > 1))
  return { group: Number(fields[2]), living: !dead }
}

const statusOf = (pid: number | string): Status | undefined => {
  try {
    return parseStat(Fs.readFileSync(`/proc/${pid}/stat`, "latin1"))
  } catch {
    return undefined
  }
}

const isLivingMember = (pid: number, group: number): boolean => {
  const status = statusOf(pid)
  return status !== undefined && status.group === group && status.living
}

const membersOf = (group: number): { readonly living: ReadonlyArray<number>; readonly zombies: number } | undefined => {
  let names: ReadonlyArray<string>
  try {
    names = Fs.readdirSync("/proc")
  } catch {
    return undefined
  }
  const living: Array<number> = []
  let zombies = 0
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue
    const status = statusOf(name)
    if (status?.group !== group) continue
    if (status.living) living.push(Number(name))
    else zombies++
  }
  return { living, zombies }
}
