/**
 * One server process as a message transport.
 *
 * Owns: the process from its start to its end, what its pipes and its exit mean, and the one truth about whether it is down.
 * May not touch: the meaning of a message. How the process is started and ended, and its bytes, are its parts' affair.
 *
 * | happens                      | then                                                                             |
 * |------------------------------|----------------------------------------------------------------------------------|
 * | the process exits            | what it wrote before is read for a moment, then down: `Exited`                   |
 * | stdout ends                  | an exit may explain it for a moment (then as above), else down: `OutputClosed`   |
 * | stdin breaks                 | the same, else down: `InputClosed`                                               |
 * | a line is too long           | down at once: `Overflow`, and SIGTERM to the group                               |
 * | it is down and has exited    | SIGTERM to what it has left behind                                               |
 * | the scope closes             | down at once: `Closing`; end of input, SIGTERM, SIGKILL; pipes destroyed         |
 */
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import type * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberId from "effect/FiberId"
import * as Scope from "effect/Scope"
import { Buffer } from "node:buffer"
import type { ChildProcessWithoutNullStreams } from "node:child_process"
import { within } from "../within.js"
import type { Launched } from "./launch.js"
import { launch } from "./launch.js"
import { LineSplitter } from "./lineSplitter.js"
import { parseLong } from "./longJson.js"
import type { ProcessGroup } from "./processGroup.js"
import type { Secrets } from "./secrets.js"
import { secretsOf } from "./secrets.js"
import { shutdown, untilEmpty } from "./shutdown.js"
import * as Starts from "./starts.js"
import { StderrRing } from "./stderrRing.js"
import type { Refusal, Sent } from "./stdinWriter.js"
import { StdinWriter } from "./stdinWriter.js"
import { watchdog } from "./watchdog.js"

/** How long an exit may be waited for that explains a closed pipe, and how long a dead process's output is read. */
const moment = "100 millis"

/** How much of a line that is not JSON is shown. */
const shownOfLine = 120

/** Of so many such lines at most. */
const linesShown = 100

const brace = 123

/** What the few values begin with that are not objects. To try to parse anything else costs a hundred times as much. */
const otherJson = /^[\s{["\-\d]|^(?:true|false|null)\s*$/

const mayBeJson = (line: string): boolean => line.charCodeAt(0) === brace || otherJson.test(line)

/** What is left of a line without the byte order mark that some programs begin their output with. */
const withoutMark = <A extends string | Buffer>(line: A): A | undefined => {
  const isMarked = typeof line === "string" ? line.startsWith("\ufeff") : line.subarray(0, 3).equals(mark)
  return isMarked ? line.slice(typeof line === "string" ? 1 : mark.length) as A : undefined
}

const mark = Buffer.from("\ufeff")

/** What a line is cut to is not shown to its end. */
const noCut = {}

/** @internal */
export const open = (
  config: McpConfig.StdioConfig,
  events: McpTransport.TransportEvents
): Effect.Effect<McpTransport.MessageTransport, McpError.McpError, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      yield* restore(Starts.turn)
      const started = start(config, events)
      // `Effect.acquireRelease` would keep the fiber refs of whoever opens for as long as the process lives.
      yield* Scope.addFinalizer(scope, release(started))
      if (Either.isLeft(started)) return yield* Effect.ensuring(restore(started.left), watchdog.settle)
      const connection = started.right
      yield* connection.spawned
      yield* watchdog.report
      yield* Effect.forkScoped(Effect.interruptible(connection.supervise))
      return connection.transport
    })
  )

/** @internal */
export type Started = Either.Either<Connection, Launched extends Either.Either<unknown, infer E> ? E : never>

/** Synchronous, so that no interruption and no death of this process comes between the process and who will end it. @internal */
export const start = (config: McpConfig.StdioConfig, events: McpTransport.TransportEvents): Started =>
  watchdog.watch((marks, watched) =>
    Either.map(launch(config, marks), ({ child, pid }) => new Connection(config, events, child, watched(pid)))
  )

const release = (started: Started): Effect.Effect<void> =>
  Either.isRight(started) ? started.right.close : watchdog.settle

type Symptom = "Exited" | "OutputClosed" | "InputClosed"

/** @internal */
export class Connection {
  private readonly running = Deferred.unsafeMake<void>(FiberId.none)
  private readonly symptom = Deferred.unsafeMake<Symptom>(FiberId.none)
  private readonly exited = Deferred.unsafeMake<void>(FiberId.none)
  private readonly drained = Deferred.unsafeMake<void>(FiberId.none)
  private readonly closed = Deferred.unsafeMake<void>(FiberId.none)
  private readonly secrets: Secrets
  private readonly ring: StderrRing
  private readonly lines: LineSplitter
  private readonly writer: StdinWriter
  readonly pid: number
  private exit: McpError.ProcessExit | undefined = undefined
  private openOutputs = 2
  private down = false
  private hopeless = false
  /** How many lines of its output were not JSON. */
  private nonsense = 0
  private closing = false

  constructor(
    private readonly config: McpConfig.StdioConfig,
    private readonly events: McpTransport.TransportEvents,
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly group: ProcessGroup
  ) {
    const limits = McpConfig.limitsOf(config)
    this.pid = group.id
    this.secrets = secretsOf(config)
    this.ring = new StderrRing(limits.stderrTailBytes, this.secrets)
    this.lines = new LineSplitter(
      limits.messageBytes,
      (line) => mayBeJson(line) ? this.onLine(JSON.parse, line) : this.onNonsense(line),
      (line) => this.onLine(parseLong, line),
      () => this.onOverflow(limits.messageBytes)
    )
    this.writer = new StdinWriter(
      child.stdin,
      config.name,
      limits.sendBufferBytes,
      events.requestFailed
    )
    this.listen()
  }

  readonly spawned: Effect.Effect<void> = Deferred.await(this.running)

  readonly transport: McpTransport.MessageTransport = {
    kind: () => "stdio",
    sessionId: () => undefined,
    send: (message: McpProtocol.JsonRpcMessage, sent?: Sent) => this.writer.send(message, sent),
    release: (id) => this.writer.release(id),
    negotiated: () => {},
    listen: Effect.void,
    stderrTail: () => this.ring.tail(),
    secrets: () => this.secrets.values,
    reading: () => this.writer.reading()
  }

  /** Judges the first thing that goes wrong, when a moment has shown what it means. */
  readonly supervise: Effect.Effect<void> = Effect.gen(this, function*() {
    const symptom = yield* Deferred.await(this.symptom)
    if (symptom !== "Exited") yield* within(Deferred.await(this.exited), moment)
    if (this.exit === undefined) {
      this.declareDown(symptom, descriptions[symptom])
      yield* Deferred.await(this.exited)
    } else {
      if (!(yield* within(Deferred.await(this.drained), moment))) yield* turnOfTheLoop
      // Where a helper keeps the output open, nothing else says that the last line was the last.
      this.lines.end()
      this.declareDown("Exited", descriptions.Exited)
    }
    yield* this.dismiss
  })

  /** Nobody needs the helpers of a server that is gone. Those that stay are killed when the scope closes. */
  private readonly dismiss: Effect.Effect<void> = Effect.suspend(() => {
    this.group.signal("SIGTERM")
    return Effect.map(untilEmpty(this.group, 10, 1000), () => watchdog.remove(this.group))
  })

  /** Whoever comes second waits for the first. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    if (this.closing) return Deferred.await(this.closed)
    this.closing = true
    return Effect.ensuring(this.end, Deferred.succeed(this.closed, undefined))
  }).pipe(Effect.uninterruptible)

  private readonly end: Effect.Effect<void> = Effect.gen(this, function*() {
    const { group } = this
    const refusal = this.refusal("Closing", "it was closed by this application")
    const wasDown = this.down
    const dead = yield* shutdown({
      group,
      exited: Deferred.await(this.exited),
      endInput: () => {
        this.writer.end(refusal)
        if (!wasDown) this.goDown(refusal)
      },
      graceful: !this.hopeless,
      graces: McpConfig.shutdownOf(this.config)
    })
    if (dead) yield* within(Deferred.await(this.drained), moment)
    else {
      yield* Effect.annotateLogs(Effect.logWarning(`process group ${group.id} outlived SIGKILL`), {
        "mcp.server": McpError.displayName(this.config.name, 128),
        "mcp.operation": "close"
      })
    }
    this.writer.stop(refusal)
    this.dispose()
    yield* watchdog.report
    watchdog.remove(group)
    yield* watchdog.settle
  })

  private listen(): void {
    const { child } = this
    child.once("spawn", () => Deferred.unsafeDone(this.running, Effect.void))
    child.on("error", () => {})
    child.on("exit", this.onExit)
    child.stdout.on("data", this.onOutput)
    child.stderr.on("data", (chunk: Buffer) => this.ring.push(chunk))
    child.stdout.once("close", this.onOutputClosed)
    child.stderr.once("close", this.onDrained)
    child.stdin.once("close", () => this.suspect("InputClosed"))
    for (const stream of child.stdio) stream?.on("error", () => {})
  }

  private readonly onExit = (code: number | null, signal: string | null): void => {
    this.exit = { code, signal }
    this.group.reaped()
    if (this.group.isEmpty()) watchdog.remove(this.group)
    this.writer.hold()
    this.suspect("Exited")
    Deferred.unsafeDone(this.exited, Effect.void)
  }

  private readonly onOutputClosed = (): void => {
    this.lines.end()
    this.suspect("OutputClosed")
    this.onDrained()
  }

  private readonly onDrained = (): void => {
    if (--this.openOutputs === 0) Deferred.unsafeDone(this.drained, Effect.void)
  }

  private onLine<A extends string | Buffer>(parse: (line: A) => unknown, line: A, isUnmarked = false): void {
    let message: unknown
    try {
      message = parse(line)
    } catch {
      const rest = isUnmarked ? undefined : withoutMark(line)
      return rest === undefined ? this.onNonsense(line) : this.onLine(parse, rest, true)
    }
    this.events.message(message)
  }

  private onNonsense(line: string | Buffer): void {
    this.events.warning(
      "NotJson",
      `a line of its output is not JSON${++this.nonsense > linesShown ? "" : this.shown(line)}`
    )
  }

  private shown(line: string | Buffer): string {
    const start = line.slice(0, 4 * shownOfLine + this.secrets.longest).toString()
    return `: ${this.secrets.show(start, shownOfLine, noCut)}`
  }

  /** A flood of nonsense takes its turns with everything else. */
  private readonly onOutput = (chunk: Buffer): void => {
    const { nonsense } = this
    this.lines.push(chunk)
    if (this.nonsense === nonsense) return
    const { stdout } = this.child
    stdout.pause()
    setImmediate(() => stdout.resume())
  }

  private onOverflow(max: number): void {
    this.hopeless = true
    this.declareDown("Overflow", `a message of the server is larger than the limit "messageBytes" of ${max}`)
    this.group.signal("SIGTERM")
  }

  private suspect(symptom: Symptom): void {
    Deferred.unsafeDone(this.symptom, Effect.succeed(symptom))
  }

  private declareDown(reason: McpError.ConnectionClosed["reason"], detail: string): void {
    const refusal = this.refusal(reason, detail)
    this.writer.stop(refusal)
    this.goDown(refusal)
  }

  private goDown(refusal: Refusal): void {
    if (this.down) return
    this.down = true
    this.lines.stop()
    this.events.closed(refusal("connection", "maybe"))
  }

  private refusal(reason: McpError.ConnectionClosed["reason"], detail: string): Refusal {
    let stderrTail: string | undefined
    return (operation, executed) =>
      new McpError.ConnectionClosed({
        server: this.config.name,
        operation,
        executed,
        reason,
        detail,
        exit: this.exit,
        stderrTail: stderrTail ??= this.ring.tail()
      })
  }

  private dispose(): void {
    const { child } = this
    for (const emitter of [child, ...child.stdio]) {
      emitter?.removeAllListeners()
      emitter?.on("error", () => {})
    }
    for (const stream of child.stdio) stream?.destroy()
    child.unref()
    Deferred.unsafeDone(this.running, Effect.void)
  }
}

const descriptions: { readonly [symptom in Symptom]: string } = {
  Exited: "the server process ended",
  OutputClosed: "the server process closed its output, though it still runs",
  InputClosed: "the server process does not read its input any more"
}

/** Lets the poll phase run once: what the pipe holds by now is read, however busy this process was. */
const turnOfTheLoop: Effect.Effect<void> = Effect.async((resume) => {
  setImmediate(() => resume(Effect.void))
})
