/**
 * What a caller may say about one request, in the engine's terms: milliseconds, checked before anything is sent.
 */
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import type { Beginning } from "./begun.js"
import type { Call } from "./engine.js"

interface Wishes {
  readonly timeout?: Duration.DurationInput | null | undefined
  readonly maxTotal?: Duration.DurationInput | null | undefined
}

/** Beside what a caller may say: what an operation says whose request only begins something on the server. */
export interface Begins {
  readonly begins?: {
    /** Until when there may be progress of it. */
    readonly life: Scope.Scope
    readonly onLate: Beginning["onLate"]
  } | undefined
}

/** Beside what a caller may say: what a connection says, which may have waited before it has a session. */
export interface Waited {
  readonly waited?: {
    /** When this attempt began, in milliseconds. */
    readonly idleFrom: number
    /** When the call began, in milliseconds. */
    readonly totalFrom: number
  } | undefined
  readonly ungated?: boolean | undefined
  readonly unattended?: boolean | undefined
  /** Told the id of the request, where somebody writes it down. Total. */
  readonly named?: ((id: number) => void) | undefined
}

/** Whether they say nothing that a call of its own would be made for: only what it is sent with, or who is told its id. */
const isUsual = (options: Wishes & Waited & Begins & { readonly onProgress?: unknown }): boolean =>
  options.timeout === undefined && options.maxTotal === undefined && options.onProgress === undefined &&
  options.waited === undefined && options.ungated === undefined && options.unattended === undefined &&
  options.begins === undefined

/** The calls of one session: both defaults are made once, so that a call without options allocates nothing for them. */
export class Calls {
  private readonly plain: Call
  private readonly withProgress: Call

  constructor(
    private readonly server: string,
    timeouts: McpConfig.Timeouts
  ) {
    const idle = millisOf(timeouts.request)
    const total = millisOf(timeouts.total)
    this.plain = { idle, total, progress: false, onProgress: undefined, beginning: undefined }
    this.withProgress = { idle, total, progress: true, onProgress: undefined, beginning: undefined }
  }

  /** The usual call, where these options ask for no other. */
  usual(options: Parameters<typeof isUsual>[0] | undefined, progress: boolean): Call | undefined {
    if (options !== undefined && !isUsual(options)) return undefined
    return progress ? this.withProgress : this.plain
  }

  make(
    method: string,
    wishes: Wishes & Waited,
    progress: boolean,
    onProgress: Call["onProgress"],
    beginning: Beginning | undefined
  ): Either.Either<Call, McpError.ConfigInvalid> {
    const idle = wishes.timeout === undefined ? this.plain.idle : parse(wishes.timeout)
    const total = wishes.maxTotal === undefined ? this.plain.total : parse(wishes.maxTotal)
    if (idle === undefined || total === undefined) {
      const field = idle === undefined ? "timeout" : "maxTotal"
      return Either.left(
        new McpError.ConfigInvalid({
          server: this.server,
          operation: method,
          executed: "no",
          problems: [{ field, problem: "must be a positive duration, or null for none" }]
        })
      )
    }
    return Either.right({
      idle,
      total,
      progress: progress || onProgress !== undefined,
      onProgress,
      beginning,
      idleFrom: wishes.waited?.idleFrom,
      totalFrom: wishes.waited?.totalFrom,
      ungated: wishes.ungated,
      unattended: wishes.unattended
    })
  }
}

const millisOf = (duration: Duration.Duration | null): number =>
  duration === null ? Number.POSITIVE_INFINITY : Duration.toMillis(duration)

/** A time that could never come true is refused rather than taken for another. */
const parse = (input: Duration.DurationInput | null): number | undefined => {
  if (input === null) return Number.POSITIVE_INFINITY
  const duration = Duration.decodeUnknown(input)
  if (duration._tag === "None") return undefined
  const millis = Duration.toMillis(duration.value)
  return millis > 0 ? millis : undefined
}
