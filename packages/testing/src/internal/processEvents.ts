/**
 * What this process says about itself: listeners that were added, and rejections, exceptions and warnings.
 *
 * Owns: recorders on `process`, for as long as a watch lasts.
 * May not touch: the listeners of others. What others do about a rejection or an exception, they still do.
 */
import * as Util from "node:util"

export interface ProcessEvent {
  readonly kind: "rejection" | "exception" | "warning"
  readonly detail: string
}

export class ProcessEventWatch {
  readonly recorded: Array<ProcessEvent> = []
  private readonly before: ReadonlyMap<string | symbol, number>

  constructor() {
    process.on("unhandledRejection", this.onRejection)
    process.on("uncaughtExceptionMonitor", this.onException)
    process.on("warning", this.onWarning)
    this.before = countListeners()
  }

  stop(): void {
    process.off("unhandledRejection", this.onRejection)
    process.off("uncaughtExceptionMonitor", this.onException)
    process.off("warning", this.onWarning)
  }

  /** One line per event that has more listeners than before. */
  added(): ReadonlyArray<string> {
    const added: Array<string> = []
    for (const [event, count] of countListeners()) {
      const more = count - (this.before.get(event) ?? 0)
      if (more > 0) added.push(`process has ${more} more listener${more === 1 ? "" : "s"} for "${String(event)}"`)
    }
    return added
  }

  private readonly onRejection = (reason: unknown): void => {
    this.recorded.push({ kind: "rejection", detail: `unhandled rejection: ${show(reason)}` })
  }

  private readonly onException = (error: unknown, origin: string): void => {
    if (origin === "uncaughtException") {
      this.recorded.push({ kind: "exception", detail: `uncaught exception: ${show(error)}` })
    }
  }

  private readonly onWarning = (warning: Error): void => {
    if (warning.name !== "ExperimentalWarning") {
      this.recorded.push({ kind: "warning", detail: `warning: ${warning.name}: ${warning.message}` })
    }
  }
}

const countListeners = (): ReadonlyMap<string | symbol, number> =>
  new Map(process.eventNames().map((event) => [event, process.listenerCount(event as never)]))

const show = (value: unknown): string =>
  value instanceof Error ? value.stack ?? String(value.message) : Util.inspect(value, { depth: 2, breakLength: 120 })
