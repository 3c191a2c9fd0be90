/**
 * The format of one server in a file.
 *
 * Owns: the fields, what each may be, and what each is for. Files are checked with these schemas, and the JSON Schema for
 * editors is made of them, so that the two can't say different things.
 * May not touch: what fields mean together, and what `McpConfig` checks of their values.
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { defaultLimits, LogLevel } from "../../McpConfig.js"

type JsonSchema = Readonly<Record<string, unknown>>

/** A value that is checked as a whole, with one message for whatever is wrong with it. */
const value = <A>(
  is: (u: unknown) => u is A,
  problem: string,
  jsonSchema: JsonSchema,
  identifier?: string
): Schema.Schema<A> =>
  Schema.declare(is, { message: () => problem, jsonSchema, ...(identifier !== undefined && { identifier }) })

const optional = <A>(schema: Schema.Schema<A>, description: string) =>
  Schema.optional(schema.annotations({ description }))

const text = value(
  (u): u is string => typeof u === "string" && u.trim() !== "",
  "must be a text that is not empty",
  { type: "string", pattern: "\\S" }
)

const truth = value((u) => typeof u === "boolean", "must be true or false, without quotes", { type: "boolean" })

const list = <A>(item: Schema.Schema<A>, problem: string) => Schema.Array(item).annotations({ message: () => problem })

const wholeNumber = value(
  (u): u is number => Number.isInteger(u) && (u as number) > 0,
  "must be a whole number greater than zero",
  { type: "integer", minimum: 1 }
)

const durationText = /^\d+(\.\d+)? +(nano|micro|milli|second|minute|hour|day|week)s?$/

const isDurationText = (u: unknown): u is string =>
  typeof u === "string" && durationText.test(u) && Duration.decodeUnknown(u)._tag === "Some"

const isDuration = (u: unknown): u is number | string =>
  isDurationText(u)
    ? Duration.toMillis(Duration.decode(u as Duration.DurationInput)) > 0
    : typeof u === "number" && Number.isFinite(u) && u > 0

const longerThanNothing = { type: "string", pattern: durationText.source, not: { pattern: "^0+(\\.0+)? " } }

const duration = value(
  isDuration,
  `must be a number of milliseconds or a text such as "30 seconds"`,
  { anyOf: [{ type: "number", exclusiveMinimum: 0 }, longerThanNothing] },
  "Duration"
)

const durationOrNull = value(
  (u): u is number | string | null => u === null || isDuration(u),
  `must be a number of milliseconds, a text such as "30 seconds", or null for none`,
  { anyOf: [{ type: "number", exclusiveMinimum: 0 }, longerThanNothing, { type: "null" }] },
  "DurationOrNone"
)

const timeout = value(
  (u): u is number | string => isDurationText(u) || (typeof u === "number" && Number.isFinite(u) && u >= 0),
  `must be a number of milliseconds (0 for none) or a text such as "30 seconds"`,
  { anyOf: [{ type: "number", minimum: 0 }, { type: "string", pattern: durationText.source }] },
  "Timeout"
)

const isRecord = (u: unknown): u is Readonly<Record<string, unknown>> =>
  typeof u === "object" && u !== null && !Array.isArray(u)

const isText = (u: unknown): u is string => typeof u === "string" && u !== ""

const isWord = (u: unknown): u is string => isText(u) && u.trim() !== ""

const hasOnly = (u: object, ...fields: ReadonlyArray<string>) => Object.keys(u).every((_) => fields.includes(_))

/** A value that is found when the server is connected, and never stands in a file. */
const isReference = (u: unknown): boolean =>
  isRecord(u) && (
    Object.hasOwn(u, "command")
      ? isWord(u.command) && (!Object.hasOwn(u, "timeout") || isDuration(u.timeout)) && hasOnly(u, "command", "timeout")
      : Object.keys(u).length === 1 && ["env", "store", "input"].some((_) => Object.hasOwn(u, _) && isWord(u[_]))
  )

const referenceTo = (field: string, description: string, more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  description,
  required: [field],
  properties: { [field]: { type: "string", pattern: "\\S" }, ...more },
  additionalProperties: false
})

const references: ReadonlyArray<JsonSchema> = [
  referenceTo("env", "The value of a variable of the environment."),
  referenceTo("command", "What a command prints.", {
    timeout: { anyOf: [{ type: "number", exclusiveMinimum: 0 }, longerThanNothing] }
  }),
  referenceTo("store", "The value of this key in the store of secrets."),
  referenceTo("input", "The answer to the input of this id.")
]

/** Numbers and booleans are what they are as text: a program and a header get nothing else. */
const isPlain = (u: unknown): u is string | number | boolean =>
  typeof u === "string" || typeof u === "boolean" || typeof u === "number"

const plainTypes = ["string", "number", "boolean"]

const argument = value(isPlain, "must be a text", { type: plainTypes })

const orReference = `must be a text, or a reference such as { "env": "NAME" }`

const header = value(
  (u): u is unknown => isPlain(u) || isReference(u),
  orReference,
  { anyOf: [{ type: plainTypes }, ...references] },
  "Value"
)

const variable = value(
  (u): u is unknown => u === null || isPlain(u) || isReference(u),
  orReference,
  { anyOf: [{ type: [...plainTypes, "null"] }, ...references] },
  "Variable"
)

const record = (item: Schema.Schema<unknown>, problem: string) =>
  Schema.Record({ key: Schema.String, value: item }).annotations({ message: () => problem })

const patterns = (what: string) =>
  list(
    value((u): u is string => typeof u === "string" && u !== "", "must be the name of a tool, or a pattern", {
      type: "string",
      minLength: 1
    }),
    `must be a list of the names of tools ${what}`
  )

const isRule = (u: unknown) => u === "always" || u === "never" || typeof u === "boolean"

const isNames = (u: unknown) => u === undefined || (Array.isArray(u) && u.every(isText))

const isApproval = (u: unknown): u is unknown => {
  if (u === "always" || u === "never") return true
  if (!isRecord(u)) return false
  return Array.isArray(u.always) || Array.isArray(u.never)
    ? isNames(u.always) && isNames(u.never) && hasOnly(u, "always", "never")
    : Object.entries(u).every(([name, rule]) => name !== "" && isRule(rule))
}

const names = { type: "array", items: { type: "string", minLength: 1 } }

const approval = value(
  isApproval,
  `must be "always", "never", { "<tool>": "always" }, or { "always": ["<tool>"], "never": ["<tool>"] }`,
  {
    anyOf: [
      { enum: ["always", "never"] },
      {
        type: "object",
        properties: { always: names, never: names },
        anyOf: [{ required: ["always"] }, { required: ["never"] }],
        additionalProperties: false
      },
      {
        type: "object",
        propertyNames: { minLength: 1 },
        additionalProperties: { enum: ["always", "never", true, false] }
      }
    ]
  }
)

const oneOf = <const A extends ReadonlyArray<string>>(...values: A) =>
  value(
    (u): u is A[number] => typeof u === "string" && values.includes(u),
    `must be ${values.map((_) => `"${_}"`).join(" or ")}`,
    { type: "string", enum: values }
  )

const concurrency = value(
  (u): u is string | number => u === "serial" || u === "unbounded" || (Number.isInteger(u) && (u as number) > 0),
  `must be "serial", "unbounded", or a whole number greater than zero`,
  { anyOf: [{ enum: ["serial", "unbounded"] }, { type: "integer", minimum: 1 }] }
)

const lifetime = value(
  (u): u is unknown =>
    u === "eager" || u === "lazy" || (isRecord(u) && Object.keys(u).length === 1 && isDuration(u.idle)),
  `must be "eager", "lazy", or { "idle": "5 minutes" }`,
  {
    anyOf: [{ enum: ["eager", "lazy"] }, {
      type: "object",
      required: ["idle"],
      properties: { idle: { anyOf: [{ type: "number", exclusiveMinimum: 0 }, longerThanNothing] } },
      additionalProperties: false
    }]
  }
)

const passphrase = value(
  (u): u is unknown => typeof u === "string" || isReference(u),
  orReference,
  { anyOf: [{ type: "string" }, ...references] }
)

const isSecret = (u: unknown): boolean => isText(u) || isReference(u)

const secret = value((u): u is unknown => isSecret(u), orReference, {
  anyOf: [{ type: "string", minLength: 1 }, ...references]
}, "Secret")

const proxy = value(
  (u): u is unknown => isWord(u) || isReference(u),
  orReference,
  { anyOf: [{ type: "string", pattern: "\\S" }, ...references] }
)

/** It is no secret, and sent as it is wherever it is shown. */
const clientId = value(
  isWord,
  `must be a text that is not empty; a reference in it is written "\${NAME}"`,
  { type: "string", pattern: "\\S" }
)

const texts = list(text, `must be a list of texts`)

const auth = Schema.Union(
  Schema.Literal("none"),
  Schema.Struct({
    type: Schema.Literal("oauth"),
    clientId: Schema.optional(clientId),
    clientSecret: Schema.optional(secret),
    issuer: Schema.optional(text),
    clientMetadataUrl: Schema.optional(text),
    scopes: Schema.optional(texts),
    redirectPort: Schema.optional(wholeNumber),
    redirectUri: Schema.optional(text),
    dpop: Schema.optional(truth)
  }),
  Schema.Struct({
    type: Schema.Literal("clientCredentials"),
    clientId,
    clientSecret: Schema.optional(secret),
    privateKey: Schema.optional(secret),
    algorithm: Schema.optional(oneOf("ES256", "RS256")),
    issuer: Schema.optional(text),
    scopes: Schema.optional(texts),
    dpop: Schema.optional(truth)
  }),
  Schema.Struct({
    type: Schema.Literal("jwtBearer"),
    clientId,
    assertion: secret,
    clientSecret: Schema.optional(secret),
    issuer: Schema.optional(text),
    scopes: Schema.optional(texts),
    dpop: Schema.optional(truth)
  }),
  Schema.Struct({
    type: Schema.Literal("enterprise"),
    clientId,
    clientSecret: secret,
    issuer: Schema.optional(text),
    scopes: Schema.optional(texts),
    dpop: Schema.optional(truth),
    idp: Schema.Struct({
      issuer: text,
      tokenEndpoint: Schema.optional(text),
      clientId,
      clientSecret: Schema.optional(secret),
      idToken: secret
    })
  })
)

const limits = Schema.Struct(
  Object.fromEntries(Object.keys(defaultLimits).map((_) => [_, Schema.optional(wholeNumber)]))
) as Schema.Schema<{ readonly [limit: string]: unknown }>

const level = value(
  (u): u is string => Schema.is(LogLevel)(u),
  `must be one of ${LogLevel.literals.map((_) => `"${_}"`).join(", ")}`,
  { type: "string", enum: LogLevel.literals }
)

const common = {
  enabled: optional(truth, "false: nothing connects to it, and no other file gives another server of this name."),
  disabled: optional(truth, "The opposite of \"enabled\"."),
  timeout: optional(
    timeout,
    "How long connecting, and each request, may take: milliseconds (0 for none) or a text such as \"30 seconds\"."
  ),
  timeouts: optional(
    Schema.Struct({
      handshake: Schema.optional(durationOrNull),
      request: Schema.optional(durationOrNull),
      total: Schema.optional(durationOrNull),
      close: Schema.optional(duration),
      handler: Schema.optional(durationOrNull)
    }),
    "Single deadlines, in place of \"timeout\"."
  ),
  limits: optional(limits, "Bounds on what the server may send."),
  concurrency: optional(concurrency, "How many requests may be under way at once."),
  tools: optional(
    Schema.Struct({
      allow: Schema.optional(patterns("that may be seen")),
      block: Schema.optional(patterns("that may not be seen"))
    }),
    "Which tools may be seen, by name. * stands for any characters, ? for one."
  ),
  enabledTools: optional(patterns("that may be seen"), "The same as \"allow\" of \"tools\"."),
  disabledTools: optional(patterns("that may not be seen"), "The same as \"block\" of \"tools\"."),
  approval: optional(approval, "Which calls of tools need the approval of a person."),
  trusted: optional(truth, "Whether to believe what the server says about its tools, such as that they only read."),
  lifetime: optional(
    lifetime,
    "When it is connected: \"eager\" from the start, \"lazy\" from the first use, { \"idle\": \"5 minutes\" } while it is used."
  ),
  keepAlive: optional(
    Schema.Struct({ every: duration, timeout: Schema.optional(duration) }),
    "How often a silent server is asked whether it is still there."
  ),
  logLevel: optional(level, "The least severe messages that the server should send."),
  subscriptions: optional(texts, "URIs of resources whose changes the server should tell.")
}

/** A program on this machine. */
export const Local = Schema.Struct({
  type: optional(oneOf("stdio"), "A program that speaks over its standard input and output."),
  transport: optional(oneOf("stdio"), "The same as \"type\"."),
  command: text.annotations({ description: "The program, without its arguments." }),
  args: optional(
    list(argument, `must be a list of texts, such as ["-y", "some-package"]`),
    "Its arguments, one by one."
  ),
  env: optional(
    record(variable, `must be an object, such as { "NAME": "value" }`),
    "Variables of its environment. ${NAME} stands for one of ours."
  ),
  inheritEnv: optional(
    value(
      (u): u is unknown => u === "all" || (Array.isArray(u) && u.every(isText)),
      `must be "all", or a list of the names of variables`,
      { anyOf: [{ const: "all" }, names] }
    ),
    "The names of variables that it gets from our environment, beside a few that all programs need; or \"all\"."
  ),
  cwd: optional(text, "The directory it runs in."),
  shutdown: optional(
    Schema.Struct({
      afterEof: Schema.optional(duration),
      afterTerm: Schema.optional(duration),
      afterKill: Schema.optional(duration)
    }),
    "How long each step of ending it is waited for."
  ),
  ...common
}).annotations({ identifier: "LocalServer", description: "A server that runs on this machine." })

/** What `type` of a remote server may be, and what it is for `McpConfig`. */
export const remoteTypes = {
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  sse: "sse",
  auto: "auto"
} as const

const remoteType = oneOf(...(Object.keys(remoteTypes) as Array<keyof typeof remoteTypes>))

/** A server that is reached by its URL. */
export const Remote = Schema.Struct({
  type: optional(remoteType, "How it is spoken to. Without it, what the server understands is found out."),
  transport: optional(remoteType, "The same as \"type\"."),
  url: text.annotations({ description: "Where it is." }),
  headers: optional(
    record(header, `must be an object, such as { "Authorization": "Bearer \${TOKEN}" }`),
    "Sent with each request. ${NAME} stands for a variable of the environment."
  ),
  auth: optional(auth, "How its use is authorized. Without it: OAuth, if the server asks for it."),
  tls: optional(
    Schema.Struct({
      ca: Schema.optional(
        value(
          (u): u is unknown => isSecret(u) || (Array.isArray(u) && u.every(isSecret)),
          `must be certificates in PEM: a text, a reference such as { "env": "NAME" }, or a list of them`,
          { anyOf: [{ $ref: "#/$defs/Secret" }, { type: "array", items: { $ref: "#/$defs/Secret" } }] }
        )
      ),
      cert: Schema.optional(secret),
      key: Schema.optional(secret),
      passphrase: Schema.optional(passphrase),
      verify: Schema.optional(truth)
    }),
    "Certificates, as texts in PEM."
  ),
  proxy: optional(proxy, "http://host:port of a proxy."),
  maxConnections: optional(wholeNumber, "How many connections may be open for requests."),
  recovery: optional(
    oneOf("shared", "isolated"),
    "Where a call is sent again: in the same session, or in one of its own."
  ),
  allowTokensOverHttp: optional(
    truth,
    "true: tokens may go to an http:// URL elsewhere. Only for a network that encrypts by itself."
  ),
  ...common
}).annotations({ identifier: "RemoteServer", description: "A server that is reached by its URL." })

export const fields: {
  readonly local: ReadonlySet<string>
  readonly remote: ReadonlySet<string>
} = { local: new Set(Object.keys(Local.fields)), remote: new Set(Object.keys(Remote.fields)) }

/** What other clients, and people, write for themselves. It means nothing here, and is no mistake. */
export const isNote = (field: string): boolean => notes.has(field) || /^(_|\$|\/\/|#|x-)/.test(field)

const notes: ReadonlySet<string> = new Set([
  "name",
  "title",
  "description",
  "icon",
  "icons",
  "version",
  "gallery",
  "dev",
  "metadata"
])

/** The same for the JSON Schema. */
export const notePatterns = { [`^(_|\\$|//|#|x-)|^(${[...notes].join("|")})$`]: true }
