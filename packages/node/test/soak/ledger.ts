/**
 * What became of each call, here and at the server.
 *
 * Owns: one place per call, made once, so that the books do not grow; and the verdict on each.
 * May not touch: calls.
 */
import { McpError } from "@mcp-runtime/core"
import { Cause, Exit, Option } from "effect"

export type Fate = "none" | "ok" | "no" | "maybe" | "yes" | "interrupted" | "strange"

const fates: ReadonlyArray<Fate> = ["none", "ok", "no", "maybe", "yes", "interrupted", "strange"]

/** How often a call with this fate was executed. */
const truth: { readonly [fate in Fate]: (executions: number, mayRepeat: boolean) => boolean } = {
  none: () => false,
  ok: (n, mayRepeat) => n === 1 || (mayRepeat && n > 1),
  no: (n) => n === 0,
  maybe: (n, mayRepeat) => n <= 1 || mayRepeat,
  yes: (n, mayRepeat) => n === 1 || (mayRepeat && n > 1),
  interrupted: (n, mayRepeat) => n <= 1 || mayRepeat,
  strange: () => false
}

/** A call or another request, as the ledger sees it. */
export interface Entry {
  readonly key: number
  readonly mayRepeat: boolean
  /** Whether servers write its executions down. */
  readonly isCall: boolean
}

export class Ledger {
  /** How often each outcome was had. */
  readonly outcomes = new Map<string, number>()
  private readonly settled: Uint8Array
  private readonly fate: Uint8Array
  private readonly strange = new Map<number, string>()

  constructor(capacity: number) {
    this.settled = new Uint8Array(capacity)
    this.fate = new Uint8Array(capacity)
  }

  settle({ isCall, key }: Entry, exit: Exit.Exit<unknown, unknown>): void {
    this.settled[key]!++
    const { fate, outcome } = isCall ? this.fateOfCall(key, exit) : this.fateOfRequest(key, exit)
    this.fate[key] = fates.indexOf(fate)
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
  }

  fateOf(key: number): Fate {
    return fates[this.fate[key]!]!
  }

  count(outcome: string): number {
    return this.outcomes.get(outcome) ?? 0
  }

  /** What is wrong with it, in view of how often it ran; nothing where all is well. */
  judge({ isCall, key, mayRepeat }: Entry, executions: number): string | undefined {
    const settled = this.settled[key]!
    const fate = this.fateOf(key)
    if (settled !== 1) return `it ended ${settled} times, and ran ${executions} times`
    if (fate === "strange") return `it ran ${executions} times and gave ${this.strange.get(key) ?? "nonsense"}`
    if (!isCall || truth[fate](executions, mayRepeat)) return undefined
    return `its outcome is ${outcomeTexts[fate]}, and it ran ${executions} times`
  }

  private fateOfCall(key: number, exit: Exit.Exit<unknown, unknown>): { fate: Fate; outcome: string } {
    if (Exit.isSuccess(exit)) {
      return exit.value === String(key) ? { fate: "ok", outcome: "ok" } : this.note(key, `the answer "${exit.value}"`)
    }
    return this.failure(key, exit.cause)
  }

  private fateOfRequest(key: number, exit: Exit.Exit<unknown, unknown>): { fate: Fate; outcome: string } {
    return Exit.isSuccess(exit) ? { fate: "ok", outcome: "ok (request)" } : this.failure(key, exit.cause)
  }

  private failure(key: number, cause: Cause.Cause<unknown>): { fate: Fate; outcome: string } {
    if (Cause.isInterruptedOnly(cause)) return { fate: "interrupted", outcome: "interrupted" }
    const error = Option.getOrUndefined(Cause.failureOption(cause))
    if (!McpError.isMcpError(error) || Cause.defects(cause).length > 0) return this.note(key, Cause.pretty(cause))
    return { fate: error.executed, outcome: `${error.executed}: ${error._tag}` }
  }

  private note(key: number, what: string): { fate: Fate; outcome: string } {
    if (this.strange.size < 20) this.strange.set(key, what.slice(0, 2000))
    return { fate: "strange", outcome: "strange" }
  }
}

const outcomeTexts: { readonly [fate in Fate]: string } = {
  none: "not known",
  ok: "success",
  no: `an error that says executed: "no"`,
  maybe: `an error that says executed: "maybe"`,
  yes: `an error that says executed: "yes"`,
  interrupted: "interruption",
  strange: "strange"
}
