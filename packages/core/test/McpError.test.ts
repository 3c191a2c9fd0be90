import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpError, RequestLimit, RetryPolicy, ToolApproval, ToolFilter, Toolset } from "@mcp-runtime/core"
import { Effect, FastCheck, Schema } from "effect"
import * as Reasons from "../src/internal/connection/reasons.js"
import * as Owners from "../src/internal/errors/owners.js"

const about = { server: "files", operation: "tools/call", executed: "maybe" } as const
const exit = { code: 3, signal: null }
const stderrTail = "boom\n"

/** What may have happened to a request whose outcome is unknown. */
const unknownOutcomes = [
  new McpError.ConnectionClosed({ ...about, reason: "Exited", detail: "the process ended", exit, stderrTail }),
  new McpError.RequestTimeout({ ...about, kind: "idle", millis: 1500 }),
  new McpError.HttpError({ ...about, status: 502, body: "bad gateway", retryAfterMillis: 7 }),
  new McpError.ResponseLost({ ...about, reason: "Ended", detail: "the stream ended" }),
  new McpError.ProtocolViolation({ ...about, detail: "not JSON" })
]

/** One of each class with every field set, and with the optional ones left out, beside what its message must say. */
const samples: ReadonlyArray<readonly [McpError.McpError, ReadonlyArray<string>]> = [
  [
    new McpError.ConfigInvalid({
      ...about,
      operation: "configure",
      problems: [{ field: "url", problem: "is missing" }, { field: "name", problem: "must not be empty" }]
    }),
    ["the configuration is invalid: url: is missing; name: must not be empty"]
  ],
  [
    new McpError.ConfigInvalid({ ...about, problems: [{ field: "timeout", problem: "must be positive" }] }),
    ["invalid input: timeout: must be positive"]
  ],
  [
    new McpError.SpawnFailed({ ...about, reason: "NotFound", command: "npx", detail: "no such program" }),
    [`"npx"`, "no such program"]
  ],
  [
    new McpError.ConnectFailed({
      ...about,
      reason: "Refused",
      url: "http://127.0.0.1:1/",
      code: "ECONNREFUSED",
      detail: "refused"
    }),
    ["http://127.0.0.1:1/", "refused"]
  ],
  [
    new McpError.ConnectFailed({ ...about, reason: "Tls", url: "https://x/", detail: "self-signed" }),
    ["https://x/", "self-signed"]
  ],
  [
    new McpError.HandshakeFailed({ ...about, detail: "it ended", exit, stderrTail, code: -32000, data: { a: [1] } }),
    ["it ended", "exited with code 3", "stderr:\nboom"]
  ],
  [
    new McpError.HandshakeFailed({ ...about, detail: "it ended", exit: { code: null, signal: "SIGKILL" } }),
    ["it ended", "was killed by SIGKILL"]
  ],
  [new McpError.HandshakeFailed({ ...about, detail: "refused" }), ["the handshake failed: refused"]],
  [
    new McpError.VersionMismatch({ ...about, requested: "2025-11-25", offered: ["1999"], supported: ["2025-06-18"] }),
    ["2025-11-25", "1999", "2025-06-18"]
  ],
  [
    new McpError.VersionMismatch({ ...about, requested: "2025-11-25", offered: [], supported: ["2025-06-18"] }),
    ["offers none"]
  ],
  [
    new McpError.ConnectionClosed({ ...about, reason: "Exited", detail: "the process ended", exit, stderrTail }),
    ["the process ended", "exited with code 3", "boom"]
  ],
  [new McpError.ConnectionClosed({ ...about, reason: "Closing", detail: "closed by us" }), ["closed by us"]],
  [
    new McpError.RequestTimeout({ ...about, kind: "idle", millis: 1500, stderrTail }),
    ["1500 ms", "idle", "stderr:\nboom"]
  ],
  [new McpError.RequestTimeout({ ...about, kind: "total", millis: 0.5, stderrTail: undefined }), ["0.5 ms", "total"]],
  [
    new McpError.RequestTimeout({ ...about, kind: "send", millis: 5, detail: "the pipe is full" }),
    ["no answer within 5 ms (send time-out): the pipe is full"]
  ],
  [
    new McpError.RequestTimeout({ ...about, kind: "wait", millis: 1500, detail: "no turn", stderrTail }),
    ["could not be sent within 1500 ms: no turn; to do: raise ", "longer; the end of its stderr:\nboom"]
  ],
  [new McpError.RequestTimeout({ ...about, kind: "wait", millis: 1500 }), ["could not be sent within 1500 ms"]],
  [new McpError.SessionExpired({ ...about, status: 404 }), ["HTTP 404"]],
  [new McpError.Unauthorized({ ...about, challenge: "Bearer realm=x" }), ["HTTP 401", "Bearer realm=x"]],
  [
    new McpError.Unauthorized({
      ...about,
      challenge: "Bearer realm=x",
      authorizationUrl: "https://as.example/authorize?state=s",
      detail: "nobody has authorized it yet"
    }),
    ["HTTP 401", "nobody has authorized it yet", "https://as.example/authorize (", "Bearer realm=x"]
  ],
  [new McpError.Unauthorized(about), ["HTTP 401"]],
  [
    new McpError.Forbidden({ ...about, challenge: "Bearer", scope: "files:read", body: "no" }),
    ["HTTP 403", "files:read", "no"]
  ],
  [new McpError.Forbidden({ ...about, body: "" }), ["HTTP 403"]],
  [
    new McpError.HttpError({
      ...about,
      status: 503,
      retryAfterMillis: 2000,
      location: "https://other/",
      body: "busy",
      code: -32000,
      data: null
    }),
    ["HTTP 503", "2000 ms", "https://other/", "busy"]
  ],
  [new McpError.HttpError({ ...about, status: 500, body: "" }), ["HTTP 500"]],
  [new McpError.ResponseLost({ ...about, reason: "Ended", detail: "the stream ended" }), ["the stream ended"]],
  [new McpError.ProtocolViolation({ ...about, detail: "not JSON" }), ["breaks the protocol: not JSON"]],
  [new McpError.InvalidResult({ ...about, detail: "no content", result: { a: 1 } }), ["malformed: no content"]],
  [new McpError.InvalidResult({ ...about, detail: "too deep", result: undefined }), ["malformed: too deep"]],
  [new McpError.RemoteError({ ...about, code: -32602, reason: "bad args", data: ["x"] }), ["-32602", "bad args"]],
  [new McpError.RemoteError({ ...about, code: 42, reason: "x" }), ["error 42: x"]],
  [
    new McpError.ElicitationRequired({
      ...about,
      reason: "log in",
      elicitations: [{ elicitationId: "1", url: "https://x/", message: "m" }]
    }),
    ["a page", "log in"]
  ],
  [
    new McpError.ElicitationRequired({
      ...about,
      reason: "log in",
      elicitations: ["1", "2"].map((elicitationId) => ({ elicitationId, url: "https://x/", message: "m" }))
    }),
    ["2 pages"]
  ],
  [new McpError.CapabilityMissing({ ...about, capability: "tools" }), [`"tools"`]],
  [new McpError.LimitExceeded({ ...about, limit: "pages", max: 10 }), [`"pages"`, "10"]],
  [new McpError.TaskFailed({ ...about, taskId: "t1", status: "failed", detail: "why" }), ["t1", "failed: why"]],
  [new McpError.TaskFailed({ ...about, taskId: "t1", status: "cancelled", detail: "" }), ["t1 was cancelled"]],
  [new McpError.TaskFailed({ ...about, taskId: "t1", status: "expired", detail: "" }), ["t1 has expired"]],
  [
    new McpError.ArgumentsInvalid({
      ...about,
      tool: "read",
      problems: [{ field: "path", problem: "is missing" }, { field: "lines", problem: "must be a number" }]
    }),
    [`the arguments of "read" are invalid: path: is missing; lines: must be a number`]
  ],
  [
    new McpError.ConnectionUnavailable({ ...about, reason: "CrashLoop", detail: "it crashed", retryAfterMillis: 30 }),
    ["there is no connection, and the next try is possible in 30 ms: it crashed"]
  ],
  [
    new McpError.ConnectionUnavailable({ ...about, reason: "Disabled", detail: "it is disabled" }),
    ["there is no connection: it is disabled"]
  ],
  [
    new McpError.ConnectionUnavailable({ ...about, reason: "Released", detail: "it was closed" }),
    ["there is no connection: it was closed"]
  ],
  [
    new McpError.ArgumentsInvalid({
      ...about,
      tool: "read",
      problems: [{ field: "path", problem: "is missing" }],
      detail: "the server has changed it"
    }),
    [`the arguments of "read" are invalid: path: is missing (the server has changed it)`]
  ],
  [new McpError.ToolNotFound({ ...about, tool: "read", detail: "it is gone" }), [
    `there is no tool "read": it is gone`
  ]],
  [
    new McpError.OutputInvalid({
      ...about,
      tool: "read",
      problems: [{ field: "structuredContent.n", problem: "must be a number" }],
      result: { content: [] }
    }),
    [`"read" has run, and its answer does not fit its output schema: structuredContent.n: must be a number`]
  ],
  [
    new McpError.ToolFailed({ ...about, tool: "read", detail: "no such file", result: { content: [] } }),
    [`"read" has run, and says that it has failed: no such file`]
  ],
  [new McpError.MetaFailed({ ...about, tool: "read", detail: "it failed" }), [`of "read" could not be had: it failed`]],
  [new McpError.CloseFailed({ ...about, detail: "it did not end in time" }), [": it did not end in time"]],
  [
    new McpError.UnknownServer({ ...about, configured: ["a", "b"] }),
    [`no server of this name is configured; these are: "a", "b"`]
  ],
  [
    new McpError.UnknownServer({ ...about, configured: [] }),
    ["no server of this name is configured; none is"]
  ],
  [
    new McpError.ServersFailed({
      ...about,
      errors: [
        new McpError.Unauthorized({ ...about, server: "files" }),
        new McpError.CloseFailed({ ...about, server: "docs", detail: "x" }),
        new McpError.OutcomeUnknown({ ...about, server: "web", error: unknownOutcomes[0]! })
      ]
    }),
    [`asks for credentials`, `(and 2 more: "docs" CloseFailed, "web" OutcomeUnknown)`]
  ],
  ...unknownOutcomes.map((error) =>
    [
      new McpError.OutcomeUnknown({ ...about, error }),
      [
        "the outcome is unknown: it may have been executed, so it was not sent again; to do: ",
        `. ${McpError.whatHappened(error)}`
      ]
    ] as const
  )
]

const decode = Schema.decodeUnknownSync(McpError.McpError)
const encode = Schema.encodeSync(McpError.McpError)

describe("what an error is about", () => {
  const messageOf = (server: string) =>
    new McpError.ToolNotFound({ server, operation: "tools/call", executed: "no", tool: "x", detail: "d" }).message

  it("is called a server where it is one, and what it is where it is none", () => {
    const said = `: tools/call: there is no tool "x": d; to do: list the tools anew`
    assert.strictEqual(messageOf("files"), `MCP server "files"${said}`)
    // A server may have any name.
    assert.strictEqual(messageOf("<files>"), `MCP server "<files>"${said}`)
    assert.strictEqual(messageOf("constructor"), `MCP server "constructor"${said}`)
    for (const owner of Object.values(Owners.owners)) {
      assert.match(owner, /^<[a-z ]+>$/)
      assert.strictEqual(messageOf(owner), `${Owners.words.get(owner)}${said}`)
      assert.notInclude(messageOf(owner), "<")
    }
    assert.strictEqual(messageOf("<manager>"), `manager${said}`)
    assert.strictEqual(messageOf("<unnamed>"), `MCP server without a name${said}`)
  })

  it("that is no server is said by whoever makes it", () => {
    const aboutOf = (wrong: Effect.Effect<unknown, McpError.ConfigInvalid>) =>
      Effect.runSync(Effect.flip(wrong)).message.split(":")[0]
    const messages = [
      RequestLimit.make(0),
      Toolset.make("none" as never),
      ToolFilter.decodeNames([]),
      ToolApproval.make([] as never),
      ToolApproval.decode({}),
      RetryPolicy.make({ base: -1 }),
      McpConfig.decodeUnknown(1)
    ].map((_) => aboutOf(_))
    assert.deepStrictEqual(messages, [
      "request limit",
      "toolset",
      "tool filter",
      "tool approval",
      "pending approval",
      "retry policy",
      "MCP server without a name"
    ])
  })
})

describe("what to do", () => {
  const todosOf = ({ message }: McpError.McpError) => message.split("; to do: ").slice(1).map((_) => _.split(". ")[0])
  const looked = "find out whether it has run, before you send it again"

  it("is said once where an outcome is unknown, and beside what the error inside needs", () => {
    const said = unknownOutcomes.map((error) => todosOf(new McpError.OutcomeUnknown({ ...about, error })))
    for (const todos of said) {
      assert.strictEqual(todos[0], looked)
      assert.strictEqual(new Set(todos).size, todos.length, todos.join(" | "))
    }
    const closed = new McpError.ConnectionClosed({ ...about, reason: "Reset", detail: "it was reset" })
    const unknown = new McpError.OutcomeUnknown({ ...about, error: closed })
    assert.deepStrictEqual(todosOf(unknown), [looked])
    assert.notInclude(McpError.whatHappened(new McpError.ServersFailed({ ...about, errors: [unknown] })), "to do:")
  })

  it("is not to try again what may have run", () => {
    const busy = (executed: McpError.Executed) =>
      todosOf(new McpError.HttpError({ ...about, executed, status: 503, retryAfterMillis: 1000, body: "busy" }))
    assert.deepStrictEqual(busy("no"), ["try again later"])
    assert.deepStrictEqual(busy("maybe"), [looked])
  })

  it("is about what is wrong: files of this machine, a defect of the application, credentials that are there", () => {
    const connect = {
      ...about,
      executed: "no",
      reason: "Other",
      url: "http://x/",
      detail: "too many open files"
    } as const
    assert.include(todosOf(new McpError.ConnectFailed({ ...connect, code: "EMFILE" }))[0], "ulimit -n")
    assert.notInclude(Reasons.died("files").message, "MCP server, and")
    const refused = new McpError.Unauthorized({ ...about, executed: "no", detail: "the code was refused" })
    assert.notInclude(refused.message, "headers")
  })

  it("is not about the server where nobody knows what has answered, nor about options that bound something else", () => {
    const violation = (operation: string) =>
      todosOf(new McpError.ProtocolViolation({ ...about, operation, detail: "html" }))
    assert.deepStrictEqual(violation("initialize"), ["see whether that is an MCP server; if so, tell whoever makes it"])
    assert.deepStrictEqual(violation("tools/call"), ["tell whoever makes it"])
    const late = new McpError.RequestTimeout({ ...about, operation: "authorize", kind: "idle", millis: 10_000 })
    assert.notInclude(late.message, "raise")
  })
})

/** What is wrong with an input says what to do, and so do the words of a server about what it was asked. */
const saysItself: ReadonlySet<string> = new Set([
  "ArgumentsInvalid",
  "ConfigInvalid",
  "ElicitationRequired",
  "RemoteError",
  "TaskFailed",
  "ToolFailed"
])

describe("McpError", () => {
  it("the samples cover the family", () => {
    const family = McpError.McpError.members.map((_) => _._tag).sort()
    assert.deepStrictEqual([...new Set(samples.map(([_]) => _._tag))].sort(), family)
  })

  for (const [error, words] of samples) {
    it(`${error._tag} says which server, what was tried, what happened and what to do: ${words.join(" ")}`, () => {
      const { message } = error
      const happened = McpError.whatHappened(error)
      assert.notInclude(happened, "to do:")
      if (saysItself.has(error._tag)) assert.strictEqual(message, happened)
      else if ("authorizationUrl" in error && error.authorizationUrl !== undefined) {
        assert.include(message, "has to visit")
      } else assert.match(message, /; to do: [a-z]/)
      assert.isTrue(message.startsWith(`MCP server "files": ${error.operation}: `), message)
      for (const word of words) assert.include(message, word)
      assert.notInclude(message, "undefined")
      assert.notInclude(message, "null")
      assert.strictEqual(message, message.trim())
      assert.isTrue(error instanceof Error)
    })

    it(`${error._tag} passes through JSON (${words[0]})`, () => {
      const wire: unknown = JSON.parse(JSON.stringify(encode(error)))
      const back = decode(wire)
      assert.strictEqual(back.constructor, error.constructor)
      assert.strictEqual(back.message, error.message)
      assert.deepStrictEqual(encode(back), JSON.parse(JSON.stringify(encode(error))))
      assert.isTrue(McpError.isMcpError(back))
    })
  }

  it("isMcpError knows ours and nothing else", () => {
    for (const [error] of samples) assert.isTrue(McpError.isMcpError(error))
    const tagged = [{ _tag: "RemoteError" }, { _tag: { toString: null } }, { _tag: null }]
    for (const other of [undefined, null, "x", new Error("x"), ...tagged, encode(samples[0]![0])]) {
      assert.isFalse(McpError.isMcpError(other))
    }
  })

  it("only what was certainly not executed is replayable", () => {
    for (const executed of ["no", "maybe", "yes"] as const) {
      const error = new McpError.RemoteError({ ...about, executed, code: -32601, reason: "" })
      assert.strictEqual(McpError.isReplayable(error), executed === "no")
    }
  })

  it("an unknown outcome keeps the error that caused it, also through JSON, and takes no other kind of error", () => {
    for (const error of unknownOutcomes) {
      const back = decode(JSON.parse(JSON.stringify(encode(new McpError.OutcomeUnknown({ ...about, error })))))
      assert(back._tag === "OutcomeUnknown")
      assert.strictEqual(back.error.constructor, error.constructor)
      assert.deepStrictEqual(encode(back.error), encode(error))
    }
    const refused = new McpError.Forbidden({ ...about, body: "" })
    assert.throws(() => decode({ _tag: "OutcomeUnknown", ...about, error: encode(refused) }))
    assert.throws(() => decode({ _tag: "ConnectionUnavailable", ...about, reason: "Bored", detail: "" }))
  })

  it("unwritable was not sent", () => {
    const error = McpError.unwritable("files", "tools/call")
    assert.isTrue(McpError.isReplayable(error))
    assert.include(error.message, "cyclic")
  })
})

/** The fields of each class that are no part of what is asked here. */
const fields = {
  url: "http://h/",
  detail: "",
  body: "",
  command: "npx",
  status: 500,
  millis: 1,
  code: -32000,
  problems: [],
  tool: "t"
}

const every = { ...about, ...fields }

/** Each class, with each of the values that decide, and whether the same may succeed a little later. */
const transience: ReadonlyArray<readonly [McpError.McpError["_tag"], string, boolean, McpError.McpError]> = [
  ["ConfigInvalid", "", false, new McpError.ConfigInvalid(every)],
  ...([
    ["NotFound", false],
    ["NotExecutable", false],
    ["BadDirectory", false],
    ["InvalidArgument", false],
    ["TooLarge", false],
    ["Other", true]
  ] as const).map(([reason, may]) =>
    ["SpawnFailed", reason, may, new McpError.SpawnFailed({ ...every, reason })] as const
  ),
  ...([
    ["Refused", true],
    ["NameNotFound", true],
    ["Unreachable", true],
    ["Timeout", true],
    ["Proxy", true],
    ["Other", true],
    ["Tls", false],
    ["BadUrl", false]
  ] as const).map(([reason, may]) =>
    ["ConnectFailed", reason, may, new McpError.ConnectFailed({ ...about, url: "", detail: "", reason })] as const
  ),
  ["HandshakeFailed", "it ended", true, new McpError.HandshakeFailed({ ...about, detail: "it ended", exit })],
  ["HandshakeFailed", "it refused", false, new McpError.HandshakeFailed({ ...about, detail: "it refused", code: 1 })],
  [
    "VersionMismatch",
    "",
    false,
    new McpError.VersionMismatch({ ...about, requested: "a", offered: [], supported: ["a"] })
  ],
  ...([
    ["Exited", true],
    ["OutputClosed", true],
    ["InputClosed", true],
    ["StreamLost", true],
    ["Reset", true],
    ["Overflow", false],
    ["Closing", false]
  ] as const).map(([reason, may]) =>
    ["ConnectionClosed", reason, may, new McpError.ConnectionClosed({ ...every, reason })] as const
  ),
  ...([
    ["idle", true],
    ["handshake", true],
    ["send", true],
    ["total", false],
    ["wait", false]
  ] as const).map(([kind, may]) =>
    ["RequestTimeout", kind, may, new McpError.RequestTimeout({ ...every, kind })] as const
  ),
  ["SessionExpired", "", true, new McpError.SessionExpired({ ...about, status: 404 })],
  ["Unauthorized", "", false, new McpError.Unauthorized(about)],
  ["Forbidden", "", false, new McpError.Forbidden({ ...about, body: "" })],
  ...([
    [301, false],
    [302, false],
    [307, false],
    [400, false],
    [402, false],
    [404, false],
    [405, false],
    [406, false],
    [408, true],
    [409, false],
    [410, false],
    [413, false],
    [415, false],
    [422, false],
    [424, false],
    [425, true],
    [426, false],
    [428, false],
    [429, true],
    [431, false],
    [499, false],
    [500, true],
    [501, false],
    [502, true],
    [503, true],
    [504, true],
    [505, false],
    [520, true],
    [529, true],
    [599, true]
  ] as const).map(([status, may]) =>
    ["HttpError", String(status), may, new McpError.HttpError({ ...about, body: "", status })] as const
  ),
  ...(["Accepted", "Ended", "Broken", "Unanswered", "ResumeFailed"] as const).map((reason) =>
    ["ResponseLost", reason, true, new McpError.ResponseLost({ ...every, reason })] as const
  ),
  ["ProtocolViolation", "", false, new McpError.ProtocolViolation(every)],
  ["InvalidResult", "", false, new McpError.InvalidResult(every)],
  ...[-32000, -32001, -32600, -32601, -32602, -32603, -32700, 503].map((code) =>
    ["RemoteError", String(code), false, new McpError.RemoteError({ ...about, code, reason: "try later" })] as const
  ),
  ["ElicitationRequired", "", false, new McpError.ElicitationRequired({ ...about, reason: "", elicitations: [] })],
  ["CapabilityMissing", "", false, new McpError.CapabilityMissing({ ...about, capability: "tools" })],
  ["LimitExceeded", "", false, new McpError.LimitExceeded({ ...about, limit: "inFlight", max: 1 })],
  ...(["failed", "cancelled", "expired"] as const).map((status) =>
    ["TaskFailed", status, false, new McpError.TaskFailed({ ...about, taskId: "1", status, detail: "" })] as const
  ),
  ["ArgumentsInvalid", "", false, new McpError.ArgumentsInvalid(every)],
  ...(["Disabled", "Released", "CrashLoop"] as const).map((reason) =>
    ["ConnectionUnavailable", reason, false, new McpError.ConnectionUnavailable({ ...every, reason })] as const
  ),
  ...unknownOutcomes.map((error) =>
    ["OutcomeUnknown", error._tag, false, new McpError.OutcomeUnknown({ ...about, error })] as const
  ),
  ["ToolNotFound", "", false, new McpError.ToolNotFound({ ...every, tool: "x" })],
  ["CloseFailed", "", false, new McpError.CloseFailed(every)],
  ["OutputInvalid", "", false, new McpError.OutputInvalid({ ...about, tool: "x", problems: [], result: {} })],
  ["ToolFailed", "", false, new McpError.ToolFailed({ ...every, tool: "x", result: {} })],
  ["MetaFailed", "", false, new McpError.MetaFailed({ ...every, tool: "x" })],
  ["UnknownServer", "", false, new McpError.UnknownServer({ ...about, configured: [] })],
  ["ServersFailed", "", false, new McpError.ServersFailed({ ...about, errors: [new McpError.Unauthorized(about)] })]
]

describe("isTransient", () => {
  it("the table covers the family", () => {
    const family = McpError.McpError.members.map((_) => _._tag).sort()
    assert.deepStrictEqual([...new Set(transience.map(([tag]) => tag))].sort(), family)
  })

  it.each(transience)("%s %s may succeed a little later: %s", (tag, _, may, error) => {
    assert.strictEqual(error._tag, tag)
    assert.strictEqual(McpError.isTransient(error), may)
  })

  it("does not depend on whether it was executed", () => {
    for (const [, , may, error] of transience) {
      for (const executed of ["no", "maybe", "yes"] as const) {
        const other = decode({ ...encode(error), executed })
        assert.strictEqual(McpError.isTransient(other), may, error.message)
      }
    }
  })
})

const secret = "hunter2"

describe("displayUrl", () => {
  it("leaves out user, password, query and fragment", () => {
    assert.strictEqual(
      McpError.displayUrl(`https://${secret}:${secret}@example.com:8443/a/b?k=${secret}#${secret}`),
      "https://example.com:8443/a/b"
    )
    assert.strictEqual(McpError.displayUrl(`https://${secret}@example.com`), "https://example.com/")
    assert.strictEqual(McpError.displayUrl(`redis://:${secret}@[::1]:6379/0`), "redis://[::1]:6379/0")
    assert.strictEqual(McpError.displayUrl("http://h/"), "http://h/")
  })

  it("does not show what it can't parse", () => {
    for (const url of ["", secret, `http://${secret}:x@`, `http://h:${secret}/`, `//u:${secret}@h`]) {
      assert.strictEqual(McpError.displayUrl(url), "<not a URL>")
    }
  })
})

/** One of each kind. */
const unseen = [
  "\u00ad", // soft hyphen
  "\u034f", // combining grapheme joiner
  "\u061c", // Arabic letter mark
  "\u115f", // Hangul fillers
  "\u1160",
  "\u3164",
  "\uffa0",
  "\u17b4", // Khmer inherent vowel
  "\u180e", // Mongolian vowel separator
  "\u200b", // zero-width space
  "\u200e", // left to right, right to left
  "\u200f",
  "\u2028", // ends of lines
  "\u2029",
  "\u202a",
  "\u202e",
  "\u2060",
  "\u2066",
  "\u2069",
  "\u206f",
  "\u2800", // Braille blank
  "\ufeff",
  "\ufff0",
  "\ufff9", // annotations
  "\u{1d159}", // musical null notehead
  "\u{1d173}", // musical beam
  "\u{1bca0}",
  "\u{e0061}", // tag
  "\u{e0080}"
]

const joiners = ["\u200c", "\u200d", "\ufe00", "\ufe0f", "\u180b", "\u180f", "\u{e0100}", "\u{e01ef}"]

describe("displayName", () => {
  it("shows each mark that nobody sees, joiners too, and ends of lines, as one visible character", () => {
    for (const mark of [...unseen, ...joiners, "\u0085", "\u009b"]) {
      assert.strictEqual(McpError.displayName(`read_${mark}file${mark}`), "read_\ufffdfile\ufffd", JSON.stringify(mark))
    }
    assert.strictEqual(McpError.displayName("x\r\n\tApproved.\u001b[2J\u007f\u0000"), "x␍␊␉Approved.␛[2J␡␀")
  })

  it("what can be seen stays, spaces too, and its end where it is long is told", () => {
    for (const name of ["read_file", " read file ", "日本　語", "größe", "😀", ""]) {
      assert.strictEqual(McpError.displayName(name), name)
    }
    assert.strictEqual(McpError.displayName("abcdefg", 6), "abcdef... (1 more characters)")
    assert.strictEqual(McpError.displayName("\u202ebcdefg", 6), "\ufffdbcdef... (1 more characters)")
    assert.strictEqual(McpError.displayName("at https://u:hunter2@a.example/x?t=hunter2"), "at https://a.example/x")
  })

  it("names of servers and tools in messages are shown so", () => {
    const at = { server: "a\u202eb", operation: "tools/call", executed: "no" } as const
    const failed = new McpError.ToolNotFound({ ...at, tool: "read\u200b\nfile", detail: "gone" })
    assert.strictEqual(
      failed.message,
      "MCP server \"a\ufffdb\": tools/call: there is no tool \"read\ufffd␊file\": gone; to do: list the tools anew"
    )
    const both = new McpError.ServersFailed({ ...at, errors: [failed, failed] })
    assert.include(both.message, "(and 1 more: \"a\ufffdb\" ToolNotFound)")
  })

  it("takes time in proportion to the length of a hostile name", () => {
    for (const unit of ["a", "\u202e", "a\u200d", "http://", "\u0000", "é\ufe0f\u200d", "\u{e0061}"]) {
      const text = unit.repeat(300_000 / unit.length)
      assert.isAtMost(McpError.displayName(text, text.length).length, text.length * 2)
      assert.isAtMost(McpError.displayText(text, text.length).length, text.length * 2)
    }
  })
})

describe("displayText", () => {
  const show = (text: string) => McpError.displayText(text, 10_000)

  it("reduces every URL in a text, and nothing else", () => {
    assert.strictEqual(
      show(`get https://u:${secret}@a.com/x?t=${secret} then "WSS://b.com/?${secret}", <postgres://u:${secret}@db/1>`),
      `get https://a.com/x then "wss://b.com/", <postgres://db/1>`
    )
    assert.strictEqual(show("a: b//c, d:e, 12:34:56, C:\\x, a:/b"), "a: b//c, d:e, 12:34:56, C:\\x, a:/b")
  })

  it("finds a URL whatever stands before it", () => {
    for (
      const before of ["", " ", "(", "=", "_", "-", ".", "9", "1.2-", "é", "jdbc:", ":", "/", "\u0000", "a\n", "%"]
    ) {
      for (const scheme of ["https", "postgresql", "git+ssh", "x".repeat(100)]) {
        const shown = show(`${before}${scheme}://u:${secret}@host/p?k=${secret}`)
        assert.notInclude(shown, secret)
        assert.include(shown, "host/p")
      }
    }
  })

  it("has no control characters but tabs and line ends", () => {
    assert.strictEqual(show("a\u0000\u0007b\u001bc\rd\u007fe\u009bf\tg\nh"), "a b c d e f\tg\nh")
  })

  it("has no colours, as a terminal is told of them, and no part of them", () => {
    assert.strictEqual(
      show("\u001b[31m\u001b[1mError:\u001b[22m no key\u001b[39m\n\u001b[38;5;208mx\u001b[0m"),
      "Error:  no key \n x"
    )
    assert.strictEqual(show(`\u001b[2K\u001b[1G\u001b[?25hhttps://u:${secret}@host/p\u001b[4m`), "https://host/p")
    // It puts nothing together that was apart.
    assert.strictEqual(show("hun\u001b[31mter2"), "hun ter2")
    assert.strictEqual(show("x\u001b[é, [31m"), "x [é, [31m")
  })

  it("however many problems there are, a message names thirty of them", () => {
    // A server says which arguments its tool requires.
    const problems = Array.from({ length: 10_000 }, (_, i) => ({ field: `arguments.f${i}`, problem: "is required" }))
    const all = [
      new McpError.ArgumentsInvalid({ ...about, tool: "t", problems, detail: "why" }),
      new McpError.OutputInvalid({ ...about, tool: "t", problems, result: {} }),
      new McpError.ConfigInvalid({ ...about, problems })
    ]
    for (const { message } of all) {
      assert.include(message, "arguments.f29: is required; and 9970 more")
      assert.notInclude(message, "arguments.f30")
    }
  })

  it("is bounded, and says how much is missing", () => {
    assert.strictEqual(McpError.displayText("abcdef", 6), "abcdef")
    assert.strictEqual(McpError.displayText("abcdefg", 6), "abcdef... (1 more characters)")
    assert.strictEqual(McpError.displayText("", 6), "")
    assert.isBelow(McpError.displayText("x".repeat(1_000_000), 100).length, 140)
  })

  it("shows no part of a URL that the bound has cut", () => {
    const text = `see https://${secret}:9999${secret}@example.com/path?key=${secret} now`
    for (let max = 0; max < text.length; max++) {
      const shown = McpError.displayText(text, max)
      for (const part of ["hunt", "9999"]) assert.notInclude(shown, part, `at ${max}`)
    }
  })

  it("takes time in proportion to the length of a hostile text", () => {
    const size = 300_000
    for (
      const unit of [
        "a",
        "a.",
        "a-",
        "http:",
        "http:/",
        "://",
        "a://",
        "a://b ",
        "1.",
        ".",
        "@",
        "\u0000",
        "a\u0000",
        "\u001b[",
        "\u001b[1;",
        "\u001b[1 "
      ]
    ) {
      const text = unit.repeat(size / unit.length)
      // A quadratic one takes minutes, which a test does not have.
      assert.isAtMost(McpError.displayText(text, text.length).length, text.length * 2)
    }
  })

  it("marks that nobody sees, or that turn text around, are seen; words, emoji and what they are joined with stay", () => {
    for (const mark of unseen) {
      assert.strictEqual(show(`a${mark}b`), "a\ufffdb", JSON.stringify(mark))
      assert.strictEqual(show(`${mark}b`), "\ufffdb", JSON.stringify(mark))
    }
    assert.strictEqual(show("\ufeff\u200bx\u200b"), "\ufffd\ufffdx\ufffd")
    const ordinary = "👩\u200d🚀 ❤\ufe0f\u200d🔥 1\ufe0f⃣ می\u200cشود क्\u200dष 葛\u{e0100} ᠠ\u180b naïve 日本　語"
    assert.strictEqual(show(ordinary), ordinary)
    // One that joins nothing, and bytes that are hidden behind a character.
    assert.strictEqual(show("a \u200db"), "a \ufffdb")
    assert.strictEqual(show("a\u200d\u200db"), "a\u200d\ufffdb")
    assert.strictEqual(show("😀\ufe0f\ufe01\u{e0101}\u{e0102}"), "😀\ufe0f\ufffd\ufffd\ufffd")
  })

  it("never throws, and what it shows is shown as it is again", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.oneof(FastCheck.string({ unit: "binary" }), FastCheck.webUrl()), (text) => {
        const shown = show(text)
        assert.strictEqual(show(shown), shown)
      }),
      { numRuns: 500 }
    )
  })
})
