/**
 * What was skipped during a session: counted by kind, and logged at a falling rate (the 1st, 10th, 100th, ...), so that a
 * flood of nonsense does not become a flood of lines.
 */
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as McpError from "../../McpError.js"
import type * as McpTransport from "../../McpTransport.js"
import * as Lines from "../telemetry/lines.js"
import type { SessionMeter } from "../telemetry/meter.js"

const ourOwnFault: ReadonlySet<McpTransport.WarningKind> = new Set([
  "HandlerFailed",
  "DroppedNotification",
  "CloseFailed"
])

export class Warnings {
  private readonly counts: { [kind in McpTransport.WarningKind]?: number } = {}

  constructor(
    private readonly server: string,
    private readonly runtime: Runtime.Runtime<never>,
    private readonly meter: SessionMeter | undefined
  ) {}

  get snapshot(): { readonly [kind in McpTransport.WarningKind]?: number } {
    return { ...this.counts }
  }

  readonly add = (kind: McpTransport.WarningKind, detail: string): void => {
    const count = (this.counts[kind] ?? 0) + 1
    this.counts[kind] = count
    this.meter?.skipped(kind)
    if (!isPowerOfTen(count)) return
    const log = ourOwnFault.has(kind) ? Effect.logWarning : Effect.logDebug
    Runtime.runFork(this.runtime)(
      log(`MCP server "${McpError.displayName(this.server)}": ${McpError.displayText(detail, 512)}`).pipe(
        Lines.about(this.server, "session", { warning: kind, count })
      )
    )
  }
}

const isPowerOfTen = (n: number): boolean => Number.isInteger(Math.log10(n))
