/**
 * What an application says about one server: which wire, where, with which limits and deadlines.
 *
 * Owns: the schemas of a server's configuration and their decoding, with one diagnostic per field.
 * May not touch: files, the environment, connections. (Files, expansion and merging of sources join here later.)
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { problemsOf } from "./internal/config/problems.js"
import * as McpError from "./McpError.js"

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
  /** How many requests of the server may be under way at once. */
  readonly serverRequests: number
  /** How many notifications wait for a slow reader before the oldest is dropped. */
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

const positiveInt = Schema.Number.pipe(
  Schema.int({ message: () => "must be a whole number" }),
  Schema.positive({ message: () => "must be greater than zero" })
)

/**
 * A duration that can end: positive and finite.
 *
 * @since 0.1.0
 * @category schemas
 */
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

const optionalDuration = Schema.optional(PositiveDuration)
const optionalDurationOrNull = Schema.optional(Schema.NullOr(PositiveDuration))

const TimeoutsInput = Schema.Struct({
  handshake: optionalDurationOrNull,
  request: optionalDurationOrNull,
  total: optionalDurationOrNull,
  close: optionalDuration,
  handler: optionalDurationOrNull
})

const LimitsInput = Schema.Struct({
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

/**
 * The log levels of the protocol.
 *
 * @since 0.1.0
 * @category schemas
 */
export const LogLevel = Schema.Literal(
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency"
)

/**
 * A value that may be a secret. Plain texts are accepted and wrapped; what is shown is always `<redacted>`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Secret: Schema.Schema<Redacted.Redacted<string>, string | Redacted.Redacted<string>> = Schema.declare(
  (u: unknown): u is string | Redacted.Redacted<string> =>
    typeof u === "string" || (Redacted.isRedacted(u) && typeof Redacted.value(u) === "string"),
  { message: () => "must be a text or a Redacted text" }
).pipe(
  Schema.transform(
    Schema.declare((u: unknown): u is Redacted.Redacted<string> => Redacted.isRedacted(u)),
    {
      decode: (value) => (typeof value === "string" ? Redacted.make(value) : value),
      encode: (value) => value
    }
  )
)

/**
 * How many requests may be under way at once. `"serial"`: one after the other.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Concurrency: Schema.Schema<Concurrency> = Schema.Union(
  Schema.Literal("serial", "unbounded"),
  positiveInt
)

/**
 * @since 0.1.0
 * @category models
 */
export type Concurrency = "serial" | "unbounded" | number

/**
 * When there is a session: from the start, from the first use on, or only while there is use and this long after it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Lifetime = Schema.Union(
  Schema.Literal("eager", "lazy"),
  Schema.Struct({ idle: PositiveDuration })
)

/**
 * @since 0.1.0
 * @category models
 */
export type Lifetime = typeof Lifetime.Type

/**
 * Asks a server that has been silent for `every` whether it is still there; without an answer within `timeout` (5 seconds)
 * the connection is not ready, and after a second silence it is made anew.
 *
 * @since 0.1.0
 * @category schemas
 */
export const KeepAlive = Schema.Struct({ every: PositiveDuration, timeout: optionalDuration })

const common = {
  name: Schema.String.pipe(
    Schema.minLength(1, { message: () => "must not be empty" }),
    Schema.maxLength(256, { message: () => "must be at most 256 characters" }),
    // eslint-disable-next-line no-control-regex
    Schema.filter((_) => !/[\u0000-\u001f\u007f-\u009f]/.test(_), {
      message: () => "must not contain control characters"
    })
  ),
  timeouts: Schema.optional(TimeoutsInput),
  limits: Schema.optional(LimitsInput),
  logLevel: Schema.optional(LogLevel),
  /** A disabled server keeps its name; nothing connects to it. */
  enabled: Schema.optional(Schema.Boolean),
  concurrency: Schema.optional(Concurrency),
  lifetime: Schema.optional(Lifetime),
  /** Whether to believe the server's annotations, for example that a tool only reads and may be called again. */
  trusted: Schema.optional(Schema.Boolean),
  /** URIs of resources that a manager subscribes to when it has connected the server, where the server offers it. */
  subscriptions: Schema.optional(Schema.Array(Schema.String)),
  keepAlive: Schema.optional(KeepAlive)
}

const noNul = Schema.String.pipe(
  Schema.filter((_) => !_.includes("\0"), { message: () => "must not contain a NUL character" })
)

/** `__proto__` is no key of a record: as one it would be lost. */
const recordKey = Schema.String.pipe(Schema.filter((_) => _ !== "__proto__"))

const Env = Schema.Record({ key: recordKey, value: Secret }).pipe(
  Schema.filter((env) =>
    Object.entries(env).flatMap(([name, value]) => {
      const message = envProblem(name, Redacted.value(value))
      return message === undefined ? [] : [{ path: [name], message }]
    })
  )
)

const envProblem = (name: string, value: string): string | undefined =>
  name === "" || /[=\0]/.test(name)
    ? `is not the name of a variable: it must not be empty, nor contain "=" or a NUL character`
    : value.includes("\0")
    ? "must not contain a NUL character"
    : undefined

const command = noNul.pipe(Schema.filter((_) => _.trim() !== "", { message: () => "must not be empty" }))

/**
 * How a server process is ended: its input is closed, then SIGTERM and SIGKILL go to its whole process group, each after
 * waiting this long for the step before it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Shutdown = Schema.Struct({
  afterEof: optionalDuration,
  afterTerm: optionalDuration,
  afterKill: optionalDuration
})

/**
 * A server that runs as a local process and speaks over its standard input and output.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StdioConfig = Schema.Struct({
  ...common,
  transport: Schema.Literal("stdio"),
  command,
  args: Schema.optional(Schema.Array(noNul)),
  /** Added to the environment of the process; a value wins over an inherited one. */
  env: Schema.optional(Env),
  /** Names of variables handed on from our own environment, beside the minimal set. `"all"` hands on everything. */
  inheritEnv: Schema.optional(Schema.Union(Schema.Literal("all"), Schema.Array(Schema.String))),
  cwd: Schema.optional(noNul),
  shutdown: Schema.optional(Shutdown)
})

const isHttpUrl = (text: string): boolean => {
  try {
    const url = new URL(text)
    return (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== ""
  } catch {
    return false
  }
}

const mustBeHttpUrl = { message: () => "must be an http:// or https:// URL" }

const httpUrl = Schema.String.pipe(Schema.filter(isHttpUrl, mustBeHttpUrl))

const secretHttpUrl = Secret.pipe(Schema.filter((_) => isHttpUrl(Redacted.value(_)), mustBeHttpUrl))

const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// eslint-disable-next-line no-control-regex
const badHeaderValue = /[^\t\u0020-\u007e\u0080-\u00ff]/

/** Names that the transport sets itself: a value of the application's would break the session. */
const reservedHeaders: ReadonlySet<string> = new Set([
  "mcp-session-id",
  "mcp-protocol-version",
  "last-event-id",
  "content-type",
  "content-length",
  "accept",
  "host",
  "connection",
  "transfer-encoding",
  "upgrade",
  "keep-alive",
  "expect",
  "te",
  "trailer",
  "proxy-connection"
])

/**
 * Why a header can't be sent, or `undefined` when it can. The value is never part of the answer.
 *
 * @since 0.1.0
 * @category validation
 */
export const headerProblem = (name: string, value: string): string | undefined =>
  !headerName.test(name)
    ? `"${McpError.displayText(name, 64)}" is not a header name`
    : reservedHeaders.has(name.toLowerCase())
    ? `"${name}" is set by the transport and can't be configured`
    : badHeaderValue.test(value)
    ? `the value of "${name}" has a character that headers can't carry`
    : undefined

const Headers = Schema.Record({ key: recordKey, value: Secret }).pipe(
  Schema.filter((headers) => {
    const seen = new Set<string>()
    return Object.entries(headers).flatMap(([name, value]) => {
      const twice = seen.has(name.toLowerCase()) ? `"${name}" is given twice, in different spelling` : undefined
      seen.add(name.toLowerCase())
      const message = headerProblem(name, Redacted.value(value)) ?? twice
      return message === undefined ? [] : [{ path: [name], message }]
    })
  })
)

/**
 * How the identity of the server is checked, and ours is shown. Texts in PEM.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Tls = Schema.Struct({
  ca: Schema.optional(Schema.Union(Schema.String, Schema.Array(Schema.String))),
  cert: Schema.optional(Schema.String),
  key: Schema.optional(Secret),
  passphrase: Schema.optional(Secret),
  /** `false` turns the check of the server's certificate off. Only for a server on your own machine. */
  verify: Schema.optional(Schema.Boolean)
})

/**
 * An Effect that gives headers for one request, for example a token that changes. Its failure fails the request, which is
 * then not sent.
 *
 * @since 0.1.0
 * @category models
 */
export type RequestHeaders = Effect.Effect<
  { readonly [name: string]: string | Redacted.Redacted<string> },
  unknown
>

/** The Effect in a shape that shows nothing: an Effect that has succeeded already would be printed with its value. */
const hidden = (headers: RequestHeaders): RequestHeaders => {
  const known = hiddenHeaders.get(headers)
  if (known !== undefined) return known
  const suspended = Effect.suspend(() => headers)
  hiddenHeaders.set(headers, suspended).set(suspended, suspended)
  return suspended
}

/** The same configuration decoded twice has the same Effect. */
const hiddenHeaders = new WeakMap<RequestHeaders, RequestHeaders>()

const isRequestHeaders = (u: unknown): u is RequestHeaders => Effect.isEffect(u)

const http = {
  ...common,
  url: httpUrl,
  headers: Schema.optional(Headers),
  requestHeaders: Schema.optional(
    Schema.declare(isRequestHeaders, { message: () => "must be an Effect that gives headers" }).pipe(
      Schema.transform(Schema.declare(isRequestHeaders), { decode: hidden, encode: (headers) => headers })
    )
  ),
  tls: Schema.optional(Tls),
  /** `http://host:port` of a proxy. Credentials in it are used and never shown. */
  proxy: Schema.optional(secretHttpUrl),
  /** How many sockets the channel may hold for requests. Streams have their own. */
  maxConnections: Schema.optional(positiveInt),
  /** Where a tool call is sent again: in the shared session, or first in a fresh one of its own. */
  recovery: Schema.optional(Schema.Literal("shared", "isolated"))
}

/**
 * A remote server over Streamable HTTP.
 *
 * @since 0.1.0
 * @category schemas
 */
export const HttpConfig = Schema.Struct({ ...http, transport: Schema.Literal("http") })

/**
 * A remote server over the HTTP+SSE transport of protocol revision 2024-11-05.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SseConfig = Schema.Struct({ ...http, transport: Schema.Literal("sse") })

/**
 * A remote server whose transport is not known: Streamable HTTP first, and HTTP+SSE where that answers 400, 404 or 405.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AutoConfig = Schema.Struct({ ...http, transport: Schema.Literal("auto") })

/**
 * The transport that an in-process server is connected to. Every `Transport` of the MCP SDK's shape will do, so an
 * `McpServer` or `Server` of the SDK accepts it as it is.
 *
 * @since 0.1.0
 * @category models
 */
export interface InProcessTransport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: never) => void) | undefined
  sessionId?: string | undefined
  start(): Promise<void>
  send(message: unknown): Promise<void>
  close(): Promise<void>
}

/**
 * A server in this process: whatever can be connected to a transport.
 *
 * @since 0.1.0
 * @category models
 */
export interface InProcessServer {
  connect(transport: never): Promise<void>
  close?(): Promise<void>
}

/**
 * A server in this process. `server` is called once per session, because a server of the SDK serves one session.
 *
 * @since 0.1.0
 * @category schemas
 */
export const InMemoryConfig = Schema.Struct({
  ...common,
  transport: Schema.Literal("inMemory"),
  server: Schema.declare((u: unknown): u is () => InProcessServer => typeof u === "function", {
    message: () => "must be a function that gives a new server"
  })
})

/**
 * One server, discriminated by `transport`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ServerConfig = Schema.Union(StdioConfig, HttpConfig, SseConfig, AutoConfig, InMemoryConfig)

/**
 * @since 0.1.0
 * @category models
 */
export type StdioConfig = typeof StdioConfig.Type
/**
 * @since 0.1.0
 * @category models
 */
export type HttpConfig = typeof HttpConfig.Type
/**
 * @since 0.1.0
 * @category models
 */
export type SseConfig = typeof SseConfig.Type
/**
 * @since 0.1.0
 * @category models
 */
export type AutoConfig = typeof AutoConfig.Type
/**
 * @since 0.1.0
 * @category models
 */
export type InMemoryConfig = typeof InMemoryConfig.Type
/**
 * A decoded configuration.
 *
 * @since 0.1.0
 * @category models
 */
export type ServerConfig = typeof ServerConfig.Type
/**
 * What an application writes: plain texts for secrets, `"5 seconds"` for durations.
 *
 * @since 0.1.0
 * @category models
 */
export type ServerConfigInput = typeof ServerConfig.Encoded
/**
 * The configurations that speak HTTP.
 *
 * @since 0.1.0
 * @category models
 */
export type AnyHttpConfig = HttpConfig | SseConfig | AutoConfig

const schemas = {
  stdio: StdioConfig,
  http: HttpConfig,
  sse: SseConfig,
  auto: AutoConfig,
  inMemory: InMemoryConfig
} as const

const invalid = (server: string, problems: ReadonlyArray<McpError.ConfigProblem>) =>
  new McpError.ConfigInvalid({ server, operation: "configure", executed: "no", problems: [...problems] })

/**
 * Decodes one server's configuration. Fails with one problem per field; no value is part of a message, so that a secret in
 * the wrong place does not show up in a log.
 *
 * @example
 * ```ts
 * import { McpConfig } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const program = McpConfig.decode({
 *   name: "files",
 *   transport: "stdio",
 *   command: "npx",
 *   args: ["-y", "@modelcontextprotocol/server-filesystem", "."],
 *   timeouts: { handshake: "10 seconds" }
 * })
 *
 * Effect.runSync(program).name // "files"
 * ```
 *
 * @since 0.1.0
 * @category decoding
 */
export const decode = (input: ServerConfigInput): Effect.Effect<ServerConfig, McpError.ConfigInvalid> =>
  decodeUnknown(input)

/**
 * The same as `decode` for a value whose type is not known.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeUnknown = (input: unknown): Effect.Effect<ServerConfig, McpError.ConfigInvalid> => {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return Effect.fail(invalid("<unnamed>", [{ field: "(root)", problem: "must be an object" }]))
  }
  const { name, transport } = input as { readonly name?: unknown; readonly transport?: unknown }
  const server = typeof name === "string" && name !== "" ? McpError.displayText(name, 256) : "<unnamed>"
  if (typeof transport !== "string" || !Object.hasOwn(schemas, transport)) {
    return Effect.fail(
      invalid(server, [{ field: "transport", problem: `must be one of ${Object.keys(schemas).join(", ")}` }])
    )
  }
  const schema: Schema.Schema<ServerConfig, ServerConfigInput> = schemas[transport as keyof typeof schemas] as never
  return Schema.decodeUnknown(schema, { errors: "all", onExcessProperty: "error" })(input).pipe(
    Effect.mapError((error) => invalid(server, problemsOf(error)))
  )
}

/**
 * The limits of a server: its own, where it has them, over the defaults.
 *
 * @since 0.1.0
 * @category accessors
 */
export const limitsOf = (config: ServerConfig): Limits => ({ ...defaultLimits, ...defined(config.limits) })

/**
 * The deadlines of a server: its own, where it has them, over the defaults.
 *
 * @since 0.1.0
 * @category accessors
 */
export const timeoutsOf = (config: ServerConfig): Timeouts => ({ ...defaultTimeouts, ...defined(config.timeouts) })

/**
 * How many requests may be under way at once: as configured, else 16 over HTTP and 64 elsewhere.
 *
 * @since 0.1.0
 * @category accessors
 */
export const concurrencyOf = (config: ServerConfig): number => {
  switch (config.concurrency) {
    case undefined:
      return config.transport === "stdio" || config.transport === "inMemory" ? 64 : 16
    case "serial":
      return 1
    case "unbounded":
      return Number.POSITIVE_INFINITY
    default:
      return config.concurrency
  }
}

/**
 * How a process is ended: its own graces, where it has them, over the defaults.
 *
 * @since 0.1.0
 * @category accessors
 */
export const shutdownOf = (config: StdioConfig): {
  readonly afterEof: Duration.Duration
  readonly afterTerm: Duration.Duration
  readonly afterKill: Duration.Duration
} => ({ ...defaultShutdown, ...defined(config.shutdown) })

const defaultShutdown = {
  afterEof: Duration.seconds(2),
  afterTerm: Duration.seconds(2),
  afterKill: Duration.seconds(2)
}

/**
 * After how long a transport that does not end is left to itself: all its own bounds, and some.
 *
 * @since 0.1.0
 * @category accessors
 */
export const closeBoundOf = (config: ServerConfig): Duration.Duration => {
  const shutdown = config.transport === "stdio" ? Object.values(shutdownOf(config)) : []
  return [timeoutsOf(config).close, ...shutdown].reduce(Duration.sum, Duration.seconds(5))
}

const defined = <A extends object>(value: A | undefined): { [K in keyof A]?: Exclude<A[K], undefined> } =>
  Object.fromEntries(Object.entries(value ?? {}).filter(([, _]) => _ !== undefined)) as never

/**
 * Where a server is, in words that can be shown: a command, or a URL without user, password and query.
 *
 * @since 0.1.0
 * @category accessors
 */
export const describeTarget = (config: ServerConfig): string => {
  switch (config.transport) {
    case "stdio":
      return McpError.displayText(config.command, 1024)
    case "inMemory":
      return "this process"
    default:
      return McpError.displayUrl(config.url)
  }
}
