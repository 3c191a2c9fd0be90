import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpError } from "@mcp-runtime/core"
import { Duration, Effect, FastCheck, Redacted, Schema } from "effect"
import { inspect } from "node:util"

const canary = "c4n4ry-9f31"

const decode = (input: unknown) => Effect.runSync(McpConfig.decodeUnknown(input))

const refuse = (input: unknown) => Effect.runSync(Effect.flip(McpConfig.decodeUnknown(input)))

/** Field to problem. */
const problems = (input: unknown): Record<string, string> =>
  Object.fromEntries(refuse(input).problems.map((_) => [_.field, _.problem]))

const stdio = (extra: object = {}) => ({ name: "files", transport: "stdio", command: "npx", ...extra })
const http = (extra: object = {}) => ({ name: "docs", transport: "http", url: "http://127.0.0.1:8080/mcp", ...extra })

describe("McpConfig.decode", () => {
  it("takes every transport from plain texts", () => {
    const server = () => ({ connect: () => Promise.resolve() })
    const inputs: ReadonlyArray<McpConfig.ServerConfigInput> = [
      {
        name: "files",
        transport: "stdio",
        command: "npx",
        args: ["-y", ""],
        env: { TOKEN: "t" },
        inheritEnv: ["LANG"],
        cwd: "/tmp",
        shutdown: { afterEof: "1 second", afterTerm: 500, afterKill: [1, 5] },
        logLevel: "warning",
        enabled: false,
        concurrency: "serial",
        lifetime: { idle: "5 minutes" },
        trusted: true,
        keepAlive: { every: "30 seconds", timeout: 1500 },
        limits: { pages: 3 },
        timeouts: { handshake: "5 seconds", request: null, close: 250n }
      },
      {
        name: "docs",
        transport: "http",
        url: "https://example.com/mcp",
        headers: { Authorization: "Bearer t" },
        requestHeaders: Effect.succeed({ "X-Trace": "1" }),
        tls: { ca: ["pem"], cert: "pem", key: "pem", passphrase: "p", verify: false },
        proxy: "http://proxy:3128",
        maxConnections: 4,
        concurrency: 8,
        lifetime: "lazy",
        keepAlive: { every: [20, 0] },
        recovery: "isolated"
      },
      { name: "old", transport: "sse", url: "http://[::1]:8080/sse" },
      { name: "any", transport: "auto", url: "HTTP://EXAMPLE.COM" },
      { name: "inside", transport: "inMemory", server }
    ]
    const decoded = inputs.map((input) => Effect.runSync(McpConfig.decode(input)))
    assert.deepStrictEqual(decoded.map((_) => _.transport), ["stdio", "http", "sse", "auto", "inMemory"])
    assert.deepStrictEqual(decoded.map((_) => _.name), ["files", "docs", "old", "any", "inside"])
    const [files, docs, , , inside] = decoded
    assert(files?.transport === "stdio" && docs?.transport === "http" && inside?.transport === "inMemory")
    assert.strictEqual(Redacted.value(files.env!.TOKEN!), "t")
    assert.deepStrictEqual(
      [files.shutdown!.afterEof, files.shutdown!.afterTerm, files.shutdown!.afterKill].map((_) =>
        Duration.toNanos(_!).pipe((_) => _._tag === "Some" ? _.value : undefined)
      ),
      [1_000_000_000n, 500_000_000n, 1_000_000_005n]
    )
    assert.strictEqual(Redacted.value(docs.headers!.Authorization!), "Bearer t")
    assert.strictEqual(Redacted.value(docs.proxy!), "http://proxy:3128")
    assert.deepStrictEqual(Effect.runSync(docs.requestHeaders as Effect.Effect<unknown>), { "X-Trace": "1" })
    assert.strictEqual(inside.server, server)
  })

  it("takes secrets that are Redacted already, and leaves them as they are", () => {
    const token = Redacted.make("t")
    const config = decode(http({ headers: { Authorization: token }, proxy: Redacted.make("http://u:p@proxy") }))
    assert(config.transport === "http")
    assert.strictEqual(config.headers!.Authorization, token)
    assert.strictEqual(Redacted.value(config.proxy!), "http://u:p@proxy")
  })

  it("gives one problem per wrong field, for all fields at once, each with its path and what to do", () => {
    assert.deepStrictEqual(
      problems({
        name: "files",
        transport: "stdio",
        command: 5,
        args: ["ok", 3],
        env: { A: 1 },
        cwd: 4,
        inheritEnv: 5,
        shutdown: { afterEof: 0, after: 1 },
        logLevel: "loud",
        limits: { pages: 1.5, items: -1, foo: 2 },
        timeouts: { close: null, handshake: "soon", total: Number.POSITIVE_INFINITY },
        comand: "npx"
      }),
      {
        command: "must be a text",
        "args.1": "must be a text",
        "env.A":
          "must be a text, a Redacted text, a Config, or one of { env }, { command }, { store } and { input } with a text",
        cwd: "must be a text",
        inheritEnv: `must be "all" or a list`,
        "shutdown.afterEof": "must be positive and finite",
        "shutdown.after": "is not a known field",
        logLevel: `must be one of "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"`,
        "limits.pages": "must be a whole number",
        "limits.items": "must be greater than zero",
        "limits.foo": "is not a known field",
        "timeouts.close": `must be a duration such as "5 seconds"`,
        "timeouts.handshake": `must be a duration such as "5 seconds" or null`,
        "timeouts.total": "must be positive and finite or null",
        comand: "is not a known field"
      }
    )
    assert.deepStrictEqual(
      problems({ name: "docs", transport: "sse", tls: { ca: 4, verify: "no", key: 3 }, maxConnections: 0, proxy: 7 }),
      {
        url: "is missing",
        "tls.ca":
          "must be a text, a Redacted text, a Config, or one of { env }, { command }, { store } and { input } with a text or a list",
        "tls.verify": "must be true or false",
        "tls.key":
          "must be a text, a Redacted text, a Config, or one of { env }, { command }, { store } and { input } with a text",
        maxConnections: "must be greater than zero",
        proxy:
          "must be a text, a Redacted text, a Config, or one of { env }, { command }, { store } and { input } with a text"
      }
    )
    assert.deepStrictEqual(problems({ name: "in", transport: "inMemory", server: {}, url: "http://x" }), {
      server: "must be a function that gives a new server",
      url: "is not a known field"
    })
    assert.deepStrictEqual(problems(stdio({ limits: 3, timeouts: [], args: "x", env: "y" })), {
      limits: "must be an object",
      timeouts: "must be an object",
      args: "must be a list",
      env: "must be an object"
    })
  })

  it("names the server and every wrong field in the message", () => {
    const error = refuse(stdio({ command: "", args: ["\0"] }))
    assert.strictEqual(error.server, "files")
    assert.strictEqual(error.operation, "configure")
    assert.strictEqual(error.executed, "no")
    assert.strictEqual(
      error.message,
      `MCP server "files": configure: the configuration is invalid: command: must not be empty; ` +
        `args.0: must not contain a NUL character`
    )
  })

  it("says that what is not an object must be one", () => {
    for (const input of [undefined, null, 7, "x", true, [], [stdio()], () => stdio()]) {
      const error = refuse(input)
      assert.strictEqual(error.server, "<unnamed>")
      assert.deepStrictEqual([...error.problems], [{ field: "(root)", problem: "must be an object" }])
    }
  })

  it("lists the transports for a wrong one, also for one that every object has", () => {
    for (const transport of ["ftp", "STDIO", "toString", "__proto__", 7, undefined, null]) {
      const error = refuse({ name: "s", transport })
      assert.strictEqual(error.server, "s")
      assert.deepStrictEqual([...error.problems], [
        { field: "transport", problem: "must be one of stdio, http, sse, auto, inMemory" }
      ])
    }
  })

  it("a message shows the first problems of many, and how many more there are", () => {
    const error = refuse(stdio({ args: Array.from({ length: 3000 }, (_, i) => i) }))
    assert.lengthOf(error.problems, 3000)
    assert.isBelow(error.message.length, 3000)
    assert.include(error.message, "and 2970 more")
  })

  it("a kind of auth that can't be made a text is a problem like any other", () => {
    for (const type of [{ toString: null }, { toString: 1, valueOf: 1 }, [{ toString: null }], null]) {
      assert.deepStrictEqual(
        Object.keys(problems(http({ auth: { type, clientId: "c" }, zz: 1 }))).sort(),
        ["auth.type", "zz"]
      )
    }
    const decoded = decode(http({ auth: { type: "oauth", clientId: "c" } }))
    assert.strictEqual(decode(decoded).name, "docs")
  })

  it("a name is a short text without control characters, whatever else is wrong", () => {
    assert.deepStrictEqual(problems(stdio({ name: "" })), { name: "must not be empty" })
    assert.deepStrictEqual(problems(stdio({ name: 7 })), { name: "must be a text" })
    assert.deepStrictEqual(problems(stdio({ name: "a".repeat(257) })), { name: "must be at most 256 characters" })
    const forged = refuse(stdio({ name: "a\nMCP server \"b\"" }))
    assert.deepStrictEqual([...forged.problems], [{ field: "name", problem: "must not contain control characters" }])
    assert.isBelow(refuse(stdio({ name: "a".repeat(100_000) })).message.length, 1000)
    assert.strictEqual(refuse({ transport: "stdio", command: "x" }).server, "<unnamed>")
    for (const name of ["files\u202e", "fi\u200bles", "\u3164", "a\u2028b", "a\u{e0061}"]) {
      assert.deepStrictEqual(problems(stdio({ name })), {
        name: "must not contain characters that nobody sees or that change the direction of text"
      })
    }
    decode(stdio({ name: "Überprüfung 検索 🛠\ufe0f" }))
  })

  it("an unknown field is named, within bounds", () => {
    const { message, problems } = refuse(stdio({ ["x".repeat(100_000)]: 1, "a\u001b[31m": 1 }))
    assert.strictEqual(problems.length, 2)
    assert.isBelow(message.length, 1000)
    assert.notInclude(message, "\u001b")
  })
})

describe("McpConfig fields", () => {
  it("S02: NUL never reaches a process", () => {
    const nul = "must not contain a NUL character"
    assert.deepStrictEqual(problems(stdio({ command: "a\0", args: ["b\0"], cwd: "c\0" })), {
      command: nul,
      "args.0": nul,
      cwd: nul
    })
    assert.deepStrictEqual(problems(stdio({ env: { A: "v\0" } })), { "env.A": nul })
    for (const name of ["", "A\0", "A=B"]) {
      const { problem } = refuse(stdio({ env: { [name]: "v" } })).problems[0]!
      assert.include(problem, "is not the name of a variable")
    }
    assert.deepStrictEqual(problems(stdio({ command: " \t" })), { command: "must not be empty" })
  })

  it("a key that would be lost is refused", () => {
    const own: unknown = JSON.parse(`{"__proto__": "x"}`)
    assert.deepStrictEqual(problems(stdio({ env: own })), { "env.__proto__": "is not a known field" })
    assert.deepStrictEqual(problems(http({ headers: own })), { "headers.__proto__": "is not a known field" })
  })

  it("url and proxy are http or https", () => {
    const must = "must be an http:// or https:// URL"
    for (
      const url of ["", "example.com", "ftp://example.com", "file:///etc/passwd", "javascript:alert(1)", "http://"]
    ) {
      assert.deepStrictEqual(problems(http({ url, proxy: url })), { url: must, proxy: must })
    }
  })

  it("headers: none that the transport sets, none that can't be sent, none twice", () => {
    for (const transport of ["http", "sse", "auto"]) {
      for (
        const name of [
          "Mcp-Session-Id",
          "MCP-PROTOCOL-VERSION",
          "last-event-id",
          "Content-Type",
          "content-length",
          "Accept",
          "Host",
          "Connection",
          "Transfer-Encoding",
          "Upgrade",
          "Keep-Alive",
          "Expect",
          "TE",
          "Trailer",
          "Proxy-Connection"
        ]
      ) {
        const { field, problem } = refuse(http({ transport, headers: { [name]: "x" } })).problems[0]!
        assert.strictEqual(field, `headers.${name}`)
        assert.include(problem, "is set by the transport")
      }
    }
    assert.deepStrictEqual(
      problems(
        http({ headers: { "X-A": "a\r\nX-B: b", "X-C": "a\nb", "X-D": "日", "a b": "x", "x-a": "ok", "": "x" } })
      ),
      {
        "headers.X-A": `the value of "X-A" has a character that headers can't carry`,
        "headers.X-C": `the value of "X-C" has a character that headers can't carry`,
        "headers.X-D": `the value of "X-D" has a character that headers can't carry`,
        "headers.a b": `"a b" is not a header name`,
        "headers.x-a": `"x-a" is given twice, in different spelling`,
        "headers.": `"" is not a header name`
      }
    )
    decode(http({ headers: { "X-A": "", "X-B": "tab\tand é" } }))
  })

  it("requestHeaders is an Effect", () => {
    for (const requestHeaders of [{}, () => Effect.succeed({}), Promise.resolve({}), "Bearer x", null]) {
      assert.deepStrictEqual(problems(http({ requestHeaders })), {
        requestHeaders: "must be an Effect that gives headers"
      })
    }
    const requestHeaders = Effect.sync(() => ({ a: "b" }))
    const [first, second] = [decode(http({ requestHeaders })), decode(http({ requestHeaders }))]
    assert(first.transport === "http" && second.transport === "http")
    assert.strictEqual(first.requestHeaders, second.requestHeaders)
    const again = decode(first)
    assert(again.transport === "http")
    assert.strictEqual(again.requestHeaders, first.requestHeaders)
  })

  it("P02: durations are positive and finite; null where waiting for ever makes sense", () => {
    for (const value of [0, -1, -5n, 0n, "0 seconds", "-1 seconds", [0, 0], [-1, 0], Duration.zero]) {
      const all = { handshake: value, request: value, total: value, handler: value }
      const nullable = "must be positive and finite or null"
      assert.deepStrictEqual(problems(stdio({ timeouts: { ...all, close: value } })), {
        "timeouts.handshake": nullable,
        "timeouts.request": nullable,
        "timeouts.total": nullable,
        "timeouts.handler": nullable,
        "timeouts.close": "must be positive and finite"
      })
    }
    for (const value of [Number.POSITIVE_INFINITY, Duration.infinity, [Number.POSITIVE_INFINITY, 0]]) {
      assert.deepStrictEqual(problems(stdio({ timeouts: { close: value } })), {
        "timeouts.close": "must be positive and finite"
      })
    }
    for (const value of [Number.NaN, "soon", "5", "", "5 fortnights", {}, [1], [1, Number.NaN], [1, "x"], true]) {
      assert.deepStrictEqual(problems(stdio({ timeouts: { close: value } })), {
        "timeouts.close": `must be a duration such as "5 seconds"`
      })
    }
    const { timeouts } = decode(stdio({ timeouts: { handshake: null, request: null, total: null, handler: null } }))
    assert.deepStrictEqual(timeouts, { handshake: null, request: null, total: null, handler: null })
    for (const field of ["afterEof", "afterTerm", "afterKill"]) {
      assert.deepStrictEqual(problems(stdio({ shutdown: { [field]: null } })), {
        [`shutdown.${field}`]: `must be a duration such as "5 seconds"`
      })
    }
  })

  it("what is kept of stderr is bounded: it is held in memory", () => {
    const most = 16 * 1024 * 1024
    assert.strictEqual(decode(stdio({ limits: { stderrTailBytes: most } })).limits!.stderrTailBytes, most)
    for (const stderrTailBytes of [most + 1, 2 ** 40]) {
      assert.deepStrictEqual(problems(stdio({ limits: { stderrTailBytes } })), {
        "limits.stderrTailBytes": "must be at most 16777216 (16 MiB)"
      })
    }
  })

  it("limits are whole numbers greater than zero", () => {
    for (const field of Object.keys(McpConfig.defaultLimits)) {
      for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60]) {
        assert.deepStrictEqual(Object.keys(problems(stdio({ limits: { [field]: value } }))), [`limits.${field}`])
      }
      assert.deepStrictEqual(problems(stdio({ limits: { [field]: "7" } })), { [`limits.${field}`]: "must be a number" })
      decode(stdio({ limits: { [field]: 1 } }))
    }
  })
})

describe("McpConfig of a connection", () => {
  const wires: ReadonlyArray<readonly [string, (extra?: object) => object]> = [
    ["stdio", stdio],
    ["inMemory", (extra) => ({ name: "in", transport: "inMemory", server: () => undefined, ...extra })],
    ...["http", "sse", "auto"].map((transport) =>
      [transport, (extra?: object) => http({ transport, ...extra })] as const
    )
  ]

  it.each(wires)("%s: takes how it is connected, and leaves out what was not said", (_, make) => {
    const plain = decode(make())
    for (const field of ["enabled", "concurrency", "lifetime", "trusted", "keepAlive", "recovery"]) {
      assert.notProperty(plain, field)
    }
    const own = decode(make({
      enabled: false,
      trusted: true,
      concurrency: 3,
      lifetime: { idle: "5 minutes" },
      keepAlive: { every: "30 seconds", timeout: 1500 }
    }))
    assert.deepStrictEqual([own.enabled, own.trusted, own.concurrency], [false, true, 3])
    assert.deepStrictEqual(own.lifetime, { idle: Duration.minutes(5) })
    assert.deepStrictEqual(own.keepAlive, { every: Duration.seconds(30), timeout: Duration.millis(1500) })
    assert.deepStrictEqual(decode(make({ keepAlive: { every: 1 } })).keepAlive, { every: Duration.millis(1) })
    for (const lifetime of ["eager", "lazy"] as const) assert.strictEqual(decode(make({ lifetime })).lifetime, lifetime)
    assert.deepStrictEqual(decode(own), own)
  })

  it.each(wires)("%s: one message per field says what to write", (_, make) => {
    const flag = "must be true or false"
    const each: ReadonlyArray<readonly [object, Record<string, string>]> = [
      [{ enabled: "yes", trusted: 1 }, { enabled: flag, trusted: flag }],
      [{ enabled: null, trusted: null }, { enabled: flag, trusted: flag }],
      ...["parallel", "4", "", null, true, {}].map((concurrency) =>
        [{ concurrency }, { concurrency: `must be "serial" or "unbounded" or a number` }] as const
      ),
      ...[1.5, Number.NaN, Number.POSITIVE_INFINITY].map((concurrency) =>
        [{ concurrency }, { concurrency: `must be "serial" or "unbounded" or a whole number` }] as const
      ),
      ...[0, -0, -4].map((concurrency) =>
        [{ concurrency }, { concurrency: `must be "serial" or "unbounded" or greater than zero` }] as const
      ),
      ...["forever", "5 minutes", 5, null, true].map((lifetime) =>
        [{ lifetime }, { lifetime: `must be "eager" or "lazy" or an object` }] as const
      ),
      [{ lifetime: {} }, { "lifetime.idle": "is missing" }],
      [{ lifetime: { idle: null } }, { "lifetime.idle": `must be a duration such as "5 seconds"` }],
      [{ lifetime: { idle: Duration.infinity } }, { "lifetime.idle": "must be positive and finite" }],
      [{ lifetime: { idle: 0, min: 1 } }, {
        "lifetime.idle": "must be positive and finite",
        "lifetime.min": "is not a known field"
      }],
      ...["30 seconds", true, null, 5].map((keepAlive) => [{ keepAlive }, { keepAlive: "must be an object" }] as const),
      [{ keepAlive: {} }, { "keepAlive.every": "is missing" }],
      [{ keepAlive: { every: 0, timeout: "soon", after: 1 } }, {
        "keepAlive.every": "must be positive and finite",
        "keepAlive.timeout": `must be a duration such as "5 seconds"`,
        "keepAlive.after": "is not a known field"
      }],
      [{ keepAlive: { every: "1 second", timeout: 0 } }, { "keepAlive.timeout": "must be positive and finite" }]
    ]
    for (const [extra, expected] of each) assert.deepStrictEqual(problems(make(extra)), expected)
  })

  it("recovery is for HTTP only", () => {
    for (const [transport, make] of wires) {
      for (const recovery of ["shared", "isolated"] as const) {
        if (transport === "stdio" || transport === "inMemory") {
          assert.deepStrictEqual(problems(make({ recovery })), { recovery: "is not a known field" })
        } else {
          const config = decode(make({ recovery }))
          assert(config.transport !== "stdio" && config.transport !== "inMemory")
          assert.strictEqual(config.recovery, recovery)
        }
      }
    }
    for (const recovery of ["none", "", null, true]) {
      assert.deepStrictEqual(problems(http({ recovery })), { recovery: `must be "shared" or "isolated"` })
    }
  })

  it("concurrencyOf: as configured, else 16 over HTTP and 64 elsewhere", () => {
    const of = (make: (extra?: object) => object, extra?: object) => McpConfig.concurrencyOf(decode(make(extra)))
    assert.deepStrictEqual(Object.fromEntries(wires.map(([transport, make]) => [transport, of(make)])), {
      stdio: 64,
      inMemory: 64,
      http: 16,
      sse: 16,
      auto: 16
    })
    for (const [, make] of wires) {
      assert.strictEqual(of(make, { concurrency: undefined }), of(make))
      assert.strictEqual(of(make, { concurrency: "serial" }), 1)
      assert.strictEqual(of(make, { concurrency: "unbounded" }), Number.POSITIVE_INFINITY)
      for (const concurrency of [1, 7, 1000]) assert.strictEqual(of(make, { concurrency }), concurrency)
    }
  })
})

describe("McpConfig accessors", () => {
  it("limits and timeouts of a server win over the defaults, field by field", () => {
    const plain = decode(stdio())
    assert.deepStrictEqual(McpConfig.limitsOf(plain), McpConfig.defaultLimits)
    assert.deepStrictEqual(McpConfig.timeoutsOf(plain), McpConfig.defaultTimeouts)
    const own = decode(stdio({
      limits: { pages: 3, items: undefined },
      timeouts: { request: null, close: "1 second", handler: undefined }
    }))
    assert.deepStrictEqual(McpConfig.limitsOf(own), { ...McpConfig.defaultLimits, pages: 3 })
    assert.deepStrictEqual(McpConfig.timeoutsOf(own), {
      ...McpConfig.defaultTimeouts,
      request: null,
      close: Duration.seconds(1)
    })
  })

  it("describeTarget shows the command, or the URL without what may be secret", () => {
    assert.strictEqual(McpConfig.describeTarget(decode(stdio())), "npx")
    assert.strictEqual(
      McpConfig.describeTarget(decode({ name: "x", transport: "inMemory", server: () => {} })),
      "this process"
    )
    for (const transport of ["http", "sse", "auto"]) {
      const url = `https://u${canary}:p${canary}@example.com:8443/mcp?q=${canary}#${canary}`
      assert.strictEqual(McpConfig.describeTarget(decode(http({ transport, url }))), "https://example.com:8443/mcp")
    }
  })
})

describe("secrets", () => {
  it("no secret is printed with a decoded configuration", () => {
    const configs = [
      decode(stdio({ env: { TOKEN: canary } })),
      decode(http({
        headers: { Authorization: `Bearer ${canary}` },
        requestHeaders: Effect.succeed({ Authorization: canary }),
        tls: { key: canary, passphrase: canary },
        proxy: `http://user:${canary}@proxy:3128`
      }))
    ]
    for (const config of configs) {
      for (
        const shown of [
          JSON.stringify(config),
          inspect(config, { depth: null, showHidden: true }),
          String(config),
          JSON.stringify(Schema.encodeSync(McpConfig.ServerConfig)(config))
        ]
      ) assert.notInclude(shown, canary)
    }
  })

  it("no value is part of a message, wherever it was put by mistake", () => {
    const wrong: ReadonlyArray<unknown> = [
      canary,
      [canary],
      { transport: canary },
      { name: "s", transport: canary },
      stdio({ command: [canary], args: canary, env: canary, cwd: { canary }, inheritEnv: canary, shutdown: canary }),
      stdio({ command: `${canary}\0`, args: [`${canary}\0`], env: { A: `${canary}\0` }, logLevel: canary }),
      stdio({ env: { A: [canary], B: { c: canary } }, timeouts: { close: canary, request: [canary] } }),
      stdio({ limits: { pages: canary }, timeouts: canary, unknown: canary }),
      stdio({ enabled: canary, concurrency: canary, lifetime: canary, trusted: canary, keepAlive: canary }),
      http({ lifetime: { idle: canary }, keepAlive: { every: canary, timeout: [canary] }, recovery: canary }),
      http({ url: `ftp://u:${canary}@host/?q=${canary}`, proxy: `ftp://u:${canary}@host` }),
      http({ url: [`http://u:${canary}@host`], proxy: Redacted.make(`${canary}`), headers: canary }),
      http({ headers: { A: `${canary}\r\n`, B: [canary], Host: canary, a: canary }, requestHeaders: canary }),
      http({ headers: { A: Redacted.make(`${canary}\n`) }, tls: { ca: { canary }, key: [canary], verify: canary } }),
      http({ name: `http://u:${canary}@host`, maxConnections: canary }),
      { name: "s", transport: "inMemory", server: canary }
    ]
    for (const input of wrong) {
      const error = refuse(input)
      for (const shown of [error.message, String(error), JSON.stringify(error), inspect(error, { depth: null })]) {
        assert.notInclude(shown, canary)
      }
    }
  })
})

describe("total", () => {
  const scalar = FastCheck.oneof(FastCheck.jsonValue(), FastCheck.constantFrom(undefined, Number.NaN, 7n, -0))
  const field = FastCheck.oneof(
    { weight: 2, arbitrary: scalar },
    { weight: 1, arbitrary: FastCheck.dictionary(FastCheck.string(), scalar) },
    { weight: 1, arbitrary: FastCheck.array(scalar) }
  )
  const config = FastCheck.record({
    name: FastCheck.oneof(FastCheck.constant("s"), scalar),
    transport: FastCheck.oneof(FastCheck.constantFrom("stdio", "http", "sse", "auto", "inMemory"), scalar),
    command: FastCheck.oneof(FastCheck.string(), field),
    args: field,
    env: FastCheck.oneof(FastCheck.dictionary(FastCheck.string(), FastCheck.string()), field),
    inheritEnv: field,
    shutdown: field,
    timeouts: FastCheck.oneof(FastCheck.dictionary(FastCheck.constantFrom("close", "request"), field), field),
    limits: field,
    enabled: field,
    concurrency: FastCheck.oneof(FastCheck.constantFrom("serial", "unbounded"), FastCheck.integer(), field),
    lifetime: FastCheck.oneof(FastCheck.record({ idle: scalar }), field),
    trusted: field,
    keepAlive: FastCheck.oneof(FastCheck.record({ every: scalar, timeout: scalar }), field),
    recovery: field,
    url: FastCheck.oneof(FastCheck.webUrl(), field),
    headers: FastCheck.oneof(FastCheck.dictionary(FastCheck.string(), FastCheck.string()), field),
    proxy: FastCheck.oneof(FastCheck.webUrl(), field),
    tls: field,
    server: field
  }, { requiredKeys: [] })

  const isTotal = (input: unknown): boolean => {
    const exit = Effect.runSyncExit(Effect.either(McpConfig.decodeUnknown(input)))
    if (exit._tag === "Failure") return false
    if (exit.value._tag === "Right") return true
    const error = exit.value.left
    return error instanceof McpError.ConfigInvalid && error.problems.length > 0 &&
      error.problems.every((_) => _.field !== "" && _.problem !== "") &&
      new Set(error.problems.map((_) => _.field)).size === error.problems.length
  }

  it("any JSON value is a configuration or ConfigInvalid, never a defect", () => {
    FastCheck.assert(FastCheck.property(FastCheck.jsonValue(), isTotal), { numRuns: 300 })
    FastCheck.assert(FastCheck.property(config, isTotal), { numRuns: 1000 })
  })

  it("a configuration that was decoded is decoded to itself", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.dictionary(FastCheck.stringMatching(/^[A-Z]{1,8}$/), FastCheck.string()), (env) => {
        const first = Effect.runSync(Effect.either(McpConfig.decodeUnknown(stdio({ env, timeouts: { close: 5 } }))))
        if (first._tag === "Left") return
        assert.deepStrictEqual(decode(first.right), first.right)
      }),
      { numRuns: 200 }
    )
  })
})
