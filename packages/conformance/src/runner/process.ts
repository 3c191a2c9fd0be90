/**
 * Processes that are ended as a whole.
 *
 * Owns: a group of processes for each command: whatever the command has started, and what that has started, is dead when
 * the effect ends.
 * May not touch: what they are for.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The runner can't do its work: nothing is known of the client. */
export class Broken extends Data.TaggedError("Broken")<{ readonly message: string }> {}

export interface Command {
  readonly argv: ReadonlyArray<string>
  /** Added to the environment. */
  readonly env?: { readonly [name: string]: string }
}

export type Ended =
  | { readonly _tag: "Exited"; readonly code: number; readonly leftProcesses: boolean }
  | { readonly _tag: "TimedOut" }

/** A directory that goes with the scope. */
export const directory: Effect.Effect<string, Broken, Scope.Scope> = Effect.acquireRelease(
  Effect.tryPromise({
    try: () => mkdtemp(join(tmpdir(), "mcp-conformance-")),
    catch: (error) => new Broken({ message: `no temporary directory: ${String(error)}` })
  }),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** Runs it with everything that it writes in this file. */
export const run = (
  command: Command,
  { limit, log }: { readonly limit: Duration.DurationInput; readonly log: string }
): Effect.Effect<Ended, Broken> =>
  Effect.acquireUseRelease(
    Effect.sync(() => start(command, log)),
    ({ child, exit }) =>
      Deferred.await(exit).pipe(
        Effect.timeoutOption(limit),
        Effect.flatMap(Option.match({
          onNone: () => Effect.succeed<Ended>({ _tag: "TimedOut" }),
          onSome: (code) =>
            Effect.map(isLeft(child), (leftProcesses): Ended => ({ _tag: "Exited", code, leftProcesses }))
        }))
      ),
    ({ child }) => Effect.zipRight(Effect.sync(() => signalled(child, "SIGKILL")), isLeft(child))
  )

const start = ({ argv: [program = "", ...args], env }: Command, log: string) => {
  const exit = Deferred.unsafeMake<number, Broken>(FiberId.none)
  const file = openSync(log, "a")
  const child = spawn(program, args, {
    detached: true,
    stdio: ["ignore", file, file],
    env: { ...process.env, ...env }
  })
  closeSync(file)
  child.once(
    "error",
    (error) =>
      Deferred.unsafeDone(exit, Effect.fail(new Broken({ message: `${program} can't be started: ${error.message}` })))
  )
  child.once("exit", (code) => Deferred.unsafeDone(exit, Effect.succeed(code ?? 128)))
  return { child, exit }
}

/** Whether there was anybody in the group of this process. */
const signalled = ({ pid }: ChildProcess, signal: "SIGKILL" | 0): boolean => {
  try {
    return pid !== undefined && process.kill(-pid, signal)
  } catch {
    return false
  }
}

/** Whether there is somebody in it still, a moment later. */
const isLeft = (child: ChildProcess): Effect.Effect<boolean> =>
  Effect.repeat(Effect.sync(() => signalled(child, 0)), {
    while: (left) => left,
    schedule: Schedule.intersect(Schedule.spaced("20 millis"), Schedule.recurs(50))
  }).pipe(Effect.map(() => signalled(child, 0)))

/** What a command has written that does not take long, and does not fail. */
export const output = (command: Command): Effect.Effect<string, Broken> =>
  Effect.scoped(Effect.gen(function*() {
    const log = join(yield* directory, "log")
    const ended = yield* run(command, { limit: "30 seconds", log })
    const text = yield* readText(log)
    if (ended._tag === "Exited" && ended.code === 0) return text
    return yield* new Broken({ message: `${command.argv.join(" ")} has failed:\n${text.slice(-2000)}` })
  }))

/** Nothing, where there is no such file. */
export const readText = (path: string): Effect.Effect<string> =>
  Effect.orElseSucceed(Effect.tryPromise(() => readFile(path, "utf8")), () => "")
