import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import * as ToolFailure from "@mcp-runtime/core/ToolFailure"
import { Cause, Effect, Exit } from "effect"
import * as Failure from "../../src/internal/toolset/failure.js"

const secret = "s3cr3t"
const stderr = `Traceback\n  token=${secret}-of-stderr\n`

const call: ToolFailure.FailedCall = { server: "web", tool: "search", name: "web__search" }

const at = { server: "web", operation: "tools/call", executed: "no" } as const
const maybe = { ...at, executed: "maybe" } as const

const closed = (fields: Partial<typeof maybe> = {}) =>
  new McpError.ConnectionClosed({
    ...maybe,
    ...fields as typeof maybe,
    reason: "Exited",
    detail: "the process is gone",
    exit: { code: 1, signal: null },
    stderrTail: stderr
  })

/** One of every kind, and what it says. */
const errors: { readonly [Tag in McpError.McpError["_tag"]]: readonly [McpError.McpError, string] } = {
  ArgumentsInvalid: [
    new McpError.ArgumentsInvalid({
      ...at,
      tool: "search",
      problems: [{ field: "arguments.q", problem: "is required" }, {
        field: "arguments.n",
        problem: "must be a number"
      }],
      detail: "the server has changed this tool since it was stored"
    }),
    "Its arguments are invalid: arguments.q: is required; arguments.n: must be a number (the server has changed this tool " +
    "since it was stored). Mend the arguments and call it again."
  ],
  ConfigInvalid: [
    new McpError.ConfigInvalid({ ...at, operation: "configure", problems: [{ field: "env", problem: secret }] }),
    "It is not set up correctly. It has not run. Go on without it."
  ],
  SpawnFailed: [
    new McpError.SpawnFailed({ ...at, reason: "NotFound", command: `/opt/${secret}`, detail: `ENOENT ${secret}` }),
    "Its server is not available. It has not run. Go on without it."
  ],
  ConnectFailed: [
    new McpError.ConnectFailed({ ...at, reason: "Refused", url: `http://${secret}/mcp`, detail: secret }),
    "Its server is not available. It has not run. Go on without it, or try again later."
  ],
  HandshakeFailed: [
    new McpError.HandshakeFailed({ ...at, detail: secret, stderrTail: stderr }),
    "Its server is not available. It has not run. Go on without it, or try again later."
  ],
  VersionMismatch: [
    new McpError.VersionMismatch({ ...at, requested: "1", offered: ["2"], supported: ["1"] }),
    "Its server can't be understood. It has not run. Go on without it."
  ],
  ConnectionClosed: [
    closed(),
    "The connection to its server was lost. It may have run: find out whether it has before you call it again."
  ],
  RequestTimeout: [
    new McpError.RequestTimeout({ ...maybe, kind: "idle", millis: 5000, detail: secret, stderrTail: stderr }),
    "There was no answer within 5000 ms. It may have run: find out whether it has before you call it again."
  ],
  SessionExpired: [
    new McpError.SessionExpired({ ...at, status: 404 }),
    "Its server is not available. It has not run. Go on without it, or try again later."
  ],
  Unauthorized: [
    new McpError.Unauthorized({ ...at, challenge: `Bearer ${secret}` }),
    "Its server asks for credentials. It has not run. Only the user can change that: tell the user, and do not call it " +
    "again before."
  ],
  Forbidden: [
    new McpError.Forbidden({ ...at, scope: "read", body: secret }),
    "Its server forbids it without the scope \"read\". It has not run. Only the user can change that: tell the user, and " +
    "do not call it again before."
  ],
  HttpError: [
    new McpError.HttpError({ ...at, status: 503, retryAfterMillis: 1500, location: secret, body: secret }),
    "Its server answered with HTTP 503. It has not run. Go on without it, or try again in 2 s."
  ],
  ResponseLost: [
    new McpError.ResponseLost({ ...maybe, reason: "Broken", detail: secret }),
    "Its answer was lost. It may have run: find out whether it has before you call it again."
  ],
  ProtocolViolation: [
    new McpError.ProtocolViolation({ ...maybe, detail: secret }),
    "Its server can't be understood. It may have run: find out whether it has before you call it again."
  ],
  InvalidResult: [
    new McpError.InvalidResult({ ...at, executed: "yes", detail: "\"content\" is not a list", result: secret }),
    "It has run, and its answer can't be used: \"content\" is not a list. Do not call it again for the same; go on without " +
    "its answer."
  ],
  OutputInvalid: [
    new McpError.OutputInvalid({
      ...at,
      executed: "yes",
      tool: "search",
      problems: [{ field: "a", problem: "must be a number" }],
      result: secret
    }),
    "It has run, and its answer is not what it promises: a: must be a number. Do not call it again for the same; go on " +
    "without its answer."
  ],
  ToolFailed: [
    new McpError.ToolFailed({ ...at, executed: "yes", tool: "search", detail: "no such city", result: secret }),
    "It has run, and says that it failed: no such city. Mend what it names before you call it again."
  ],
  MetaFailed: [
    new McpError.MetaFailed({ ...at, tool: "search", detail: secret }),
    "What is to be sent along with it could not be had. It has not run. Go on without it."
  ],
  RemoteError: [
    new McpError.RemoteError({ ...at, code: -32600, reason: "not now", data: secret }),
    "Its server answered with error -32600: not now. It has not run."
  ],
  ElicitationRequired: [
    new McpError.ElicitationRequired({
      ...at,
      reason: "sign in",
      elicitations: [{ elicitationId: secret, url: `https://a.test/?code=${secret}`, message: secret }]
    }),
    "Its server wants the user to visit a page first: sign in. It has not run. Only the user can change that: tell the " +
    "user, and do not call it again before."
  ],
  CapabilityMissing: [
    new McpError.CapabilityMissing({ ...at, capability: "tools" }),
    "There is no such tool now. It has not run. Use another one, or go on without it."
  ],
  LimitExceeded: [
    new McpError.LimitExceeded({ ...at, limit: "maxPending", max: 8 }),
    "The limit \"maxPending\" of 8 was exceeded. It has not run. Ask for less, or go on without it."
  ],
  TaskFailed: [
    new McpError.TaskFailed({ ...maybe, executed: "yes", taskId: secret, status: "failed", detail: "no disk" }),
    "Its task failed: no disk. It may have done a part of its work: look before you call it again."
  ],
  ConnectionUnavailable: [
    new McpError.ConnectionUnavailable({ ...at, reason: "CrashLoop", detail: secret, retryAfterMillis: 30_000 }),
    "Its server is not available. It has not run. Go on without it, or try again in 30 s."
  ],
  OutcomeUnknown: [
    new McpError.OutcomeUnknown({ ...maybe, error: closed() }),
    "The connection to its server was lost. It may have run: find out whether it has before you call it again."
  ],
  ToolNotFound: [
    new McpError.ToolNotFound({ ...at, tool: "search", detail: "it is gone" }),
    "There is no such tool now. It has not run. Use another one, or go on without it."
  ],
  CloseFailed: [
    new McpError.CloseFailed({ ...at, detail: secret }),
    "Its server is not available. It has not run. Go on without it."
  ],
  UnknownServer: [
    new McpError.UnknownServer({ ...at, configured: [secret] }),
    "There is no such tool now. It has not run. Use another one, or go on without it."
  ],
  ServersFailed: [
    new McpError.ServersFailed({
      ...at,
      errors: [new McpError.HttpError({ ...at, status: 400, body: secret }), closed()]
    }),
    "Its server answered with HTTP 400. It has not run. Go on without it."
  ]
}

const textOf = (failure: ToolFailure.ToolFailure, error: McpError.McpError, of = call): string => {
  const text = Effect.runSync(Failure.handle(failure, error, of))
  assert.isString(text)
  return text
}

describe("explained", () => {
  for (const [tag, [error, expected]] of Object.entries(errors)) {
    it(`${tag}: what happened, whether it has run, what to do`, () => {
      assert.strictEqual(error._tag, tag)
      const text = textOf(ToolFailure.explained, error)
      assert.strictEqual(text, `The call of the tool "web__search" failed. ${expected}`)
      assert.notInclude(text, secret)
    })
  }

  it("never invites to repeat what may have run", () => {
    for (const [error] of Object.values(errors)) {
      const fields = { ...error, executed: "maybe" } as never
      const moved = new (error.constructor as new(fields: never) => McpError.McpError)(fields)
      const text = textOf(ToolFailure.explained, moved)
      if (moved._tag === "ServersFailed") continue
      assert.match(text, /before you call it again|do not call it again/i, moved._tag)
      assert.notMatch(text, /try again|and call it again|has not run/, moved._tag)
    }
  })

  it("tells wrong parameters from other errors of a server, and whether they were taken", () => {
    const remote = (executed: "no" | "maybe", code: number) =>
      textOf(
        ToolFailure.explained,
        new McpError.RemoteError({ ...at, executed, code, reason: "q is too long!" })
      )
    assert.include(remote("no", -32602), "error -32602: q is too long! Mend the arguments and call it again.")
    assert.include(remote("maybe", -32602), "q is too long! Mend the arguments. It may have run: find out")
    assert.notInclude(remote("no", -32603), "Mend")
  })

  it("tells arguments that can't be written from a wrong configuration", () => {
    assert.include(
      textOf(ToolFailure.explained, McpError.unwritable("web", "tools/call")),
      "What was to be sent is invalid: params: can't be written as JSON"
    )
    const notItsMistakes = [
      ["open", "env.TOKEN", `the environment variable "${secret}" is not set`],
      ["tools/call", "timeout", "must be a positive duration, or null for none"]
    ] as const
    for (const [operation, field, problem] of notItsMistakes) {
      const error = new McpError.ConfigInvalid({ ...at, operation, problems: [{ field, problem }] })
      assert.strictEqual(
        textOf(ToolFailure.explained, error),
        "The call of the tool \"web__search\" failed. It is not set up correctly. It has not run. Go on without it."
      )
    }
  })

  it("says when waiting helps, and when it does not", () => {
    const http = (status: number) => textOf(ToolFailure.explained, new McpError.HttpError({ ...at, status, body: "" }))
    assert.include(http(503), "try again later")
    assert.notInclude(http(400), "try again")
    const wait = new McpError.RequestTimeout({ ...at, kind: "wait", millis: 10 })
    assert.include(
      textOf(ToolFailure.explained, wait),
      "It could not be sent within 10 ms. It has not run. Go on without it, or try again later."
    )
  })

  it("is bounded, and shows nothing as it came", () => {
    const long = `${"x".repeat(10_000)}`
    const hostile = `\u001b[31mred https://user:${secret}@a.test/?key=${secret}`
    const named = { server: "web", tool: long, name: long }
    const big = [
      new McpError.RemoteError({ ...at, code: 1, reason: long }),
      new McpError.ArgumentsInvalid({
        ...at,
        tool: long,
        problems: Array.from({ length: 1000 }, () => ({ field: long, problem: long })),
        detail: long
      }),
      new McpError.TaskFailed({ ...at, taskId: long, status: "expired", detail: long }),
      new McpError.LimitExceeded({ ...at, limit: long, max: 1 }),
      new McpError.Forbidden({ ...at, scope: long, body: long })
    ]
    for (const error of big) {
      for (const failure of [ToolFailure.explained, ToolFailure.openAiAgents]) {
        assert.isBelow(textOf(failure, error, named).length, 3500, error._tag)
      }
    }
    for (const error of [new McpError.RemoteError({ ...at, code: 1, reason: hostile })]) {
      for (const failure of [ToolFailure.explained, ToolFailure.openAiAgents]) {
        assert.notInclude(textOf(failure, error), secret)
        assert.notInclude(textOf(failure, error), "\u001b")
      }
    }
  })
})

describe("openAiAgents", () => {
  const start = "An error occurred while running the tool. Please try again. Error: "

  it("1.12: the words of the server for its own errors, and where it was for others", () => {
    assert.strictEqual(textOf(ToolFailure.openAiAgents, errors.RemoteError[0]), `${start}not now`)
    assert.strictEqual(
      textOf(ToolFailure.openAiAgents, errors.LimitExceeded[0]),
      `${start}Error invoking MCP tool web__search on server 'web': the limit "maxPending" of 8 was exceeded`
    )
  })

  it("1.12: its own text for arguments that are no JSON object", () => {
    const invalid = (field: string) =>
      textOf(
        ToolFailure.openAiAgents,
        new McpError.ArgumentsInvalid({ ...at, tool: "search", problems: [{ field, problem: "must be an object" }] })
      )
    assert.strictEqual(
      invalid("arguments"),
      "An error occurred while parsing tool arguments. Please try again with valid JSON. Error: the arguments of " +
        "\"search\" are invalid: arguments: must be an object"
    )
    assert.isTrue(invalid("arguments.q").startsWith(start))
  })

  it("has no stderr, wherever it is", () => {
    const wrapped = [
      errors.HandshakeFailed[0],
      errors.ConnectionClosed[0],
      errors.RequestTimeout[0],
      errors.OutcomeUnknown[0],
      new McpError.ServersFailed({ ...at, errors: [closed(), closed()] })
    ]
    for (const error of wrapped) {
      assert.include(error.message, "of-stderr", error._tag)
      const text = textOf(ToolFailure.openAiAgents, error)
      assert.notInclude(text, "of-stderr", error._tag)
      assert.notInclude(text, "stderr", error._tag)
    }
    assert.include(textOf(ToolFailure.openAiAgents, wrapped[4]!), "(and 1 more: \"web\" ConnectionClosed)")
  })
})

describe("handle", () => {
  const error = errors.ToolNotFound[0]

  it.effect("propagate: the error itself", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Effect.flip(Failure.handle<never, McpError.McpError>("propagate", error, call)), error)
    }))

  it.effect("gives the error and the call to a function, and takes a text or an effect of one", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const failure = (...given: ReadonlyArray<unknown>) => {
        seen.push(...given)
        return Effect.succeed("text")
      }
      assert.strictEqual(yield* Failure.handle(failure, error, call), "text")
      assert.deepStrictEqual(seen, [error, call])
      assert.strictEqual(yield* Failure.handle(ToolFailure.constant("same"), error, call), "same")
      assert.strictEqual(yield* Failure.handle(ToolFailure.constant(""), error, call), "")
    }))

  it.effect("the failure, the defect and the interruption of a function are those of the call", () =>
    Effect.gen(function*() {
      const other = errors.ResponseLost[0]
      assert.strictEqual(yield* Effect.flip(Failure.handle(() => Effect.fail(other), error, call)), other)
      const defect = new Error("boom")
      const thrown = yield* Effect.exit(Failure.handle(
        () => {
          throw defect
        },
        error,
        call
      ))
      assert.deepStrictEqual(thrown, Exit.die(defect))
      const interrupted = yield* Effect.exit(Failure.handle(() => Effect.interrupt, error, call))
      assert(Exit.isFailure(interrupted) && Cause.isInterruptedOnly(interrupted.cause))
    }))
})
