/**
 * What an application says about one server: which wire, where, with which limits and deadlines.
 *
 * Owns: the schemas of a server's configuration and their decoding, with one diagnostic per field.
 * May not touch: files, the environment, connections, and what a reference stands for.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as AuthSchema from "./internal/config/auth.js"
import * as Bounds from "./internal/config/bounds.js"
import { withoutSecrets } from "./internal/config/printed.js"
import { problemsOf } from "./internal/config/problems.js"
import * as shorthand from "./internal/config/shorthand.js"
import * as Values from "./internal/config/values.js"
import { owners } from "./internal/errors/owners.js"
import * as McpError from "./McpError.js"

export { defaultLimits, defaultTimeouts, type Limits, type Timeouts } from "./internal/config/bounds.js"

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

export type { Reference, SecretInput } from "./internal/config/deferred.js"

/**
 * How many requests may be under way at once. `"serial"`: one after the other.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Concurrency: Schema.Schema<Concurrency> = Schema.Union(
  Schema.Literal("serial", "unbounded"),
  Bounds.positiveInt
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
  Schema.Struct({ idle: Bounds.PositiveDuration })
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
export const KeepAlive = Schema.Struct({ every: Bounds.PositiveDuration, timeout: Bounds.optionalDuration })

/**
 * Texts hold references: `${NAME}` or `${env:NAME}` for a variable of the environment, `${NAME:-default}` where it may be
 * unset, `${input:id}`, `${userHome}`, `${workspaceFolder}`, which is the directory that is given here, and
 * `${workspaceFolderBasename}`, its name. One that is set to nothing is set. Whatever looks otherwise stays as it is.
 *
 * `commandFolder` is the directory in which commands of references (`{ command }`) run. Default: that of this process.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Expand = Schema.Union(
  Schema.Literal(true),
  Schema.Struct({
    workspaceFolder: Schema.optional(Values.noNul),
    commandFolder: Schema.optional(Values.noNul)
  })
)

/**
 * @since 0.1.0
 * @category models
 */
export type Expand = typeof Expand.Type

const common = {
  name: Schema.String.pipe(
    Schema.minLength(1, { message: () => "must not be empty" }),
    Schema.maxLength(256, { message: () => "must be at most 256 characters" }),
    // eslint-disable-next-line no-control-regex
    Schema.filter((_) => !/[\u0000-\u001f\u007f-\u009f]/.test(_), {
      message: () => "must not contain control characters"
    }),
    Schema.filter((_) => McpError.displayMarks(_) === _, {
      message: () => "must not contain characters that nobody sees or that change the direction of text"
    })
  ),
  timeouts: Schema.optional(Bounds.TimeoutsInput),
  limits: Schema.optional(Bounds.LimitsInput),
  logLevel: Schema.optional(LogLevel),
  /** A disabled server keeps its name; nothing connects to it. */
  enabled: Schema.optional(Schema.Boolean),
  concurrency: Schema.optional(Concurrency),
  lifetime: Schema.optional(Lifetime),
  /** Whether to believe the server's annotations, for example that a tool only reads and may be called again. */
  trusted: Schema.optional(Schema.Boolean),
  /** URIs of resources that a manager subscribes to when it has connected the server, where the server offers it. */
  subscriptions: Schema.optional(Schema.Array(Schema.String)),
  keepAlive: Schema.optional(KeepAlive),
  /**
   * References in the texts of `command`, `args`, `cwd`, `env`, `url`, `headers`, `proxy`, `tls` and `auth` (`clientId`,
   * `clientSecret`, `privateKey`, `assertion`, and those of `idp`) are resolved each time that a session is opened;
   * `assertion` and `idp.idToken` also each time that a token is needed.
   */
  expand: Schema.optional(Expand),
  /** Texts that are kept out of whatever is shown of this server, beside the values of `env` and `headers`. */
  secrets: Schema.optional(Schema.Array(Values.Secret))
}

/**
 * How a server process is ended: its input is closed, then SIGTERM and SIGKILL go to its whole process group, each after
 * waiting this long for the step before it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Shutdown = Schema.Struct({
  afterEof: Bounds.optionalDuration,
  afterTerm: Bounds.optionalDuration,
  afterKill: Bounds.optionalDuration
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
  command: Values.command,
  args: Schema.optional(Schema.Array(Values.noNul)),
  /** Added to the environment of the process; a value wins over an inherited one. */
  env: Schema.optional(Values.env),
  /** Names of variables handed on from our own environment, beside the minimal set. `"all"` hands on everything. */
  inheritEnv: Schema.optional(Schema.Union(Schema.Literal("all"), Schema.Array(Schema.String))),
  cwd: Schema.optional(Values.noNul),
  shutdown: Schema.optional(Shutdown)
})

const tls = (secret: typeof Values.secret) =>
  Schema.Struct({
    ca: Schema.optional(Schema.Union(secret, Schema.Array(secret))),
    cert: Schema.optional(secret),
    key: Schema.optional(secret),
    passphrase: Schema.optional(secret),
    /** `false` turns the check of the server's certificate off. Only for a server on your own machine. */
    verify: Schema.optional(Schema.Boolean)
  })

/**
 * How the identity of the server is checked, and ours is shown. Texts in PEM.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Tls = tls(Values.secret)

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

/**
 * How a remote server is authorized to be used. Without it: OAuth, where the server answers 401 and `McpAuth` is provided
 * and the configuration has no `Authorization` header. `"none"`: a 401 is an error and nothing else.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Auth = AuthSchema.auth(Values.secret)

/**
 * @since 0.1.0
 * @category models
 */
export type Auth = typeof Auth.Type

const http = {
  ...common,
  url: Values.httpUrl,
  headers: Schema.optional(Values.headers),
  requestHeaders: Schema.optional(
    Schema.declare(isRequestHeaders, { message: () => "must be an Effect that gives headers" }).pipe(
      Schema.transform(Schema.declare(isRequestHeaders), { decode: hidden, encode: (headers) => headers })
    )
  ),
  tls: Schema.optional(Tls),
  /** `http://host:port` of a proxy. Credentials in it are used and never shown. */
  proxy: Schema.optional(Values.proxy),
  /** How many sockets the channel may hold for requests. Streams have their own. */
  maxConnections: Schema.optional(Bounds.positiveInt),
  /** Where a tool call is sent again: in the shared session, or first in a fresh one of its own. */
  recovery: Schema.optional(Schema.Literal("shared", "isolated")),
  auth: Schema.optional(Auth),
  /**
   * `true`: bearer tokens may go to an `http://` URL that is not on this machine, where everybody in between can read
   * them. Only for a network that encrypts by itself, such as a mesh.
   */
  allowTokensOverHttp: Schema.optional(Schema.Boolean)
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

/** Their texts hold references, so that a URL may not be one yet. */
const expanding = {
  expand: Expand,
  url: Values.expandingUrl,
  headers: Schema.optional(Values.expandingHeaders),
  proxy: Schema.optional(Values.expandingProxy),
  tls: Schema.optional(tls(Values.expandingSecret)),
  auth: Schema.optional(AuthSchema.auth(Values.expandingSecret))
}

const ExpandingStdio = Schema.Struct({
  ...StdioConfig.fields,
  expand: Expand,
  env: Schema.optional(Values.expandingEnv)
})
const ExpandingHttp = Schema.Struct({ ...HttpConfig.fields, ...expanding })
const ExpandingSse = Schema.Struct({ ...SseConfig.fields, ...expanding })
const ExpandingAuto = Schema.Struct({ ...AutoConfig.fields, ...expanding })

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

const Configured = Schema.Union(StdioConfig, HttpConfig, SseConfig, AutoConfig, InMemoryConfig)

/**
 * One server, discriminated by `transport`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ServerConfig: Schema.Schema<typeof Configured.Type, typeof Configured.Encoded> = Schema.Union(
  ExpandingStdio,
  ExpandingHttp,
  ExpandingSse,
  ExpandingAuto,
  Configured
)

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
export type ServerConfig = typeof Configured.Type
/**
 * What an application writes: plain texts for secrets, `"5 seconds"` for durations.
 *
 * @since 0.1.0
 * @category models
 */
export type ServerConfigInput = typeof Configured.Encoded
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

const expandingSchemas = {
  stdio: ExpandingStdio,
  http: ExpandingHttp,
  sse: ExpandingSse,
  auto: ExpandingAuto,
  inMemory: InMemoryConfig
} as const

const invalid = (server: string, problems: ReadonlyArray<McpError.ConfigProblem>) =>
  new McpError.ConfigInvalid({ server, operation: "configure", executed: "no", problems: [...problems] })

/**
 * Decodes one server's configuration, or what stands for it (see `from`). Fails with one problem per field; no value is part
 * of a message, so that a secret in the wrong place does not show up in a log.
 *
 * Where the configuration is printed, logged or made JSON, it is shown without what may be a secret: its URL without user, query and
 * fragment, arguments such as `--token X` without X, nothing that it has in `secrets`, and all that is `Redacted` as such.
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
export const decode = (input: Shorthand): Effect.Effect<ServerConfig, McpError.ConfigInvalid> =>
  decodeUnknown(from(input))

/**
 * The same as `decode` for a value whose type is not known. It has to be a configuration in full.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeUnknown = (input: unknown): Effect.Effect<ServerConfig, McpError.ConfigInvalid> => {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return Effect.fail(invalid(owners.unnamed, [{ field: "(root)", problem: "must be an object" }]))
  }
  const { expand, name, transport } = input as {
    readonly [K in "expand" | "name" | "transport"]?: unknown
  }
  const server = typeof name === "string" && name !== "" ? McpError.displayText(name, 256) : owners.unnamed
  if (typeof transport !== "string" || !Object.hasOwn(schemas, transport)) {
    return Effect.fail(
      invalid(server, [{ field: "transport", problem: `must be one of ${Object.keys(schemas).join(", ")}` }])
    )
  }
  const family = expand === undefined ? schemas : expandingSchemas
  const schema: Schema.Schema<ServerConfig, ServerConfigInput> = family[transport as keyof typeof schemas] as never
  const decode = Schema.decodeUnknown(schema, { errors: "all", onExcessProperty: "error" })
  return Effect.mapBoth(decode(AuthSchema.withKindOfAuth(input)), {
    onFailure: (error) => invalid(server, problemsOf(error)),
    onSuccess: withoutSecrets
  })
}

/**
 * A configuration, or what can stand for it wherever one is expected, see `from`.
 *
 * @since 0.1.0
 * @category models
 */
export type Shorthand = shorthand.Shorthand

/**
 * A configuration from what says it all. It never fails; what is wrong with it is found out as with any other. Where a
 * configuration is expected, such as in `McpRuntime.layer`, what says it all will do; this gives it another name.
 *
 * - A URL, as text or `URL`: a remote server whose transport is found out.
 * - The path of a script, as text or `file:` URL: `node` runs `.js`, `.mjs` and `.cjs`, `tsx` runs `.ts`, `.mts` and `.cts`,
 *   `python3` runs `.py`. Another text is a program without arguments.
 * - A function that gives a new server of this process. A server itself will do, where it can be connected again.
 * - A configuration, as it is.
 *
 * The name is the host of a URL (its path may be a secret), what a script is called without its ending, or `"in-process"`.
 *
 * @example
 * ```ts
 * import { McpConfig, McpRuntime } from "@mcp-runtime/core"
 *
 * const live = McpRuntime.layer({
 *   servers: [
 *     "https://docs.example.com/mcp", // named "docs.example.com"
 *     new URL("./files.js", import.meta.url), // named "files"
 *     McpConfig.from("./weather.py", "forecast")
 *   ]
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const from: (what: Shorthand, name?: string) => ServerConfigInput = shorthand.from

export {
  concurrencyOf,
  describeTarget,
  isResolved,
  limitsOf,
  shutdownOf,
  timeoutsOf
} from "./internal/config/accessors.js"
