/**
 * What a worker can be told to do, and what it gives. A worker is a process of its own with one client in it.
 *
 * Owns: the contract between the two ends. May not touch: processes, clients.
 */
import type { Wire } from "../clients/client.js"
import type { Sample } from "../measure.js"
import type { Memory } from "../memory.js"
import type { Profiled } from "../profile.js"

/** What is done again and again with the session that is open. */
export type Work =
  | { readonly kind: "calls"; readonly tool: "echo" | "big"; readonly inFlight: number }
  | { readonly kind: "again"; readonly tools: number }

export interface Orders {
  /** Opens the session that the work is done with. */
  readonly open: { readonly given: { readonly wire: Wire }; readonly gives: null }
  /** Warms up, and gives how often the work fills one turn. */
  readonly calibrate: {
    readonly given: { readonly work: Work; readonly turnMillis: number; readonly warmUpMillis: number }
    readonly gives: number
  }
  readonly turn: { readonly given: { readonly work: Work; readonly count: number }; readonly gives: Sample }
  /** Begins a CPU profile. */
  readonly record: { readonly given: object; readonly gives: null }
  /** Ends it. */
  readonly recorded: { readonly given: { readonly row: string }; readonly gives: Profiled }
  /** Opens a session of its own, lists the tools and closes it. */
  readonly start: {
    readonly given: { readonly wire: Wire; readonly tools: number }
    readonly gives: { readonly open: Sample; readonly list: Sample }
  }
  /** Opens and closes so many sessions, one after the other: what one opening took. */
  readonly connect: { readonly given: { readonly wire: Wire; readonly times: number }; readonly gives: Sample }
  /** Connects many servers, lists the tools of each, and closes. */
  readonly fleet: {
    readonly given: { readonly wires: ReadonlyArray<Wire>; readonly tools: number }
    readonly gives: { readonly open: Sample; readonly close: Sample }
  }
  /** Connects many servers and keeps them. */
  readonly hold: {
    readonly given: { readonly wires: ReadonlyArray<Wire>; readonly tools: number }
    readonly gives: null
  }
  /** Microseconds of CPU that this process needed for doing nothing so long. */
  readonly rest: { readonly given: { readonly millis: number }; readonly gives: number }
  /** Closes all that is open. */
  readonly reset: { readonly given: object; readonly gives: null }
  readonly memory: { readonly given: object; readonly gives: Memory }
}

export type Op = keyof Orders

export type Given<O extends Op> = Orders[O]["given"]

export type Gives<O extends Op> = Orders[O]["gives"]

export interface Asked {
  readonly op: Op
  readonly given: unknown
}

export type Answer = { readonly value: unknown } | { readonly error: string }
