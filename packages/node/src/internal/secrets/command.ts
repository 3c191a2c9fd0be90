/**
 * What a command of a configuration writes.
 *
 * Owns: its process, from its start until nobody of its group lives, and the one truth about how it has ended.
 * May not touch: what it has written to stderr, and the value beyond handing it on: neither is part of a problem.
 */
import { SecretUnavailable } from "@mcp-runtime/core/SecretResolver"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Redacted from "effect/Redacted"
import { Buffer } from "node:buffer"
import type { ChildProcessByStdio } from "node:child_process"
import { spawn } from "node:child_process"
import type { Readable } from "node:stream"
import type { Variables } from "../stdio/environment.js"
import type { ProcessGroup } from "../stdio/processGroup.js"
import { watchdog } from "../stdio/watchdog.js"
import { shellCommand } from "../windows.js"
import { inTime, within } from "../within.js"

/** A secret is short; so is the longest private key. In bytes. */
const longest = 64 * 1024

/** What it wrote is read for so long after its end, should something it has started hold its output open. */
const moment = "100 millis"

/** How long the system may take to end what was killed. In steps of a hundredth of a second. */
const killSteps = 100

/** What it writes, without the end of the last line. @internal */
export const run = (
  command: string,
  timeout: Duration.Duration,
  directory?: string
): Effect.Effect<Redacted.Redacted<string>, SecretUnavailable> =>
  Effect.acquireUseRelease(
    Effect.sync(() => start(command, directory)),
    (running) =>
      inTime(
        running.result,
        timeout,
        () => Effect.fail(failed(`did not end within ${Duration.toMillis(timeout)} ms`))
      ),
    (running) => running.end
  )

const failed = (what: string): SecretUnavailable =>
  new SecretUnavailable({ reason: "Failed", problem: `its command ${what}; run it by hand to see why` })

const tooMuch = failed(`wrote more than ${longest} bytes`)

const decoded = (bytes: Buffer): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

interface Running {
  readonly result: Effect.Effect<Redacted.Redacted<string>, SecretUnavailable>
  readonly end: Effect.Effect<void>
}

/** Synchronous, so that nothing comes between the process and who will end it. */
const start = (command: string, directory: string | undefined): Running => {
  try {
    const running = watchdog.watch((marks, watched) => {
      const child = launch(command, directory, marks)
      child.on("error", () => {})
      return child.pid === undefined ? undefined : new Command(child, watched(child.pid))
    })
    if (running !== undefined) return running
  } catch {
    // The command can't be handed to a shell.
  }
  return { result: Effect.fail(failed("could not be started")), end: watchdog.settle }
}

type Child = ChildProcessByStdio<null, Readable, null>

const launch = (command: string, cwd: string | undefined, marks: Variables): Child => {
  if (process.platform !== "win32") {
    const env = { ...process.env, ...marks }
    return spawn("/bin/sh", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "ignore"], detached: true })
  }
  const [shell, ...args] = shellCommand(command)
  return spawn(shell, args, {
    cwd,
    stdio: ["ignore", "pipe", "ignore"],
    windowsHide: true,
    windowsVerbatimArguments: true
  })
}

class Command implements Running {
  private readonly exited = Deferred.unsafeMake<void>(FiberId.none)
  private readonly drained = Deferred.unsafeMake<void>(FiberId.none)
  /** How it has ended, or that it is not worth waiting for that: whichever was first. */
  private readonly outcome = Deferred.unsafeMake<void, SecretUnavailable>(FiberId.none)
  private readonly chunks: Array<Buffer> = []
  private size = 0

  constructor(private readonly child: Child, private readonly group: ProcessGroup) {
    child.stdout.on("error", () => {})
    child.stdout.on("data", (chunk: Buffer) => this.take(chunk))
    child.stdout.once("close", () => Deferred.unsafeDone(this.drained, Effect.void))
    child.once("exit", (code, signal) => {
      this.group.reaped()
      const problem = code === 0 ? undefined : signal === null ? `exited with code ${code}` : `was killed by ${signal}`
      Deferred.unsafeDone(this.outcome, problem === undefined ? Effect.void : Effect.fail(failed(problem)))
      Deferred.unsafeDone(this.exited, Effect.void)
    })
  }

  private take(chunk: Buffer): void {
    this.size += chunk.length
    if (this.size <= longest) this.chunks.push(chunk)
    else {
      this.child.stdout.destroy()
      Deferred.unsafeDone(this.outcome, Effect.fail(tooMuch))
    }
  }

  readonly result: Effect.Effect<Redacted.Redacted<string>, SecretUnavailable> = Deferred.await(this.outcome).pipe(
    Effect.zipRight(this.drain),
    Effect.zipRight(this.text)
  )

  private get drain(): Effect.Effect<void> {
    return Effect.asVoid(within(Deferred.await(this.drained), moment))
  }

  private get text(): Effect.Effect<Redacted.Redacted<string>, SecretUnavailable> {
    return Effect.suspend(() => {
      if (this.size > longest) return Effect.fail(tooMuch)
      const text = decoded(Buffer.concat(this.chunks))?.replace(/\r?\n$/, "")
      if (text === undefined) return Effect.fail(failed("wrote something that is not text"))
      return text === "" ? Effect.fail(failed("wrote nothing")) : Effect.succeed(Redacted.make(text))
    })
  }

  /** Nobody needs what it has started and left in its group. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    const { child, group } = this
    this.chunks.length = 0
    child.stdout.destroy()
    group.signal("SIGKILL")
    return Effect.zipRight(
      within(Effect.zipRight(Deferred.await(this.exited), untilEmpty(group)), "2 seconds"),
      Effect.suspend(() => {
        if (group.isEmpty()) watchdog.remove(group)
        child.removeAllListeners()
        child.on("error", () => {})
        child.unref()
        return watchdog.settle
      })
    )
  })
}

const untilEmpty = (group: ProcessGroup): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (let step = 0; step < killSteps && !group.isEmpty(); step++) yield* Effect.sleep("10 millis")
  })
