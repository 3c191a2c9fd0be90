/**
 * Answers over HTTP: any status, content type, session id, `retry-after`, challenge and redirect, bodies of any content that
 * are cut anywhere and end in any way.
 *
 * Holds: every operation ends with a value or a typed error, no exchange is left open, what is sent could be sent by any
 * client (headers of allowed characters, to the server's own origin), and no secret shows in an error or the log.
 */
import { type HttpExchange, McpConfig, McpSession } from "@mcp-runtime/core"
import { Effect, Exit, FastCheck, Fiber, Runtime } from "effect"
import * as Channel from "../../src/internal/http/channel.js"
import { holds, same } from "./kit/holds.js"
import { type Edit, edited, edits, type Hostile, hostile, made, texts } from "./kit/hostile.js"
import { part } from "./kit/part.js"
import { simulate } from "./kit/virtual.js"
import * as Oracles from "./oracles.js"
import { cut, sizes } from "./sse.js"
import { resultsOf, unasked } from "./traffic.js"

const canary = "c4n4ry"
const secrets = {
  token: `${canary}-token-91f3`,
  key: `${canary}-key-7d2a`,
  password: `${canary}-pass-55`,
  query: `${canary}-query-8`
}
const origin = "https://mcp.example"

const configs = Effect.runSync(Effect.forEach(["http", "sse", "auto"] as const, (transport) =>
  McpConfig.decode({
    name: "fuzzed",
    transport,
    url: `https://user:${secrets.password}@mcp.example/mcp?key=${secrets.query}`,
    headers: { Authorization: `Bearer ${secrets.token}`, "X-Api-Key": secrets.key },
    limits: { messageBytes: 200_000, eventBytes: 100_000 }
  }) as Effect.Effect<McpConfig.AnyHttpConfig>))

type Body =
  | { readonly kind: "json"; readonly isError: boolean; readonly changes: ReadonlyArray<Edit> }
  | { readonly kind: "events"; readonly before: string; readonly changes: ReadonlyArray<Edit>; readonly after: string }
  | { readonly kind: "value"; readonly value: Hostile }
  | { readonly kind: "text"; readonly text: string }
  /** The request, with all that is secret in it. */
  | { readonly kind: "echo" }
  | { readonly kind: "large"; readonly size: number }

interface Reply {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly type: string | undefined
  readonly body: Body
  readonly sizes: ReadonlyArray<number>
  readonly end: "end" | "lost" | "hang" | "unsent"
  readonly after: number | undefined
}

/** What a parser of HTTP lets through. */
const headerValue = FastCheck.oneof(
  texts,
  FastCheck.constantFrom(
    "0",
    "1",
    "1e9",
    "9".repeat(400),
    "-1",
    "Wed, 21 Oct 2065 07:28:00 GMT",
    `Bearer realm="x", error="invalid_token", scope="a b", resource_metadata="https://mcp.example/x"`,
    `Bearer scope=${"\"".repeat(40)}`,
    "Bearer scope=\"" + " ".repeat(300),
    "Basic realm=\"\\\"\", Bearer",
    `${secrets.token} ${secrets.key}`,
    "/other",
    "//evil.example/mcp",
    "https://user:pw@evil.example/",
    "https://mcp.example/moved",
    "javascript:alert(1)",
    "text/event-stream",
    "application/json; charset=utf-8"
  )
  // eslint-disable-next-line no-control-regex -- it is control characters that are looked for
).map((_) => _.replace(/[^\t\x20-\x7e\x80-\xff]/g, "").trim())

const changes = edits(2)

const rarely = FastCheck.constantFrom(false, false, false, true)

const eventText = FastCheck.constantFrom(
  "",
  ": hello\n\n",
  "id: 1\ndata:\n\n",
  "id: 2\nretry: 0\ndata:\n\n",
  "retry: 99999999999\nid: \0\n\n",
  "event: endpoint\ndata: /messages?x=1\n\n",
  "event: endpoint\ndata: https://evil.example/\n\n",
  "data: {\n\n",
  "data: [1]\n\n",
  "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n"
)

const body: FastCheck.Arbitrary<Body> = FastCheck.oneof(
  { arbitrary: FastCheck.record({ kind: FastCheck.constant("json" as const), isError: rarely, changes }), weight: 4 },
  {
    arbitrary: FastCheck.record({
      kind: FastCheck.constant("events" as const),
      before: eventText,
      changes,
      after: eventText
    }),
    weight: 4
  },
  { arbitrary: FastCheck.record({ kind: FastCheck.constant("value" as const), value: hostile }), weight: 1 },
  { arbitrary: FastCheck.record({ kind: FastCheck.constant("text" as const), text: texts }), weight: 1 },
  { arbitrary: FastCheck.constant({ kind: "echo" as const }), weight: 2 },
  {
    arbitrary: FastCheck.record({
      kind: FastCheck.constant("large" as const),
      size: FastCheck.constantFrom(70_000, 250_000)
    }),
    weight: 1
  }
)

const reply: FastCheck.Arbitrary<Reply> = FastCheck.record({
  status: FastCheck.oneof(
    { arbitrary: FastCheck.constant(200), weight: 10 },
    {
      arbitrary: FastCheck.constantFrom(
        100,
        202,
        204,
        301,
        302,
        307,
        308,
        400,
        401,
        403,
        404,
        405,
        406,
        408,
        409,
        429,
        500,
        501,
        503,
        599,
        0,
        999
      ),
      weight: 6
    }
  ),
  headers: FastCheck.array(
    FastCheck.tuple(
      FastCheck.constantFrom(
        "mcp-session-id",
        "retry-after",
        "www-authenticate",
        "location",
        "content-type",
        "mcp-protocol-version"
      ),
      headerValue
    ),
    { maxLength: 3 }
  ),
  type: FastCheck.constantFrom(
    "right",
    "right",
    "right",
    "application/json",
    "text/event-stream",
    "text/html",
    "",
    "TEXT/Event-Stream ; x",
    undefined
  ),
  body,
  sizes,
  end: FastCheck.constantFrom("end", "end", "end", "end", "lost", "hang", "unsent"),
  after: FastCheck.constantFrom(undefined, undefined, 0, 10, 3000)
})

const good: Reply = {
  status: 200,
  headers: [["mcp-session-id", "s1"]],
  type: "right",
  body: { kind: "json", isError: false, changes: [] },
  sizes: [],
  end: "end",
  after: undefined
}

/** Sent elsewhere; or an answer to what was never asked, in a refusal. */
const sendsAway: FastCheck.Arbitrary<Reply> = FastCheck.record({
  status: FastCheck.constantFrom(307, 308, 301),
  to: FastCheck.constantFrom("https://evil.example/mcp", "//evil.example/", "http://mcp.example/mcp", "/moved", "/mcp")
}).map(({ status, to }) => ({ ...good, status, headers: [["location", to]] }))

const misnamed: FastCheck.Arbitrary<Reply> = FastCheck.record({
  status: FastCheck.constantFrom(200, 400, 404, 500),
  id: FastCheck.constantFrom<Array<unknown>>({ toString: null }, [1], [[]], null, "1", 1.5, -1),
  isError: FastCheck.boolean()
}).map(({ id, isError, status }) => ({
  ...good,
  status,
  body: {
    kind: "value",
    value: {
      value: { jsonrpc: "2.0", id, ...(isError ? { error: { code: -32000, message: "no" } } : { result: {} }) }
    }
  }
}))

interface Input {
  readonly transport: number
  /** Taken by the requests in turn. */
  readonly replies: ReadonlyArray<Reply>
}

const input: FastCheck.Arbitrary<Input> = FastCheck.record({
  transport: FastCheck.constantFrom(0, 0, 0, 0, 1, 2),
  replies: FastCheck.array(
    FastCheck.oneof(
      { arbitrary: FastCheck.constant(good), weight: 6 },
      { arbitrary: reply, weight: 6 },
      { arbitrary: sendsAway, weight: 1 },
      { arbitrary: misnamed, weight: 1 }
    ),
    { minLength: 1, maxLength: 10 }
  )
})

const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
  serverInfo: { name: "f", version: "1" }
}

/** What a server answers to this request. */
const answerTo = (request: HttpExchange.HttpRequest, isError: boolean, changes: ReadonlyArray<Edit>): unknown => {
  if (request.body === undefined) return edited(unasked[0], changes)
  const { id, method } = JSON.parse(request.body) as { readonly id?: number; readonly method: string }
  const result = method === "initialize" ? initialized : resultsOf(method)[0] ?? {}
  return edited(
    isError ? { jsonrpc: "2.0", id, error: { code: -32000, message: "no", data: {} } } : { jsonrpc: "2.0", id, result },
    changes
  )
}

const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return "[".repeat(10_000)
  }
}

const bodyOf = (request: HttpExchange.HttpRequest, { body, status }: Reply): string => {
  const isError = status >= 400 || ("isError" in body && body.isError)
  switch (body.kind) {
    case "json":
      return textOf(answerTo(request, isError, body.changes))
    case "events":
      return `${body.before}data: ${textOf(answerTo(request, isError, body.changes))}\n\n${body.after}`
    case "value":
      return textOf(made(body.value))
    case "text":
      return body.text
    case "echo":
      return `${JSON.stringify({ error: request.headers, url: request.url })} ${request.url} ${
        Object.values(request.headers).join(" ")
      }`
    case "large":
      return `data: ${"x".repeat(body.size)}\n\n`
  }
}

/** A client whose every exchange is answered from the list. */
class Client implements HttpExchange.HttpClient {
  readonly requests: Array<HttpExchange.HttpRequest> = []
  open = 0

  constructor(private readonly replies: ReadonlyArray<Reply>, private readonly runtime: Runtime.Runtime<never>) {}

  readonly send: HttpExchange.HttpClient["send"] = (request, listener) => {
    const reply = this.replies[this.requests.length % this.replies.length]!
    this.requests.push(request)
    this.open++
    let over = false
    const finish = () => {
      if (!over) this.open--
      over = true
    }
    const play = () => {
      const steps = this.stepsOf(request, reply, listener, finish)
      for (const step of steps) if (!over) step()
    }
    const fiber = reply.after === undefined
      ? undefined
      : Runtime.runFork(this.runtime)(Effect.zipRight(Effect.sleep(reply.after), Effect.sync(play)))
    if (fiber === undefined) play()
    return () => {
      finish()
      fiber?.unsafeInterruptAsFork(fiber.id())
    }
  }

  private stepsOf(
    request: HttpExchange.HttpRequest,
    reply: Reply,
    listener: HttpExchange.HttpListener,
    finish: () => void
  ): ReadonlyArray<() => void> {
    const ending = (end: () => void) => () => {
      finish()
      end()
    }
    const failed = (sent: boolean) =>
      ending(() =>
        listener.failed({ sent, reason: sent ? "Lost" : "Refused", detail: `lost ${textOf(request.headers)}` })
      )
    if (reply.end === "unsent") return [failed(false)]
    const right = reply.body.kind === "events" ? "text/event-stream" : "application/json"
    const headers = new Map([["content-type", reply.type === "right" ? right : reply.type], ...reply.headers])
    const chunks = cut(new TextEncoder().encode(bodyOf(request, reply)), reply.sizes.map((_) => _ * 100))
    return [
      () => listener.head(reply.status, (_) => headers.get(_)),
      ...chunks.map((chunk) => () => listener.data(chunk)),
      ...(reply.end === "hang" ? [] : [reply.end === "end" ? ending(() => listener.end()) : failed(true)])
    ]
  }
}

const allowedValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** What could not be sent, or should not. */
const sendable = ({ headers, url }: HttpExchange.HttpRequest): void => {
  same(new URL(url).origin, origin, "where a request goes")
  for (const [name, value] of Object.entries(headers)) {
    holds(typeof value === "string" && allowedValue.test(value), `the header ${name}: ${JSON.stringify(value)}`)
  }
}

const hidden = (text: string, where: string): void =>
  holds(!text.includes(canary), `a secret shows in ${where}: ${text.slice(0, 600)}`)

const check = (exit: Exit.Exit<unknown, unknown>, what: string): void => {
  Oracles.ended(exit, what)
  if (Exit.isFailure(exit) && exit.cause._tag === "Fail") {
    const error = exit.cause.error as Error
    hidden(`${error.message} ${JSON.stringify(error)}`, `the error of ${what}`)
  }
}

const conversation = (client: Client, config: McpConfig.AnyHttpConfig) =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(McpSession.open(Channel.make(config, client), { logLevel: "info" }))
    check(exit, "open")
    if (Exit.isFailure(exit)) return
    const session = exit.value
    const running = yield* Effect.forEach([
      McpSession.listTools(session),
      McpSession.callTool(session, { name: "echo", arguments: {} }),
      McpSession.readResource(session, "demo://resource/1"),
      McpSession.ping(session)
    ], (operation) => Effect.fork(Effect.exit<unknown, unknown, never>(operation)))
    for (const [i, fiber] of running.entries()) check(yield* Fiber.join(fiber), `operation ${i}`)
    check(yield* Effect.exit(session.notify("notifications/roots/list_changed")), "notify")
  })

const mostRequests = 5000

export const httpPart = part({
  name: "http",
  about: "whatever comes back: operations end, nothing stays open, nothing strange is sent, no secret shows",
  inputs: 300,
  share: 1,
  input,
  check: async ({ replies, transport }) => {
    const clients: Array<Client> = []
    const { exit } = await simulate(
      Effect.flatMap(Effect.runtime<never>(), (runtime) => {
        const client = new Client(replies, runtime)
        clients.push(client)
        return Effect.scoped(conversation(client, configs[transport]!))
      }),
      { onLog: (_) => hidden(_, "the log") }
    )
    if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
    for (const { open, requests } of clients) {
      same(open, 0, "exchanges that are still open")
      holds(requests.length <= mostRequests, `${requests.length} requests were sent`)
      for (const request of requests) sendable(request)
    }
  }
})
