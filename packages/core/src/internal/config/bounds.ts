/**
 * The bounds and deadlines that a configuration may set.
 *
 * Owns: their schemas and defaults.
 * May not touch: what happens when one is reached.
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

/**
 * The bounds that hold for one session. Each has a default; `LimitExceeded` names the one that was reached.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  /** The largest single message, in bytes. */
  readonly messageBytes: number
  /** The largest single event of an event stream, in bytes. */
  readonly eventBytes: number
  /** How much of stderr is kept, in bytes. */
  readonly stderrTailBytes: number
  /** How many bytes may wait to be written to a process. */
  readonly sendBufferBytes: number
  /** How many requests may be under way at once. */
  readonly inFlight: number
  /**
   * How many requests of the server may be under way at once. Together they are no larger than one message may be
   * (`messageBytes`), but that one is always taken.
   */
  readonly serverRequests: number
  /**
   * How many notifications wait for a slow reader before the oldest is dropped. Together they are no larger than one message may
   * be (`messageBytes`), but that the newest is always kept.
   */
  readonly notifications: number
  /** How many pages one listing may have. */
  readonly pages: number
  /** How many items one listing may have. */
  readonly items: number
  /** How long all pages of one listing together may be: characters of their JSON text, escapes and spaces not counted. */
  readonly listBytes: number
  /** How deeply a schema of a tool may be nested. A tool beyond it is dropped, the others are kept. */
  readonly schemaDepth: number
}

/**
 * The limits of a server whose configuration has none.
 *
 * @since 0.1.0
 * @category defaults
 */
export const defaultLimits: Limits = {
  messageBytes: 64 * 1024 * 1024,
  eventBytes: 64 * 1024 * 1024,
  stderrTailBytes: 16 * 1024,
  sendBufferBytes: 64 * 1024 * 1024,
  inFlight: 4096,
  serverRequests: 64,
  notifications: 1024,
  pages: 1000,
  items: 100_000,
  listBytes: 64 * 1024 * 1024,
  schemaDepth: 100
}

/**
 * The deadlines of one session. `null` means none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Timeouts {
  /** The whole of `open`: starting, `initialize`, `notifications/initialized`, the standalone stream. */
  readonly handshake: Duration.Duration | null
  /** A request without an answer or progress. */
  readonly request: Duration.Duration | null
  /** A request as a whole, progress or not. */
  readonly total: Duration.Duration | null
  /** How long the end of a session may take over HTTP (its DELETE). */
  readonly close: Duration.Duration
  /** How long a handler may take to answer a request of the server. A person may be behind it. */
  readonly handler: Duration.Duration | null
}

/**
 * The deadlines of a server whose configuration has none. `null`: none.
 *
 * @since 0.1.0
 * @category defaults
 */
export const defaultTimeouts: Timeouts = {
  handshake: Duration.seconds(30),
  request: Duration.seconds(60),
  total: null,
  close: Duration.seconds(2),
  handler: Duration.minutes(10)
}

export const positiveInt = Schema.Number.pipe(
  Schema.int({ message: () => "must be a whole number" }),
  Schema.positive({ message: () => "must be greater than zero" })
)

/** A duration that can end: positive and finite. */
export const PositiveDuration: Schema.Schema<Duration.Duration, Duration.DurationInput> = Schema.declare(
  (u: unknown): u is Duration.DurationInput => Duration.isDuration(u) || isDurationInput(u),
  { message: () => `must be a duration such as "5 seconds"` }
).pipe(
  Schema.transform(
    Schema.DurationFromSelf.pipe(
      Schema.filter((_) => Duration.isFinite(_) && Duration.toMillis(_) > 0, {
        message: () => "must be positive and finite"
      })
    ),
    { decode: (input) => Duration.decode(input as Duration.DurationInput), encode: (duration) => duration }
  )
) as Schema.Schema<Duration.Duration, Duration.DurationInput>

const isDurationInput = (u: unknown): u is Duration.DurationInput => {
  if (typeof u === "number") return !Number.isNaN(u)
  if (Array.isArray(u) && u.some(Number.isNaN)) return false
  return Duration.decodeUnknown(u)._tag === "Some"
}

export const optionalDuration = Schema.optional(PositiveDuration)
const optionalDurationOrNull = Schema.optional(Schema.NullOr(PositiveDuration))

export const TimeoutsInput = Schema.Struct({
  handshake: optionalDurationOrNull,
  request: optionalDurationOrNull,
  total: optionalDurationOrNull,
  close: optionalDuration,
  handler: optionalDurationOrNull
})

export const LimitsInput = Schema.Struct({
  messageBytes: Schema.optional(positiveInt),
  eventBytes: Schema.optional(positiveInt),
  stderrTailBytes: Schema.optional(
    positiveInt.pipe(
      Schema.lessThanOrEqualTo(16 * 1024 * 1024, { message: () => "must be at most 16777216 (16 MiB)" })
    )
  ),
  sendBufferBytes: Schema.optional(positiveInt),
  inFlight: Schema.optional(positiveInt),
  serverRequests: Schema.optional(positiveInt),
  notifications: Schema.optional(positiveInt),
  pages: Schema.optional(positiveInt),
  items: Schema.optional(positiveInt),
  listBytes: Schema.optional(positiveInt),
  // What is nested more deeply than `McpProtocol.maxDepth` is not let in at all.
  schemaDepth: Schema.optional(
    positiveInt.pipe(Schema.lessThanOrEqualTo(200, { message: () => "must be at most 200" }))
  )
})
