/**
 * What became of each call, here and at the server.
 *
 * Owns: one place per call, made once, so that the books do not grow. May not touch: calls.
 */
import type { McpError } from "@mcp-runtime/core"
import { Cause, Exit, Option } from "effect"
import { readFileSync } from "node:fs"

export type Fate = "ok" | "unknown" | "not executed" | "interrupted" | "other"

const fates: ReadonlyArray<Fate> = ["ok", "unknown", "not executed", "interrupted", "other"]

/** How often a call with this fate was executed. */
const truth: { readonly [fate in Fate]: (executions: number, mayRepeat: boolean) => boolean } = {
  ok: (n, mayRepeat) => n === 1 || (mayRepeat && n > 1),
  unknown: (n) => n <= 1,
  "not executed": (n) => n === 0,
  interrupted: (n, mayRepeat) => n <= 1 || mayRepeat,
  other: () => false
}

const shown = 5

export class Ledger {
  private readonly settled: Uint8Array
  private readonly fate: Uint8Array
  private readonly repeatable: Uint8Array
  private readonly strange: Array<string> = []

  constructor(private readonly calls: number) {
    this.settled = new Uint8Array(calls)
    this.fate = new Uint8Array(calls)
    this.repeatable = new Uint8Array(calls)
  }

  settle(key: number, exit: Exit.Exit<string, McpError.McpError>, mayRepeat: boolean): void {
    this.settled[key]!++
    this.fate[key] = fates.indexOf(this.fateOf(key, exit, mayRepeat))
    this.repeatable[key] = mayRepeat ? 1 : 0
  }

  count(fate: Fate): number {
    const wanted = fates.indexOf(fate)
    let count = 0
    for (let key = 0; key < this.calls; key++) if (this.settled[key] !== 0 && this.fate[key] === wanted) count++
    return count
  }

  /** What is wrong, in view of what the servers have written down. */
  audit(files: ReadonlyArray<string>): ReadonlyArray<string> {
    const executions = new Uint16Array(this.calls)
    for (const file of files) {
      const bytes = readFileSync(file)
      for (let at = 0; at + 4 <= bytes.length; at += 4) executions[bytes.readUInt32LE(at)]!++
    }
    const found = [...this.strange]
    let wrong = 0
    for (let key = 0; key < this.calls; key++) {
      const fate = fates[this.fate[key]!]!
      if (this.settled[key] === 1 && truth[fate](executions[key]!, this.repeatable[key] === 1)) continue
      if (++wrong > shown) continue
      found.push(`call ${key} (${fate}) settled ${this.settled[key]} times and ran ${executions[key]} times`)
    }
    if (wrong > shown) found.push(`so did ${wrong - shown} more`)
    return found
  }

  private fateOf(key: number, exit: Exit.Exit<string, McpError.McpError>, mayRepeat: boolean): Fate {
    if (Exit.isSuccess(exit)) return exit.value === String(key) ? "ok" : this.note(key, `got "${exit.value}"`)
    if (Cause.isInterruptedOnly(exit.cause)) return "interrupted"
    const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
    if (error?.executed === "no") return "not executed"
    if (error?._tag === "OutcomeUnknown") return "unknown"
    // One that may run twice says what happened the last time.
    if (error?.executed === "maybe" && mayRepeat) return "interrupted"
    return this.note(key, Cause.pretty(exit.cause))
  }

  private note(key: number, what: string): Fate {
    if (this.strange.length < shown) this.strange.push(`call ${key}: ${what}`)
    return "other"
  }
}
