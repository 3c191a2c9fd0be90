/**
 * A request, from the call of its sender to its end, and whom the engine tells of what is none.
 *
 * Owns: the words that the engine and its neighbours have in common. No behaviour.
 */
import type * as Effect from "effect/Effect"
import type * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type * as McpTransport from "../../McpTransport.js"
import type { Instrument } from "../telemetry/meter.js"
import type { Beginning } from "./begun.js"

/** Turns a result into a value, or says what is wrong with it. Synchronous and total. */
export interface Decoder<A> {
  (result: unknown): { readonly value: A } | { readonly problem: string }
  /** The list in the result that takes a `TooDeep` for an item. */
  readonly itemsOf?: string
}

export type Resume = (effect: Effect.Effect<unknown, McpError.McpError>) => void

/**
 * A request that waits for its answer, or first for its turn. A class: objects of a literal are made among those that live long
 * if its first ones did, and these are held by garbage of Effect's.
 */
export class Pending {
  readonly ungated: boolean
  readonly attended: boolean
  readonly idle: number
  readonly total: number
  readonly totalAt: number
  idleAt: number
  readonly onProgress: ((progress: McpProtocol.Progress) => void) | undefined
  readonly beginning: Beginning | undefined
  isSent = false
  /** From when it is sent: what counts it, if it is counted, and since when. */
  instrument: Instrument | undefined = undefined
  sentAt = 0

  constructor(
    readonly id: number,
    readonly method: string,
    /** Until it is sent. */
    public params: McpProtocol.JsonObject | undefined,
    public decode: Decoder<unknown>,
    public resume: Resume,
    call: Call,
    now: number
  ) {
    this.ungated = call.ungated === true
    this.attended = call.ungated !== true && call.unattended !== true
    this.idle = call.idle
    this.total = call.total
    this.idleAt = (call.idleFrom ?? now) + call.idle
    this.totalAt = (call.totalFrom ?? now) + call.total
    this.onProgress = call.onProgress
    this.beginning = call.beginning
  }
}

/** How one request is sent. Times in milliseconds, `Infinity` for none. */
export interface Call {
  readonly idle: number
  readonly total: number
  /** Ask the server for progress, which renews the idle deadline. */
  readonly progress: boolean
  readonly onProgress: ((progress: McpProtocol.Progress) => void) | undefined
  /** Where the answer only begins something. */
  readonly beginning?: Beginning | undefined
  /** From when on `idle` counts, where the caller has waited before. */
  readonly idleFrom?: number | undefined
  /** From when on `total` counts, where the caller has waited before. */
  readonly totalFrom?: number | undefined
  /** Takes no turn: it is not work. */
  readonly ungated?: boolean | undefined
  /** Nobody of the application's waits for it: it does not count as use. */
  readonly unattended?: boolean | undefined
}

/** Where the engine hands on what is not an answer. All total and synchronous. */
export interface EngineEvents {
  readonly notification: (notification: McpProtocol.Notification) => void
  readonly request: (id: McpProtocol.RequestId, method: string, params: McpProtocol.JsonObject) => void
  readonly cancelled: (id: McpProtocol.RequestId) => void
  readonly closed: (error: McpError.McpError) => void
  /** A request is settled that somebody of the application's has waited for. */
  readonly used: () => void
  /** The last request under way is settled. */
  readonly quiet: () => void
  readonly warning: (kind: McpTransport.WarningKind, detail: string) => void
}
