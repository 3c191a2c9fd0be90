/**
 * Ends the servers when this process dies in a way that lets it do nothing any more, as by SIGKILL.
 *
 * Owns: one tiny shell per host, in its own process group, that reads from a pipe which groups live. The pipe ends with this
 * process, whatever ends it; then the shell ends what is left. Where there is no such shell, a hook on `exit` does its best.
 * May not touch: sessions. Whatever fails here, no session fails.
 *
 * No signal handler is installed in this process: what Ctrl-C and SIGTERM do to it stays its own affair.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import type { Socket } from "node:net"
import type { Writable } from "node:stream"
import { within } from "../within.js"
import type * as Environment from "./environment.js"
import { ProcessGroup } from "./processGroup.js"

/** The variable by which a server process can be found that this process has started and could not tell of any more. */
const markName = "MCP_RUNTIME_START"

/**
 * Lines `?<mark>` before a start, then `+<group>` or `?`; `-<group>` when it is empty. At the end of them TERM, up to a
 * second, KILL. Builtins and `sleep` only.
 *
 * At the end a process may be there that was never told of, with what it has started. It leads a session, and has the mark in
 * its environment. What this process has forked holds the pipe open until its program runs, so it is there by then; but the
 * system fills in the environment a little later. It is looked for beside the others, which are not to wait for it; not where
 * `/proc` is missing, or that of other processes. Names of processes are a stranger's text: they are not split into words.
 */
const script = `trap '' INT TERM HUP
groups=' '
mark=
while IFS= read -r line; do
  id=\${line#?}
  case $line in
    '?'*) mark=$id ;;
    +*) groups="$groups$id " mark= ;;
    -*) case $groups in *" $id "*) groups="\${groups%%" $id "*} \${groups#*" $id "}" ;; esac ;;
  esac
done
end_groups() {
  for id in $groups; do kill -TERM "-$id"; done
  for round in 1 2 3 4 5 6 7 8 9 10; do
    left=
    for id in $groups; do kill -0 "-$id" && left=yes; done
    [ -z "$left" ] && return
    sleep 0.1 || { sleep 1; break; }
  done
  for id in $groups; do kill -KILL "-$id"; done
}
is_marked() (
  [ -r "/proc/$1/environ" ] || exit 1
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *"${markName}=$mark"*) exit 0 ;; esac
  done < "/proc/$1/environ"
  exit 1
)
find_marked() {
  groups=' '
  for stat in /proc/[0-9]*/stat; do
    IFS= read -r line < "$stat" || continue
    id=\${line%% *}
    line=\${line##*) }
    line=\${line#* }
    case \${line#* } in "$id $id "*) is_marked "$id" && groups="$groups$id " ;; esac
  done
}
end_marked() {
  for look in 1 2 3 4 5 6 7 8 9 10; do
    find_marked
    [ "$groups" = ' ' ] || break
    sleep 0.1 || sleep 1
  done
  end_groups
}
if [ -n "$mark" ] && IFS=' ' read -r id line < /proc/self/stat && [ "$id" = "$$" ]; then end_marked & fi
end_groups
wait
`

/** How often a shell that dies is replaced while groups live. */
const maxReplacements = 3

/** After that, with every so many starts of a process: what was in the way may have passed. */
const startsPerRetry = 16

interface Shell {
  readonly child: ChildProcess
  /** On Bun it can't be let go of, and need not be. */
  readonly input: Writable & Partial<Pick<Socket, "unref">>
  readonly exited: Deferred.Deferred<void>
}

/** @internal */
export class Watchdog {
  private readonly groups = new Map<number, ProcessGroup>()
  private shell: Shell | undefined = undefined
  private replacements = 0
  private startsWithout = 0
  private reported = false
  private hooked = false
  /** Groups that are empty, and that the shell is not told of yet. */
  private emptied = ""

  constructor(private readonly command: string | undefined) {}

  /**
   * Calls what starts a process, with variables that it is to get. That has its group watched as soon as there is one, in the
   * same tick: no death of this process comes between.
   */
  watch<A>(start: (marks: Environment.Variables, watched: (pid: number) => ProcessGroup) => A): A {
    const marks = this.starting()
    let isStarted = false
    try {
      return start(marks, (pid) => {
        const group = new ProcessGroup(pid)
        this.add(group)
        isStarted = true
        return group
      })
    } finally {
      if (!isStarted) this.notStarted()
    }
  }

  /** Has the shell running before there is anything to watch. What follows in the same tick is `add`, or `notStarted`. */
  starting(): Environment.Variables {
    this.prepare()
    if (this.shell === undefined || process.platform !== "linux") return {}
    const mark = randomUUID()
    this.write(`?${mark}\n`)
    return { [markName]: mark }
  }

  notStarted(): void {
    this.write("?\n")
  }

  private prepare(): void {
    if (this.shell !== undefined) return
    if (this.replacements >= maxReplacements && ++this.startsWithout % startsPerRetry !== 0) return
    this.launch()
  }

  add(group: ProcessGroup): void {
    this.groups.set(group.id, group)
    this.tellEmptied()
    this.write(`+${group.id}\n`)
    this.hook()
  }

  /** The group is empty: its number may belong to a stranger soon. Many that end at once wake the shell once. */
  remove(group: ProcessGroup): void {
    if (!this.groups.delete(group.id)) return
    if (this.emptied === "") setImmediate(this.tellEmptied)
    this.emptied += `-${group.id}\n`
    this.forgive()
    this.hook()
  }

  /** Says once that there is no shell, until there has been one that did its work to the end. */
  readonly report: Effect.Effect<void> = Effect.suspend(() => {
    if (!this.hooked || this.reported || this.command === undefined) return Effect.void
    this.reported = true
    return Effect.logWarning(
      `${this.command} does not run as a watchdog: MCP servers may outlive this application if it is killed`
    )
  })

  /** When nothing is left to watch, the shell is ended and its exit awaited. */
  readonly settle: Effect.Effect<void> = Effect.suspend(() => {
    const shell = this.shell
    this.forgive()
    if (this.groups.size > 0 || shell === undefined) return Effect.void
    this.tellEmptied()
    this.shell = undefined
    this.reported = false
    shell.child.ref()
    shell.input.end()
    const exited = Deferred.await(shell.exited)
    return within(exited, "1 second").pipe(
      Effect.flatMap((ended) => {
        if (ended) return Effect.void
        shell.child.kill("SIGKILL")
        return within(exited, "1 second")
      }),
      Effect.zipRight(Effect.sync(() => {
        shell.child.unref()
        shell.input.destroy()
      }))
    )
  })

  /** Nobody is left who could suffer from one more attempt. */
  private forgive(): void {
    if (this.groups.size > 0) return
    this.replacements = 0
    this.startsWithout = 0
  }

  private launch(): void {
    this.shell = this.start()
    if (this.shell === undefined) this.replacements++
    for (const id of this.groups.keys()) this.write(`+${id}\n`)
    this.hook()
  }

  private start(): Shell | undefined {
    if (this.command === undefined) return undefined
    try {
      const child = spawn(this.command, ["-c", script, "mcp-runtime-watchdog"], {
        cwd: "/",
        env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" },
        stdio: ["pipe", "ignore", "ignore"],
        detached: true
      })
      const shell: Shell = { child, input: child.stdin, exited: Deferred.unsafeMake(FiberId.none) }
      child.on("error", () => this.lost(shell))
      child.on("exit", () => this.lost(shell))
      if (child.pid === undefined) return undefined
      shell.input.on("error", () => {})
      shell.input.unref?.()
      child.unref()
      return shell
    } catch {
      return undefined
    }
  }

  private lost(shell: Shell): void {
    Deferred.unsafeDone(shell.exited, Effect.void)
    if (this.shell !== shell) return
    this.shell = undefined
    this.replacements++
    if (this.groups.size > 0 && this.replacements < maxReplacements) this.launch()
    else this.hook()
  }

  private readonly tellEmptied = (): void => {
    if (this.emptied !== "") this.write(this.emptied)
    this.emptied = ""
  }

  private write(lines: string): void {
    this.shell?.input.write(lines)
  }

  private hook(): void {
    const needed = this.shell === undefined && this.groups.size > 0
    if (needed === this.hooked) return
    this.hooked = needed
    if (needed) process.on("exit", this.killAll)
    else process.off("exit", this.killAll)
  }

  private readonly killAll = (): void => {
    for (const group of this.groups.values()) group.killSync()
  }
}

/** The one of this process. @internal */
export const watchdog = new Watchdog(process.platform === "win32" ? undefined : "/bin/sh")
