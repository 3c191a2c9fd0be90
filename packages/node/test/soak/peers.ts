/**
 * The servers over HTTP of the soak: processes that can be told to do harm, be killed, be stopped, and come back at the same
 * port.
 *
 * Owns: these processes. They end with the scope.
 * May not touch: clients.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const script = fileURLToPath(new URL("./peer/http.mjs", import.meta.url))

/** Ports that no system gives to whoever connects: one of those would be taken by a stranger while a server is down. */
const candidates = (): ReadonlyArray<number> => Array.from({ length: 20 }, () => 20_000 + randomInt(12_000))

export class Peer {
  port = 0
  private child: ChildProcess | undefined = undefined
  private readonly waiting: Array<(line: string) => void> = []

  constructor(
    readonly name: string,
    private readonly args: { readonly answers: string; readonly isGuarded: boolean },
    private readonly journal: string
  ) {}

  get pid(): number | undefined {
    return this.child?.pid
  }

  /** Where it was before, if there was a before. */
  readonly up: Effect.Effect<void> = Effect.promise(async () => {
    if (this.child !== undefined) return
    for (const port of this.port === 0 ? candidates() : [this.port]) {
      if (await this.startsAt(port)) return
      await Effect.runPromise(this.down)
    }
    throw new Error(`${this.name} did not start at port ${this.port}`)
  })

  private async startsAt(port: number): Promise<boolean> {
    const { answers, isGuarded } = this.args
    const child = spawn(process.execPath, [script, answers, String(port), ...(isGuarded ? ["guarded"] : [])], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: process.env.PATH, SOAK_JOURNAL: this.journal }
    })
    this.child = child
    child.stdin.on("error", () => {})
    createInterface({ input: child.stdout }).on("line", (line) => this.waiting.shift()?.(line))
    const line = await Promise.race([this.line(), once(child, "exit").then(() => undefined)])
    if (line !== undefined) this.port = Number(line.slice("port ".length))
    // Somebody may have taken it down while it started.
    return line !== undefined || this.child !== child
  }

  readonly down: Effect.Effect<void> = Effect.promise(async () => {
    const { child } = this
    if (child === undefined) return
    this.child = undefined
    this.waiting.length = 0
    if (child.exitCode === null && child.signalCode === null) {
      const exit = once(child, "exit")
      child.kill("SIGKILL")
      await exit
    }
    child.stdin?.destroy()
    child.stdout?.destroy()
  })

  /** Nobody waits until it is done: it may be stopped. */
  tell(command: string): boolean {
    return this.child?.stdin?.write(`${command}\n`) !== undefined
  }

  /** How many sockets it has. */
  readonly sockets: Effect.Effect<number> = Effect.promise(async () => {
    this.tell("count")
    return Number((await this.line()).slice("count ".length))
  })

  private line(): Promise<string> {
    return new Promise((resolve) => this.waiting.push(resolve))
  }
}

const kinds = [
  ["json", { answers: "json", isGuarded: false }],
  ["events", { answers: "sse", isGuarded: false }],
  ["legacy", { answers: "legacy", isGuarded: false }],
  ["guarded", { answers: "json", isGuarded: true }]
] as const

export type Peers = ReadonlyMap<string, Peer>

export const make = (journal: (server: string) => string): Effect.Effect<Peers, never, Scope.Scope> =>
  Effect.gen(function*() {
    const peers = new Map<string, Peer>()
    for (const [name, args] of kinds) {
      const peer = new Peer(name, args, journal(name))
      peers.set(name, peer)
      yield* Effect.acquireRelease(peer.up, () => peer.down)
    }
    return peers
  })
