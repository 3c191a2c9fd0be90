/**
 * Messages of a server, from real traffic, changed and out of order: before, during and after the handshake.
 *
 * Holds whatever comes: nothing thrown into the wire, no fiber dies, every operation ends with a value or a typed error, a
 * request of the same session that nobody has meddled with gets its answer, each request of the server's is answered at
 * most once, and what the client sends is bounded by what it was asked.
 */
import { type ClientHandlers, type McpProtocol, McpSession } from "@mcp-runtime/core"
import { Effect, Exit, FastCheck, Fiber } from "effect"
import { holds, same } from "./kit/holds.js"
import type { Edit, Hostile } from "./kit/hostile.js"
import { edited, edits, hostile, made } from "./kit/hostile.js"
import { part } from "./kit/part.js"
import { simulate } from "./kit/virtual.js"
import * as Oracles from "./oracles.js"
import { messages, resultsOf, unasked } from "./traffic.js"
import { Wire } from "./wire.js"

type Step =
  /** Answers one of our requests with what a real server has said to this method. */
  | { readonly step: "answer"; readonly which: number; readonly sample: number; readonly changes: ReadonlyArray<Edit> }
  | { readonly step: "fail"; readonly which: number; readonly changes: ReadonlyArray<Edit> }
  | { readonly step: "unasked"; readonly sample: number; readonly changes: ReadonlyArray<Edit> }
  | { readonly step: "any"; readonly sample: number; readonly changes: ReadonlyArray<Edit> }
  | { readonly step: "progress"; readonly which: number; readonly changes: ReadonlyArray<Edit> }
  | { readonly step: "cancel"; readonly which: number; readonly changes: ReadonlyArray<Edit> }
  | { readonly step: "value"; readonly value: Hostile }
  | { readonly step: "batch"; readonly steps: ReadonlyArray<Step> }
  | { readonly step: "again" }
  | { readonly step: "turn" }
  | { readonly step: "wait"; readonly millis: number }

interface Input {
  /** Said inside of the opening of the wire. */
  readonly hasty: ReadonlyArray<Step>
  readonly opening: ReadonlyArray<Step>
  readonly after: ReadonlyArray<Step>
  readonly handlers: boolean
  readonly concurrency: number | undefined
}

const which = FastCheck.nat({ max: 12 })
const sample = FastCheck.nat({ max: 1000 })
const changes = edits(3)

const constant = <A extends string>(step: A) => FastCheck.constant(step)

const { step } = FastCheck.letrec<{ step: Step }>((tie) => ({
  step: FastCheck.oneof(
    { maxDepth: 2 },
    { arbitrary: FastCheck.record({ step: constant("answer"), which, sample, changes }), weight: 8 },
    { arbitrary: FastCheck.record({ step: constant("fail"), which, changes }), weight: 2 },
    { arbitrary: FastCheck.record({ step: constant("unasked"), sample, changes }), weight: 3 },
    { arbitrary: FastCheck.record({ step: constant("any"), sample, changes }), weight: 2 },
    { arbitrary: FastCheck.record({ step: constant("progress"), which, changes }), weight: 2 },
    { arbitrary: FastCheck.record({ step: constant("cancel"), which, changes }), weight: 1 },
    { arbitrary: FastCheck.record({ step: constant("value"), value: hostile }), weight: 1 },
    { arbitrary: FastCheck.record({ step: constant("again") }), weight: 1 },
    { arbitrary: FastCheck.record({ step: constant("turn") }), weight: 2 },
    {
      arbitrary: FastCheck.record({ step: constant("wait"), millis: FastCheck.constantFrom(1, 5000, 100_000) }),
      weight: 1
    },
    {
      arbitrary: FastCheck.record({ step: constant("batch"), steps: FastCheck.array(tie("step"), { maxLength: 3 }) }),
      weight: 1
    }
  )
}))

const input: FastCheck.Arbitrary<Input> = FastCheck.record({
  hasty: FastCheck.array(step, { maxLength: 1 }),
  opening: FastCheck.array(step, { maxLength: 3 }),
  after: FastCheck.array(step, { maxLength: 12 }),
  handlers: FastCheck.boolean(),
  concurrency: FastCheck.constantFrom(undefined, undefined, undefined, 1, 3)
})

/** What is said in this step, if anything. */
const valueOf = (wire: Wire, one: Step): unknown => {
  const requests = wire.sent.filter((_) => _.method !== undefined && _.id !== undefined)
  const asked = "which" in one ? requests[one.which % Math.max(1, requests.length)] : undefined
  const id = asked?.id ?? ("which" in one ? one.which : undefined)
  switch (one.step) {
    case "answer": {
      const results = resultsOf(String(asked?.method))
      const result = results.length === 0 ? {} : results[one.sample % results.length]
      return edited({ jsonrpc: "2.0", id, result }, one.changes)
    }
    case "fail":
      return edited(
        { jsonrpc: "2.0", id, error: { code: -32602, message: "no", data: { supported: ["1"] } } },
        one.changes
      )
    case "unasked":
      return edited(unasked[one.sample % unasked.length], one.changes)
    case "any":
      return edited(messages[one.sample % messages.length], one.changes)
    case "progress":
      return edited(
        { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: id, progress: 1, total: 2 } },
        one.changes
      )
    case "cancel":
      return edited({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } }, one.changes)
    case "value":
      return made(one.value)
    case "batch":
      return one.steps.map((_) => valueOf(wire, _)).filter((_) => _ !== undefined)
    default:
      return undefined
  }
}

const turn = Effect.forEach(Array.from({ length: 5 }), () => Effect.yieldNow(), { discard: true })

const play = (wire: Wire, steps: ReadonlyArray<Step>) =>
  Effect.forEach(steps, (one) => {
    if (one.step === "turn") return turn
    // Of the clock of `simulate`, which costs no time.
    if (one.step === "wait") return Effect.sleep(one.millis)
    return Effect.sync(() => one.step === "again" ? wire.sayAgain() : wire.say(valueOf(wire, one)))
  }, { discard: true })

const handlers: ClientHandlers.Handlers = {
  roots: { list: Effect.succeed([{ uri: "file:///data" }]) },
  sampling: {
    create: () => Effect.succeed({ role: "assistant", model: "m", content: { type: "text", text: "x" } })
  },
  elicitation: { form: () => Effect.succeed({ action: "decline" }), url: () => Effect.never, applyDefaults: true },
  onLog: () => Effect.void,
  onNotification: () => Effect.void,
  requests: { "custom/one": () => Effect.succeed({}) }
}

const handshake = { protocolVersion: "2025-11-25", serverInfo: { name: "f", version: "1" } }
const capabilities = { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} }

/** Answers the first request of this kind as a server should, where nobody has answered it in some way. */
const answerWell = (wire: Wire, asked: McpProtocol.JsonObject | undefined, result: unknown) =>
  Effect.sync(() => {
    if (asked === undefined || meddled(wire, asked.id)) return false
    wire.say({ jsonrpc: "2.0", id: asked.id, result })
    return true
  })

/** Whether something was said that is, or could be taken for, an answer to this request. */
const meddled = (wire: Wire, id: unknown): boolean => wire.said.some((_) => String(_.id) === String(id))

const control = { content: [{ type: "text", text: "in spite of all" }], structuredContent: { a: [1, { b: null }] } }

const operations = (session: McpSession.McpSession) => ({
  tools: McpSession.listTools(session),
  prompts: McpSession.listPrompts(session),
  resources: McpSession.listResources(session),
  templates: McpSession.listResourceTemplates(session),
  call: McpSession.callTool(session, { name: "echo", arguments: { message: "x" } }, { onProgress: () => Effect.void }),
  prompt: McpSession.getPrompt(session, { name: "simple-prompt" }),
  read: McpSession.readResource(session, "demo://resource/1"),
  complete: McpSession.complete(session, {
    ref: { type: "ref/prompt", name: "p" },
    argument: { name: "a", value: "" }
  }),
  ping: McpSession.ping(session),
  level: McpSession.setLogLevel(session, "debug")
})

const conversation = (wire: Wire, { after, concurrency, handlers: withHandlers, opening }: Input) =>
  Effect.gen(function*() {
    const opened = yield* Effect.fork(
      Effect.exit(McpSession.open(wire.channel, {
        concurrency,
        logLevel: "info",
        ...(withHandlers && { handlers })
      }))
    )
    yield* turn
    yield* play(wire, opening)
    yield* answerWell(wire, wire.requests("initialize")[0], { ...handshake, capabilities })
    yield* turn
    yield* answerWell(wire, wire.requests("logging/setLevel")[0], {})
    const exit = yield* Fiber.join(opened)
    Oracles.ended(exit, "open")
    if (Exit.isFailure(exit)) return
    const session = exit.value

    const own = yield* Effect.fork(Effect.exit(session.request("tools/call", { name: "control" })))
    yield* turn
    const asked = wire.requests("tools/call").find((_) => (_.params as McpProtocol.JsonObject).name === "control")
    const running = yield* Effect.fork(
      Effect.forEach(
        Object.entries(operations(session)),
        ([name, operation]) => Effect.map(Effect.exit<unknown, unknown, never>(operation), (_) => [name, _] as const),
        { concurrency: "unbounded" }
      )
    )
    yield* turn
    yield* play(wire, after.filter((_) => _.step !== "wait"))
    const answered = yield* answerWell(wire, asked, control)
    const got = yield* Fiber.join(own)
    if (answered) same(got, Exit.succeed<unknown>(control), "a request that nobody meddled with")
    else Oracles.ended(got, "control")
    yield* play(wire, after)
    for (const [name, one] of yield* Fiber.join(running)) Oracles.ended(one, name)
    const stats = yield* session.stats
    same(stats.inFlight, 0, "requests under way when all have ended")
  })

/** Each of the server's requests has one answer at most, and nothing goes out that has no cause. */
const boundedAnswers = (wire: Wire) => {
  const asked = new Map<string, number>()
  let requests = 0
  for (const { id, jsonrpc, method } of wire.said) {
    if (jsonrpc !== "2.0" || typeof method !== "string" || (typeof id !== "string" && typeof id !== "number")) continue
    asked.set(JSON.stringify(id), (asked.get(JSON.stringify(id)) ?? 0) + 1)
    requests++
  }
  let ours = 0
  for (const { id, method } of wire.sent) {
    if (method !== undefined) {
      ours++
      continue
    }
    const left = asked.get(JSON.stringify(id)) ?? 0
    holds(left > 0 || id === null, `an answer to ${JSON.stringify(id)}, which was not asked, or asked less often`)
    asked.set(JSON.stringify(id), left - 1)
  }
  // Lists may have pages, and each request may be cancelled.
  holds(ours <= 60 + requests, `${ours} messages of ours, where ${requests} were asked`)
}

export const messagesPart = part({
  name: "messages",
  about: "whatever a server says, at any time: every operation ends, and the others are not harmed",
  inputs: 400,
  share: 1.5,
  input,
  check: async (given) => {
    const wire: Wire = new Wire(given.hasty.map((one) => () => valueOf(wire, one)))
    const { exit } = await simulate(Effect.scoped(conversation(wire, given)))
    if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
    same(wire.closed, wire.opened, "wires closed")
    boundedAnswers(wire)
  }
})
