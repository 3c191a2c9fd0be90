import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpError } from "@mcp-runtime/core"
import { Effect } from "effect"
import * as Doctor from "../src/Doctor.js"

const stdio = Effect.runSync(McpConfig.decode({ name: "files", transport: "stdio", command: "node", args: ["x.js"] }))
/** What the transport of the SDK says to a second client. */
const taken = JSON.stringify({
  jsonrpc: "2.0",
  error: { code: -32600, message: "Invalid Request: Server already initialized" }
})

const http = Effect.runSync(
  McpConfig.decode({ name: "docs", transport: "http", url: "https://docs.example.com/api?key=CANARY" })
)
const withToken = Effect.runSync(
  McpConfig.decode({
    name: "docs",
    transport: "http",
    url: "https://docs.example.com/mcp",
    headers: { authorization: "Bearer CANARY" }
  })
)

const about = { server: "files", operation: "open", executed: "no" } as const
const remote = { server: "docs", operation: "initialize", executed: "no" } as const
const connect = { ...remote, url: "https://docs.example.com/mcp", detail: "it failed" } as const

const spawn = (command: string, reason: McpError.SpawnFailed["reason"] = "NotFound") =>
  new McpError.SpawnFailed({ ...about, reason, command, detail: "the command was not found (ENOENT)" })
const exited = (code: number | null, stderrTail?: string, signal: string | null = null) =>
  new McpError.HandshakeFailed({
    ...about,
    detail: "the server process ended",
    exit: { code, signal },
    ...(stderrTail === undefined ? {} : { stderrTail })
  })
const tls = (code: string) => new McpError.ConnectFailed({ ...connect, reason: "Tls", code })
const status = (status: number, more: { readonly body?: string; readonly location?: string } = {}) =>
  new McpError.HttpError({ ...remote, status, body: "", ...more })

/** Each: what has gone wrong, what is known beside it, and what must be said: in the headline, and in what to do. */
const table: ReadonlyArray<
  readonly [
    name: string,
    error: McpError.McpError,
    surroundings: Doctor.Surroundings,
    headline: RegExp,
    todo: RegExp,
    details?: RegExp
  ]
> = [
  // the command
  [
    "a command that is not there, one letter too many",
    spawn("nodee"),
    {
      path: "/usr/bin:/bin",
      findings: [{ _tag: "CommandMissing", similar: ["node"] }],
      configFile: "/home/ada/mcp.json"
    },
    /the command "nodee" was not found/,
    /Did you mean "node"\?[\s\S]*"command" of "files" in \/home\/ada\/mcp\.json/,
    /PATH was.*\/usr\/bin:\/bin/
  ],
  ["npx without Node", spawn("npx"), { path: "/bin" }, /"npx" was not found/, /comes with Node\.js/],
  ["uvx without uv", spawn("uvx"), { path: "/bin" }, /"uvx" was not found/, /comes with uv/],
  ["an empty PATH", spawn("node"), { path: "" }, /"node" was not found/, /Install Node\.js/, /PATH was.*\(empty\)/],
  ["a whole command line as command", spawn("node server.js"), {}, /not found/, /"command": "node".*"args"/],
  ["a relative path", spawn("./server"), {}, /"\.\/server" was not found/, /"cwd"/],
  ["a path with ~", spawn("~/server"), {}, /not found/, /\$\{userHome\}/],
  [
    "a script whose interpreter is missing",
    spawn("/srv/run"),
    { findings: [{ _tag: "InterpreterMissing", file: "/srv/run", interpreter: "python2" }] },
    /"python2", which runs "\/srv\/run", was not found/,
    /another interpreter/
  ],
  ["a file that may not be run", spawn("/srv/run.sh", "NotExecutable"), {}, /can't be run/, /chmod \+x/],
  ["a directory that is not there", spawn("node", "BadDirectory"), {}, /working directory/, /"cwd" of "files"/],
  ["a NUL character", spawn("node", "InvalidArgument"), {}, /can't be started as it is written/, /Correct "command"/],
  ["arguments that are too large", spawn("node", "TooLarge"), {}, /too large/, /smaller/],
  ["no process left", spawn("node", "Other"), {}, /did not start/, /ulimit/],
  // ended at the start
  [
    "a script that is not there",
    exited(1, "Error: Cannot find module '/srv/serve.js'"),
    { config: stdio, findings: [{ _tag: "ScriptMissing", file: "/srv/serve.js", similar: ["/srv/server.js"] }] },
    /the file "\/srv\/serve\.js" is not there/,
    /Did you mean "\/srv\/server\.js"\?[\s\S]*"args" of "files"/
  ],
  [
    "the same by its stderr",
    exited(1, "Error: Cannot find module '/srv/serve.js'"),
    { config: stdio },
    /not there/,
    /"args"/
  ],
  [
    "node_modules is missing",
    exited(1, "Error: Cannot find package 'zod' imported from /a.js"),
    {},
    /"zod"/,
    /npm install/
  ],
  ["a Python script", exited(2, "python3: can't open file 'x.py': [Errno 2]"), {}, /"x\.py" is not there/, /"args"/],
  [
    "a Python module",
    exited(1, "ModuleNotFoundError: No module named 'mcp'"),
    {},
    /"mcp" is not installed/,
    /pip install mcp/
  ],
  [
    "a package npm does not know",
    exited(1, "npm error code E404\nnpm error 404 '@modelcontextprotocol/server-filesytem@*' is not in this registry."),
    {},
    /npm knows no package "@modelcontextprotocol\/server-filesytem"/,
    /spelling/
  ],
  ["npm without a network", exited(1, "npm ERR! code ENOTFOUND"), {}, /can't reach its registry/, /network/],
  [
    "a port in use",
    exited(1, "Error: listen EADDRINUSE: address already in use :::3000"),
    {},
    /port 3000 that it wants is in use/,
    /lsof -i :3000/
  ],
  [
    "a port in use, in words of the server",
    exited(1, "Failed to start: Port 3001 is already in use. Set PORT to a free port."),
    {},
    /port 3001 that it wants is in use/,
    /lsof -i :3001/
  ],
  [
    "a missing variable",
    exited(1, "Error: SLACK_BOT_TOKEN environment variable is required"),
    { config: stdio },
    /the variable SLACK_BOT_TOKEN is missing/,
    /Add "SLACK_BOT_TOKEN" to "env" of "files"/
  ],
  [
    "a missing variable, the other way round",
    exited(1, "Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables"),
    { config: stdio },
    /SLACK_BOT_TOKEN/,
    /"env"/
  ],
  [
    "Docker that does not run",
    exited(1, "Cannot connect to the Docker daemon at unix://"),
    {},
    /Docker does not run/,
    /Start Docker/
  ],
  ["a program a shell can't find", exited(127, "sh: 1: mcp-server: not found"), {}, /"mcp-server"/, /Install/],
  [
    "a directory as argument",
    exited(1, "Error: ENOENT: no such file or directory, stat '/nope'"),
    {},
    /"\/nope"/,
    /"args"/
  ],
  ["a usage", exited(1, "Usage: server <directory>"), {}, /how it is to be used/, /usage/],
  [
    "a reason nobody knows",
    exited(3, "fatal: flux"),
    {},
    /ended at its start/,
    /Read what it wrote to stderr/,
    /fatal: flux/
  ],
  ["nothing on stderr", exited(3), {}, /ended at its start/, /Run the same command in your shell/, /\(nothing\)/],
  ["a program that is done at once", exited(0), {}, /ended at its start/, /not an MCP server/],
  ["a process that was killed", exited(null, undefined, "SIGKILL"), {}, /ended at its start/, /memory/],
  // silent
  [
    "a server that logs to stdout",
    new McpError.RequestTimeout({ ...about, kind: "handshake", millis: 30_000 }),
    { config: stdio, findings: [{ _tag: "Noise", line: "a line of its output is not JSON: Listening ..." }] },
    /writes to stdout what is no message/,
    /Log to stderr/,
    /Listening/
  ],
  [
    "a server that says nothing",
    new McpError.RequestTimeout({ ...about, kind: "handshake", millis: 30_000, stderrTail: "Server ready on port 80" }),
    { config: stdio },
    /did not answer/,
    /speaks over stdio[\s\S]*more time/,
    /Server ready/
  ],
  [
    "a URL that says nothing",
    new McpError.RequestTimeout({ ...remote, kind: "handshake", millis: 30_000 }),
    { config: http },
    /did not answer in time/,
    /Check the URL/
  ],
  // the network
  [
    "refused",
    new McpError.ConnectFailed({ ...connect, reason: "Refused" }),
    {},
    /nothing listens at "docs\.example\.com"/,
    /Start the server/
  ],
  ["no such host", new McpError.ConnectFailed({ ...connect, reason: "NameNotFound" }), {}, /no host/, /spelling/],
  ["unreachable", new McpError.ConnectFailed({ ...connect, reason: "Unreachable" }), {}, /can't be reached/, /network/],
  ["a firewall", new McpError.ConnectFailed({ ...connect, reason: "Timeout" }), {}, /in time/, /firewall/],
  ["a bad URL", new McpError.ConnectFailed({ ...connect, reason: "BadUrl" }), {}, /can't be used/, /http:\/\//],
  ["a proxy", new McpError.ConnectFailed({ ...connect, reason: "Proxy" }), {}, /proxy/, /"proxy" of "docs"/],
  ["anything else", new McpError.ConnectFailed({ ...connect, reason: "Other" }), {}, /could not be sent/, /Try again/],
  [
    "no file left to open",
    new McpError.ConnectFailed({ ...connect, reason: "Other", code: "EMFILE" }),
    {},
    /could not be sent/,
    /ulimit -n/
  ],
  [
    "self-signed",
    tls("DEPTH_ZERO_SELF_SIGNED_CERT"),
    { findings: [{ _tag: "Certificate", subject: "me", issuer: "me", names: "localhost", validTo: "Nov 1 2030" }] },
    /self-signed/,
    /"ca"[\s\S]*NODE_EXTRA_CA_CERTS/,
    /signed by.*me/
  ],
  ["an unknown authority", tls("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), {}, /nobody this machine trusts/, /"ca"/],
  ["expired", tls("CERT_HAS_EXPIRED"), {}, /has expired/, /renew/],
  ["too early", tls("CERT_NOT_YET_VALID"), {}, /not valid yet/, /clock/],
  ["another host", tls("ERR_TLS_CERT_ALTNAME_INVALID"), {}, /for another host/, /"url" of "docs"/],
  ["no TLS at all", tls("ERR_SSL_WRONG_VERSION_NUMBER"), {}, /does not speak TLS/, /http:\/\/ instead of https/],
  ["TLS otherwise", tls("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"), {}, /no secure connection/, /"tls"/],
  [
    "http to a port that speaks https",
    new McpError.HandshakeFailed({ ...remote, detail: "what came back is not HTTP" }),
    { config: http, findings: [{ _tag: "OtherScheme", scheme: "https" }] },
    /speaks https at this port/,
    /Write https:\/\//
  ],
  // HTTP
  [
    "401 without credentials",
    new McpError.Unauthorized({ ...remote, challenge: "Bearer realm=\"docs\"" }),
    { config: http },
    /asks for credentials/,
    /mcp-runtime auth docs/,
    /challenge.*realm/
  ],
  ["401 with a token", new McpError.Unauthorized(remote), { config: withToken }, /does not accept the token/, /Bearer/],
  [
    "401 of a server whose authorization server registers nobody",
    new McpError.Unauthorized({
      ...remote,
      detail: "its authorization server has refused to register this client (HTTP 404)"
    }),
    { config: http },
    /asks for credentials/,
    /Register a client there by hand.*"clientId"/
  ],
  [
    "the port of the callback is in use",
    new McpError.Unauthorized({ ...remote, detail: "port 33418 is in use (EADDRINUSE)" }),
    { config: http },
    /the port for the answer of the browser is in use/,
    /redirectPort/
  ],
  [
    "403 with a scope",
    new McpError.Forbidden({ ...remote, scope: "write", body: "" }),
    {},
    /does not let you in/,
    /"write": mcp-runtime auth/
  ],
  [
    "404",
    status(404),
    { config: http },
    /nothing at its URL/,
    /\/mcp, older ones at \/sse/,
    /URL.*https:\/\/docs\.example\.com\/api$/m
  ],
  [
    "404, and it is elsewhere",
    status(404),
    { config: http, findings: [{ _tag: "Elsewhere", url: "https://docs.example.com/mcp" }] },
    /nothing at its URL/,
    /answers at https:\/\/docs\.example\.com\/mcp/
  ],
  ["405", status(405), { config: http }, /no MCP server of this kind/, /"type": "sse"/],
  ["406", status(406), { config: http }, /does not take/, /"sse"/],
  [
    "a redirect",
    status(308, { location: "https://docs.example.com/v2?key=CANARY" }),
    {},
    /at another URL/,
    /docs\.example\.com\/v2 in/
  ],
  ["407", status(407), {}, /proxy asks for credentials/, /user:password@host/],
  ["429", status(429), {}, /too often/, /Wait/],
  ["500", status(500, { body: "boom" }), {}, /has failed/, /log/, /boom/],
  ["503", status(503), {}, /not available now/, /later/],
  ["504", status(504), {}, /too long/, /later/],
  ["400", status(400), { config: http }, /refuses/, /Check the path/],
  [
    "a web page",
    new McpError.ProtocolViolation({
      ...remote,
      detail: `an answer of the type "text/html" (HTTP 200) instead of JSON`
    }),
    { config: http, findings: [{ _tag: "WebPage", status: 200, title: "Welcome to nginx!" }] },
    /a web page is at its URL/,
    /\/mcp/,
    /Welcome to nginx/
  ],
  [
    "JSON of another kind",
    new McpError.ProtocolViolation({ ...remote, detail: "an answer that is not JSON-RPC 2.0" }),
    { config: http },
    /does not speak MCP/,
    /path/
  ],
  [
    "a process of another kind",
    new McpError.ProtocolViolation({ ...about, detail: "not MCP" }),
    { config: stdio },
    /protocol/,
    /"command"/
  ],
  [
    "neither transport",
    new McpError.HandshakeFailed({
      ...remote,
      detail: "neither transport works. Streamable HTTP: HTTP 404. HTTP+SSE: HTTP 404"
    }),
    { config: http },
    /nothing at its URL/,
    /\/mcp/
  ],
  [
    "a server for one session",
    new McpError.HttpError({ ...remote, operation: "initialize", status: 400, body: taken }),
    { config: http },
    /serves one session only, and has it already/,
    /Restart it/
  ],
  [
    "a server for one session, and neither transport",
    new McpError.HandshakeFailed({
      ...remote,
      detail: `neither transport works. Streamable HTTP: HTTP 400: ${taken}. HTTP+SSE: HTTP 400`
    }),
    { config: http },
    /serves one session only, and has it already/,
    /Restart it/
  ],
  [
    "a refused handshake",
    new McpError.HandshakeFailed({ ...remote, detail: "error -32603", code: -32603 }),
    { config: http },
    /refused/,
    /Update/
  ],
  [
    "versions",
    new McpError.VersionMismatch({
      ...about,
      requested: "2025-11-25",
      offered: ["1999-01-01"],
      supported: ["2025-11-25"]
    }),
    {},
    /no common version/,
    /Update the server/,
    /2025-11-25/
  ],
  // configuration
  [
    "one wrong field",
    new McpError.ConfigInvalid({
      ...about,
      operation: "configure",
      problems: [{ field: "url", problem: "must be a URL" }]
    }),
    { configFile: "mcp.json" },
    /url: must be a URL/,
    /"url" of "files" in mcp\.json/
  ],
  [
    "a variable that is not set",
    new McpError.ConfigInvalid({
      ...about,
      problems: [{ field: "env.TOKEN", problem: "the variable \"DOCS_TOKEN\" is not set" }]
    }),
    {},
    /DOCS_TOKEN/,
    /export DOCS_TOKEN=[\s\S]*\$\{DOCS_TOKEN:-default\}/
  ],
  [
    "a server that is not configured",
    new McpError.UnknownServer({ ...about, server: "flies", configured: ["docs", "files"] }),
    {},
    /no server "flies"/,
    /Did you mean "files"\?/,
    /docs, files/
  ],
  ["no server at all", new McpError.UnknownServer({ ...about, configured: [] }), {}, /no server/, /mcp\.json/],
  // calls
  [
    "a wrong tool",
    new McpError.ToolNotFound({ ...about, tool: "raed_file", detail: "it is not listed" }),
    { tools: ["read_file", "write_file"] },
    /no tool "raed_file"/,
    /Did you mean "read_file"/
  ],
  [
    "wrong arguments",
    new McpError.ArgumentsInvalid({ ...about, tool: "add", problems: [{ field: "a", problem: "must be a number" }] }),
    {},
    /"add" are wrong: a: must be a number/,
    /Correct "a"/
  ],
  [
    "an unknown tool, says the server",
    new McpError.RemoteError({ ...about, operation: "tools/call", code: -32602, reason: "Unknown tool: raed_file" }),
    { tools: ["read_file"] },
    /Unknown tool/,
    /Did you mean "read_file"/
  ],
  [
    "a method it does not know",
    new McpError.RemoteError({ ...about, code: -32601, reason: "no" }),
    {},
    /does not know/,
    /doctor/
  ],
  [
    "a method that a tool does not find here",
    new McpError.RemoteError({ ...about, operation: "tools/call", code: -32601, reason: "Method not found" }),
    {},
    /has refused "tools\/call": Method not found/,
    /a model, the user or roots.*it may have run/
  ],
  [
    "a resource that it does not know",
    new McpError.RemoteError({ ...about, operation: "resources/read", code: -32601, reason: "no x:" }),
    {},
    /has refused "resources\/read": no x:/,
    /mcp-runtime resources/
  ],
  [
    "an error of the server",
    new McpError.RemoteError({ ...about, code: -32603, reason: "boom" }),
    {},
    /has failed: boom/,
    /log/
  ],
  [
    "a crash during a call",
    new McpError.ConnectionClosed({
      ...about,
      reason: "Exited",
      detail: "ended",
      exit: { code: 5, signal: null },
      stderrTail: "fatal"
    }),
    {},
    /the connection was lost/,
    /crashes/,
    /fatal/
  ],
  [
    "a message that is too large",
    new McpError.ConnectionClosed({ ...about, reason: "Overflow", detail: "x" }),
    {},
    /too large/,
    /messageBytes/
  ],
  [
    "a call that hangs",
    new McpError.RequestTimeout({ ...about, kind: "idle", millis: 60_000 }),
    {},
    /in time/,
    /--timeout/
  ],
  [
    "a call that waits",
    new McpError.RequestTimeout({ ...about, kind: "wait", millis: 60_000 }),
    {},
    /could not be sent/,
    /--timeout/
  ],
  [
    "a lost answer",
    new McpError.ResponseLost({ ...about, reason: "Ended", detail: "x" }),
    {},
    /was lost/,
    /look before/
  ],
  ["a lost session", new McpError.SessionExpired({ ...about, status: 404 }), {}, /forgotten/, /Try again/],
  [
    "an unknown outcome",
    new McpError.OutcomeUnknown({
      ...about,
      executed: "maybe",
      error: new McpError.RequestTimeout({ ...about, kind: "idle", millis: 1 })
    }),
    {},
    /is not known/,
    /before you try again/
  ],
  ["malformed", new McpError.InvalidResult({ ...about, detail: "x" }), {}, /malformed/, /Update/],
  [
    "a page to visit",
    new McpError.ElicitationRequired({
      ...about,
      reason: "log in",
      elicitations: [{ elicitationId: "1", url: "https://example.com/login?state=1", message: "Log in" }]
    }),
    {},
    /visit a page/,
    /browser/,
    /https:\/\/example\.com\/login\?state=1/
  ],
  [
    "a capability",
    new McpError.CapabilityMissing({ ...about, capability: "prompts" }),
    {},
    /does not offer "prompts"/,
    /doctor/
  ],
  ["a limit", new McpError.LimitExceeded({ ...about, limit: "items", max: 3 }), {}, /"items" of 3/, /Raise "items"/],
  ["a task", new McpError.TaskFailed({ ...about, taskId: "1", status: "failed", detail: "x" }), {}, /task/, /log/],
  [
    "disabled",
    new McpError.ConnectionUnavailable({ ...about, reason: "Disabled", detail: "x" }),
    {},
    /is disabled/,
    /"disabled"/
  ],
  [
    "closed",
    new McpError.ConnectionUnavailable({ ...about, reason: "Released", detail: "x" }),
    {},
    /is closed/,
    /again/
  ],
  [
    "crashing",
    new McpError.ConnectionUnavailable({ ...about, reason: "CrashLoop", detail: "x" }),
    {},
    /keeps crashing/,
    /doctor/
  ],
  [
    "output",
    new McpError.OutputInvalid({ ...about, tool: "t", problems: [], result: {} }),
    {},
    /output schema/,
    /mended/
  ],
  [
    "a tool that fails",
    new McpError.ToolFailed({ ...about, tool: "t", detail: "boom", result: {} }),
    {},
    /"t"/,
    /arguments/
  ],
  ["metadata", new McpError.MetaFailed({ ...about, tool: "t", detail: "x" }), {}, /not sent/, /_meta/],
  ["a bad end", new McpError.CloseFailed({ ...about, detail: "x" }), {}, /did not end/, /SIGTERM/],
  [
    "several servers",
    new McpError.ServersFailed({ ...about, errors: [spawn("nodee"), new McpError.Unauthorized(remote)] }),
    {},
    /"nodee" was not found/,
    /Correct/,
    /"docs".*asks for credentials/
  ]
]

describe("Doctor.explain", () => {
  for (const [name, error, surroundings, headline, todo, details] of table) {
    it(`says what to fix: ${error._tag}: ${name}`, () => {
      const advice = Doctor.explain(error, surroundings)
      assert.match(advice.headline, headline)
      assert.match(advice.todo.join("\n"), todo)
      if (details !== undefined) {
        assert.match(advice.details.map((_) => `${_.label}: ${_.text}`).join("\n"), details)
      }
      const shown = Doctor.format(advice)
      assert.notInclude(advice.headline, "\n")
      assert.isAbove(advice.todo.length, 0)
      assert.notInclude(shown, "undefined")
      assert.notInclude(shown, "CANARY")
      assert.notInclude(shown, "[object")
    })
  }

  it("knows every class of error", () => {
    const named = Object.values(McpError).flatMap((_) =>
      typeof _ === "function" && "_tag" in _ && typeof _._tag === "string" ? [_._tag] : []
    )
    const tested = new Set(table.map(([, error]) => error._tag))
    assert.isAbove(named.length, 25)
    assert.deepStrictEqual(named.filter((_) => !tested.has(_ as McpError.McpError["_tag"])), [])
  })

  it("lets no control character, no mark of direction and no endless text of a server through", () => {
    const evil = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202eabc\r" + "x".repeat(100_000)
    const errors: ReadonlyArray<McpError.McpError> = [
      exited(1, evil),
      status(500, { body: evil }),
      spawn(evil),
      new McpError.RemoteError({ ...about, code: 1, reason: evil }),
      new McpError.UnknownServer({ ...about, server: evil, configured: [evil] }),
      new McpError.ToolNotFound({ ...about, tool: evil, detail: evil }),
      new McpError.Unauthorized({ ...about, challenge: evil, detail: evil }),
      new McpError.ConfigInvalid({
        ...about,
        problems: [{ field: evil, problem: evil }, { field: evil, problem: evil }]
      }),
      new McpError.ElicitationRequired({
        ...about,
        reason: evil,
        elicitations: [{ elicitationId: evil, url: `https://x/${evil}`, message: evil }]
      })
    ]
    for (const error of errors) {
      const shown = Doctor.format(
        Doctor.explain(error, {
          configFile: evil,
          path: evil,
          tools: [evil],
          findings: [{ _tag: "WebPage", status: 200, title: evil }, { _tag: "Noise", line: evil }]
        })
      )
      // eslint-disable-next-line no-control-regex
      assert.notMatch(shown, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/, error._tag)
      assert.isBelow(shown.length, 20_000, error._tag)
    }
  })
})
