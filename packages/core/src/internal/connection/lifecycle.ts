/**
 * What an operator is told of one connection: a line for each step.
 *
 * Owns: the words, the levels, and that a server which comes and goes does not fill the log.
 * May not touch: the steps.
 *
 * | line        | level                                                        |
 * |-------------|--------------------------------------------------------------|
 * | connecting  | `Debug`, or as the application wishes                        |
 * | ready       | the same                                                     |
 * | lost        | `Warning`; `Info` where the server has forgotten the session |
 * | back        | `Info`                                                       |
 * | given up    | `Warning`; `Debug` where whoever waits is told of it         |
 * | died        | `Error`, once until there is a session                       |
 * | idle        | `Debug`, or as the application wishes                        |
 * | closed      | the same                                                     |
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as LogLevel from "effect/LogLevel"
import type * as McpError from "../../McpError.js"
import type { Supervised } from "../engine/supervised.js"
import * as Secrets from "../secrets.js"
import * as Lines from "../telemetry/lines.js"

/** So many lines at once; then one for each of these times. */
const burst = 12

/** A message and a stack. */
const mostOfDeath = 4096
const refill = 10_000

export class Lifecycle {
  private lines = burst
  private filledAt: number
  private leftOut = 0
  private isDeathTold = false

  constructor(
    private readonly server: string,
    private readonly expected: LogLevel.LogLevel,
    private readonly now: () => number
  ) {
    this.filledAt = now()
  }

  connecting(attempt: number): Effect.Effect<void> {
    return this.line(this.expected, "connecting", () => attempt === 1 ? "connecting" : `connecting, try ${attempt}`)
  }

  ready({ generation, info, secrets }: Supervised, millis: number, isBack: boolean): Effect.Effect<void> {
    this.isDeathTold = false
    const what = () => {
      const { name, version } = info.implementation
      // One line, whatever a server calls itself.
      const server = Secrets.shown(`${name} ${version}`, secrets(), 128).replaceAll(/\s+/g, " ")
      return `session ${generation} over ${info.transport} with ${server}, protocol ${info.protocolVersion}`
    }
    return isBack
      ? this.line(LogLevel.Info, "back", () => `back after ${millis} ms: ${what()}`)
      : this.line(this.expected, "ready", () => `ready after ${millis} ms: ${what()}`)
  }

  lost(error: McpError.McpError): Effect.Effect<void> {
    const level = error._tag === "SessionExpired" ? LogLevel.Info : LogLevel.Warning
    return this.line(level, "lost", () => `the session is lost: ${error.message}`)
  }

  /** Who waits for a first connection gets the error; the end of the tries to reconnect may have nobody to tell. */
  givenUp(error: McpError.McpError, mayBeUntold: boolean): Effect.Effect<void> {
    const level = mayBeUntold ? LogLevel.Warning : LogLevel.Debug
    return this.line(level, "given up", () => `there is no connection: ${error.message}`)
  }

  /** A try has met a defect: ours, or of what the application has given to us. */
  died(cause: Cause.Cause<unknown>, secrets: () => ReadonlyArray<string>): Effect.Effect<void> {
    if (this.isDeathTold) return Effect.void
    this.isDeathTold = true
    // As a text, since a defect may have the configuration in its message and its fields.
    const what = () =>
      `the opening of a session has died: ${Secrets.shown(Cause.pretty(cause), secrets(), mostOfDeath)}`
    return this.line(LogLevel.Error, "died", what)
  }

  get idle(): Effect.Effect<void> {
    return this.line(this.expected, "idle", () => "nobody uses it: closed until its next use")
  }

  get closed(): Effect.Effect<void> {
    return this.line(this.expected, "closed", () => "closed by the application")
  }

  /** What the application does not show costs nothing, and takes nothing from what it shows. */
  private line(level: LogLevel.LogLevel, step: string, text: () => string): Effect.Effect<void> {
    return Effect.withFiberRuntime((fiber) => {
      const isShown = level !== LogLevel.None &&
        !LogLevel.greaterThan(fiber.getFiberRef(FiberRef.currentMinimumLogLevel), level)
      if (!isShown) return Effect.void
      const leftOut = this.take()
      if (leftOut === undefined) return Effect.void
      return Effect.logWithLevel(level, leftOut === 0 ? text() : `${text()} (${leftOut} lines before it were left out)`)
        .pipe(
          Lines.about(this.server, "connection", { "mcp.step": step }),
          // A logger that dies must not take the owner with it.
          Effect.catchAllDefect(() => Effect.void)
        )
    })
  }

  /** How many lines were left out before this one; nothing where this one is, too. */
  private take(): number | undefined {
    const now = this.now()
    const gained = Math.floor((now - this.filledAt) / refill)
    if (gained > 0 || now < this.filledAt) {
      this.lines = Math.min(burst, this.lines + Math.max(0, gained))
      this.filledAt = gained > 0 ? this.filledAt + gained * refill : now
    }
    if (this.lines === 0) {
      this.leftOut++
      return undefined
    }
    this.lines--
    const { leftOut } = this
    this.leftOut = 0
    return leftOut
  }
}
