/**
 * The command as a process of its own, with a home, a directory and servers of its own.
 *
 * Everything it starts carries a mark in its environment, so that a test sees what is left of it, whoever its parent is by
 * then, and ends only that.
 */
import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as Fs from "node:fs"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { bundle } from "../internal/bundle.js"
import { isAlive, markedWith, until } from "./processes.js"

const serverScript = fileURLToPath(new URL("./server.mjs", import.meta.url))
const terminalScript = fileURLToPath(new URL("./terminal.py", import.meta.url))
/** The words that start `mcp-runtime`, without its arguments. */
export const command = (): ReadonlyArray<string> => [process.execPath, bundle()]

export const hasTerminal = spawnSync("python3", ["-c", "import pty, os; os.waitstatus_to_exitcode"]).status === 0

/** Where a command lives. */
export interface Place {
  readonly directory: string
  readonly mark: string
  /** The lines that servers have written about what they do. */
  readonly stages: () => ReadonlyArray<string>
  readonly awaitStage: (stage: string) => Effect.Effect<void>
  /** The processes that a server has named, itself and its helpers. */
  readonly pids: () => ReadonlyArray<number>
  /** A server of `server.mjs` with these flags. */
  readonly server: (...flags: ReadonlyArray<string>) => object
  /** Writes the configuration file. */
  readonly configure: (servers: { readonly [name: string]: object }, more?: object) => void
  readonly write: (name: string, text: string) => string
  /** What is in all files below, but the configuration: cache, state, logs. */
  readonly written: () => string
  /** Waits until nothing with the mark lives. */
  readonly nothingLeft: Effect.Effect<void>
}

export const place: Effect.Effect<Place, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = Fs.mkdtempSync(Path.join(tmpdir(), "mcp-cli-"))
    const mark = randomUUID()
    const file = Path.join(directory, "stages")
    const stages = () => Fs.existsSync(file) ? Fs.readFileSync(file, "utf8").split("\n").filter((_) => _ !== "") : []
    const write = (name: string, text: string) => {
      const path = Path.join(directory, name)
      Fs.mkdirSync(Path.dirname(path), { recursive: true })
      Fs.writeFileSync(path, text)
      return path
    }
    const place: Place = {
      directory,
      mark,
      stages,
      awaitStage: (stage) => until(`a server comes to "${stage}"`, () => stages().some((_) => _.startsWith(stage))),
      pids: () => stages().flatMap((_) => /^(?:started|helper) (\d+)/.exec(_)?.[1] ?? []).map(Number),
      server: (...flags) => ({
        command: process.execPath,
        args: [serverScript, ...flags],
        env: { MCP_TEST_MARK: mark, MCP_TEST_STAGES: file }
      }),
      configure: (servers, more) => void write("mcp.json", JSON.stringify({ mcpServers: servers, ...more })),
      write,
      written: () =>
        Fs.readdirSync(directory, { recursive: true, withFileTypes: true })
          .filter((_) => _.isFile() && _.name !== "mcp.json")
          .map((_) => `${_.parentPath}/${_.name}\n${Fs.readFileSync(Path.join(_.parentPath, _.name), "utf8")}`)
          .join("\n"),
      nothingLeft: Effect.suspend(() =>
        until("nothing is left", () => markedWith(mark).length === 0 && !place.pids().some(isAlive))
      )
    }
    return place
  }),
  ({ directory, mark }) =>
    Effect.sync(() => {
      for (const pid of markedWith(mark)) {
        try {
          process.kill(pid, "SIGKILL")
        } catch {
          // It has just ended.
        }
      }
      Fs.rmSync(directory, { recursive: true, force: true })
    })
)

export interface Ending {
  readonly code: number | null
  readonly signal: string | null
}

export interface Run {
  readonly pid: () => number
  readonly stdout: () => string
  readonly stderr: () => string
  readonly kill: (signal: NodeJS.Signals) => void
  /** Types on the terminal. */
  readonly type: (text: string) => void
  /** How it ended. */
  readonly ended: Effect.Effect<Ending>
}

export interface Options {
  readonly env?: { readonly [name: string]: string }
  /** In a terminal, where stdout and stderr are one. */
  readonly terminal?: boolean
}

const environmentOf = ({ directory, mark }: Place, options: Options): { [name: string]: string } => ({
  PATH: process.env.PATH ?? "",
  HOME: directory,
  XDG_CONFIG_HOME: Path.join(directory, ".config"),
  XDG_CACHE_HOME: Path.join(directory, ".cache"),
  XDG_STATE_HOME: Path.join(directory, ".state"),
  XDG_DATA_HOME: Path.join(directory, ".data"),
  TERM: "xterm-256color",
  LANG: "C.UTF-8",
  MCP_TEST_MARK: mark,
  ...options.env
})

/** Starts `mcp-runtime` with these arguments. */
export const start = (
  here: Place,
  args: ReadonlyArray<string>,
  options: Options = {}
): Effect.Effect<Run, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const environment = environmentOf(here, options)
      const words = [...command(), ...args]
      const child: ChildProcess = options.terminal === true
        ? spawn("python3", [terminalScript, JSON.stringify([words, environment, here.directory])])
        : spawn(words[0]!, words.slice(1), {
          cwd: here.directory,
          env: environment,
          stdio: ["ignore", "pipe", "pipe"]
        })
      let stdout = ""
      let stderr = ""
      let ending: Ending | undefined
      child.stdout!.on("data", (chunk) => stdout += String(chunk))
      child.stderr!.on("data", (chunk) => stderr += String(chunk))
      child.stdin?.on("error", () => {})
      child.on("close", (code, signal) => {
        const told = options.terminal === true ? Number(/^exit (-?\d+)$/m.exec(stderr)?.[1] ?? Number.NaN) : undefined
        ending = {
          code: told === undefined ? code : told < 0 ? null : told,
          signal: told === undefined ? signal : told < 0 ? String(-told) : null
        }
      })
      const pid = () => options.terminal === true ? Number(/^pid (\d+)$/m.exec(stderr)?.[1]) : child.pid!
      const run: Run = {
        pid,
        stdout: () => stdout,
        stderr: () => stderr,
        kill: (signal) => void process.kill(pid(), signal),
        type: (text) => void child.stdin?.write(text),
        ended: Effect.map(until(`the command ends: ${args.join(" ")}`, () => ending !== undefined), () => ending!)
      }
      return { run, child }
    }),
    ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
  ).pipe(Effect.map((_) => _.run))

/** Runs it to its end. */
export const run = (here: Place, args: ReadonlyArray<string>, options?: Options) =>
  Effect.scoped(Effect.gen(function*() {
    const running = yield* start(here, args, options)
    const ending = yield* running.ended
    return { ...ending, stdout: running.stdout(), stderr: running.stderr() }
  }))

/** What no terminal may get from a server: sequences of its own making. */
export const assertHarmless = (shown: string): void => {
  assert.notInclude(shown, "\u001b]0;owned")
  assert.notInclude(shown, "\u001b[2J")
  assert.notInclude(shown, "\u001b[31m\u009b")
  // eslint-disable-next-line no-control-regex
  assert.notMatch(shown, /[\u0000-\u0007\u000e-\u001a\u001c-\u001f\u0080-\u009f\u202a-\u202e]/)
}

/** The same for a program's eyes: no escape sequence at all. */
export const assertPlain = (shown: string): void => {
  // eslint-disable-next-line no-control-regex
  assert.notMatch(shown, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e]/)
}

/** From a command that waits for its end it gets SIGTERM after eight seconds, and another one when that command ends. */
export const patient = (server: object): object => ({
  ...server,
  shutdown: { afterEof: "8 seconds", afterTerm: "1 hour" }
})
