import { assert, describe, it } from "@effect/vitest"
import { McpConfig } from "@mcp-runtime/core"
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import { Duration, Effect } from "effect"

const load = (servers: object | string, options?: ConfigFile.LoadOptions, level: ConfigFile.Level = "user") =>
  ConfigFile.load(
    [{
      level,
      path: "mcp.json",
      text: typeof servers === "string" ? servers : JSON.stringify({ mcpServers: servers })
    }],
    options
  )

const good = { command: "good" }

/** Severity, field and the beginning of each problem of one server beside a good one. */
const problemsOf = (server: unknown, level?: ConfigFile.Level) => {
  const loaded = load({ x: server, good }, {}, level)
  assert.strictEqual(loaded.entries.at(-1)?.name, "good")
  for (const problem of loaded.problems) assert.strictEqual(problem.server, "x")
  return {
    isThere: loaded.entries.length === 2,
    problems: loaded.problems.map(({ field = "", problem, severity }) => `${severity} ${field}: ${problem}`)
  }
}

describe("a damaged file", () => {
  it("where a value stands in the place of a field: nothing of it is shown, and the server is there", () => {
    const { isThere, problems } = problemsOf({ command: "npx", ",://user:c4n4ry@docs.example.com/mcp?token=c4n4ry": 1 })
    assert.isTrue(isThere)
    assert.deepStrictEqual(problems, [
      "warning : has a value where a field should be: a comma or a quotation mark is missing"
    ])
  })
})

describe("one server that is wrong", () => {
  const wrong: ReadonlyArray<readonly [server: unknown, ...problems: ReadonlyArray<string>]> = [
    [null, "error : must be an object"],
    [[], "error : must be an object"],
    ["npx", "error : must be an object"],
    [{}, "error : has neither \"command\""],
    [{ type: "stdio" }, "error : has no \"command\""],
    [{ type: "http" }, "error : has no \"url\""],
    [{ commmand: "npx" }, "error commmand: is not a known field: did you mean \"command\"?"],
    [{ Command: "npx" }, "error Command: is not a known field: did you mean \"command\"?"],
    [{ cmd: "npx" }, "error cmd: is not a known field: did you mean \"command\"?"],
    [{ httpUrl: "https://a.example" }, "error httpUrl: is not a known field: did you mean \"url\"?"],
    [{ serverUrl: "https://a.example" }, "error serverUrl: is not a known field: did you mean \"url\"?"],
    [{ command: "npx", url: "https://a.example" }, "error url: has no place beside \"command\""],
    [{ type: "stdio", url: "https://a.example" }, "error type: is \"stdio\", which needs \"command\""],
    [{ type: "http", command: "npx" }, "error type: is that of a remote server"],
    [{ type: "stdo", command: "npx" }, "error type: is not known: did you mean \"stdio\"?"],
    [{ type: "HTTP", url: "https://a.example" }, "error type: is not known: did you mean \"http\"?"],
    [{ type: "websocket", url: "https://a.example" }, "error type: must be one of \"stdio\", \"http\""],
    [{ type: 1, url: "https://a.example" }, "error type: must be one of"],
    [{ type: "http", transport: "sse", url: "https://a.example" }, "error transport: says something else than"],
    [{ command: "" }, "error command: must be a text that is not empty"],
    [{ command: null }, "error command: must be a text"],
    [{ command: ["npx", "-y"] }, "error command: must be a text"],
    [{ command: "npx\u0000" }, "error command: must not contain a NUL"],
    [{ command: "npx", args: "-y foo" }, "error args: must be a list of texts, such as"],
    [{ command: "npx", args: ["-y", {}, null] }, "error args.1: must be a text", "error args.2: must be a text"],
    [{ command: "npx", env: ["A=b"] }, "error env: must be an object, such as"],
    [{ command: "npx", env: { A: [] } }, "error env.A: must be a text, or a reference"],
    [{ command: "npx", env: { A: { env: "B", store: "c" } } }, "error env.A: must be a text, or a reference"],
    [{ command: "npx", env: { A: { command: "b", store: "c" } } }, "error env.A: must be a text, or a reference"],
    [{ command: "npx", approval: { "": "always" } }, "error approval: must be \"always\""],
    [{ command: "npx", env: { "A=B": "c" } }, "error env.A=B: is not the name of a variable"],
    [{ command: "npx", cwd: 1 }, "error cwd: must be a text"],
    [{ command: "npx", timeout: -1 }, "error timeout: must be a number of milliseconds (0 for none)"],
    [{ command: "npx", timeout: "30s" }, "error timeout: must be a number of milliseconds (0 for none)"],
    [{ command: "npx", timeouts: { close: null } }, "error timeouts.close: must be a number of milliseconds"],
    [{ command: "npx", enabled: "yes" }, "error enabled: must be true or false"],
    [{ command: "npx", disabled: 1 }, "error disabled: must be true or false"],
    [{ command: "npx", concurrency: 0 }, "error concurrency: must be \"serial\""],
    [{ command: "npx", lifetime: "forever" }, "error lifetime: must be \"eager\""],
    [{ command: "npx", logLevel: "warn" }, "error logLevel: must be one of \"debug\""],
    [{ command: "npx", tools: { alow: [] } }, "error tools.alow: is not a known field"],
    [{ command: "npx", tools: { allow: "a" } }, "error tools.allow: must be a list"],
    [{ command: "npx", tools: { block: [""] } }, "error tools.block.0: must be the name of a tool"],
    [{ command: "npx", tools: { allow: ["a"] }, enabledTools: ["b"] }, "error enabledTools: says the same"],
    [{ command: "npx", approval: "sometimes" }, "error approval: must be \"always\""],
    [{ command: "npx", approval: { always: ["a"], never: ["a"] } }, "error approval.never[0]: is in the list"],
    [{ command: "npx", limits: { pages: 0 } }, "error limits.pages: must be a whole number"],
    [{ command: "npx", limits: { schemaDepth: 1000 } }, "error limits.schemaDepth: must be at most 200"],
    [{ url: "ftp://a.example" }, "error url: must be an http:// or https:// URL"],
    [{ url: "a.example/mcp" }, "error url: must be an http:// or https:// URL"],
    [{ url: "https://a.example", headers: { "b c": "d" } }, "error headers.b c: \"b c\" is not a header name"],
    [{ url: "https://a.example", headers: { Host: "d" } }, "error headers.Host: \"Host\" is set by the transport"],
    [{ url: "https://a.example", headers: "a: b" }, "error headers: must be an object, such as"],
    [
      { url: "https://a.example", auth: { type: "oath" } },
      "error auth.type: must be one of \"oauth\", \"clientCredentials\", \"jwtBearer\", \"enterprise\""
    ],
    [
      { url: "https://a.example", auth: { type: { toString: null } } },
      "error auth.type: must be one of \"oauth\", \"clientCredentials\", \"jwtBearer\", \"enterprise\""
    ],
    [{ url: "https://a.example", auth: { type: "clientCredentials" } }, "error auth.clientId: is missing"],
    [{ url: "https://a.example", auth: { type: "oauth", issuer: "${A}" } }, "error auth.issuer: holds a ref"],
    [{ url: "https://a.example", auth: { type: "oauth", scopes: ["${A}"] } }, "error auth.scopes: holds a ref"],
    [{ url: "https://a.example", subscriptions: ["file://${A}"] }, "error subscriptions: holds a ref"],
    [
      { url: "https://a.example", auth: { type: "oauth", clientId: { env: "A" } } },
      "error auth.clientId: must be a text that is not empty; a reference in it is written \"${NAME}\""
    ],
    [
      { url: "https://a.example", auth: { CLIENT_ID: "a", REDIRECT: "b" } },
      "error auth.REDIRECT: is not a known field"
    ],
    [
      { url: "https://a.example", auth: { type: "oauth", clientSecret: { env: " " } } },
      "error auth.clientSecret: must be a text, or a reference such as { \"env\": \"NAME\" }"
    ],
    [
      { url: "https://a.example", tls: { ca: ["pem", { evn: "A" }], key: 1 } },
      "error tls.ca: must be certificates in PEM",
      "error tls.key: must be a text, or a ref"
    ],
    [{ url: "https://a.example", proxy: "socks" }, "error proxy: must be an http:// or https:// URL"],
    [{ command: "npx", enabled: false, args: 1 }, "error args: must be a list"]
  ]
  for (const [server, ...expected] of wrong) {
    it(`${JSON.stringify(server).slice(0, 100)} is lost alone, with its reason`, () => {
      const { isThere, problems } = problemsOf(server)
      assert.isFalse(isThere)
      assert.strictEqual(problems.length, expected.length, problems.join("\n"))
      problems.forEach((problem, i) => assert.isTrue(problem.startsWith(expected[i]!), problem))
    })
  }

  const doubtful: ReadonlyArray<readonly [server: unknown, ...problems: ReadonlyArray<string>]> = [
    [
      {
        url: "https://a.example",
        tls: { ca: ["./ca.pem"], cert: "${CERT:-/a/b}", key: "C:\\key.pem", passphrase: "a/b" }
      },
      "warning tls.ca: is the name of a file, as it seems",
      "warning tls.key: is the name of a file, as it seems"
    ],
    [{ command: "npx", argz: [] }, "warning argz: is not a known field: did you mean \"args\"?"],
    [{ command: "npx", working_directory: "a" }, "warning working_directory: is not a known field, and has no effect"],
    [
      { command: "npx", workingDirectory: "a" },
      "warning workingDirectory: is not a known field: did you mean \"cwd\"?"
    ],
    [{ command: "npx", zzzzzz: 1 }, "warning zzzzzz: is not a known field, and has no effect"],
    [{ command: "npx", autoApprove: [] }, "warning autoApprove: is not known: write \"approval\""],
    [{ command: "npx", headers: {} }, "warning headers: has no effect: it belongs to a server with \"url\""],
    [{ url: "https://a.example", args: [] }, "warning args: has no effect: it belongs to a server with \"command\""],
    [
      { command: "npx -y foo" },
      "warning command: is the name of one program, spaces included: write \"command\": \"npx\""
    ],
    [
      { command: "s3cret npx" },
      "warning command: is the name of one program, spaces included: write the program alone"
    ],
    [{ command: "A=b npx" }, "warning command: is the name of one program, spaces included: write variables into"],
    [{ command: "~/bin/foo" }, "warning command: ~ means nothing here: write ${userHome}"],
    [{ command: "npx", cwd: "~/foo" }, "warning cwd: ~ means nothing here"],
    [{ command: "npx", timeout: 30 }, "warning timeout: is less than a second"],
    [{ url: "https://a.example", headers: { A: "Bearer $TOKEN" } }, "warning headers.A: has a $ with a name"],
    [{ url: "https://$HOST_NAME/mcp" }, "warning url: has a $ with a name"],
    [{ command: "npx", enabled: true, disabled: true }, "warning disabled: says the opposite"]
  ]
  for (const [server, ...expected] of doubtful) {
    it(`${JSON.stringify(server).slice(0, 100)} is there, with a warning`, () => {
      const { isThere, problems } = problemsOf(server)
      assert.isTrue(isThere, problems.join("\n"))
      assert.strictEqual(problems.length, expected.length, problems.join("\n"))
      problems.forEach((problem, i) => assert.isTrue(problem.startsWith(expected[i]!), problem))
    })
  }

  it("what is right has no problem", () => {
    for (
      const server of [
        good,
        { command: "/opt/my tools/server" },
        { command: "C:\\Program Files\\node.exe", args: [] },
        { command: "npx", args: ["--port", 1], type: "stdio", transport: "stdio" },
        { url: "https://a.example", type: "http", transport: "streamable-http" },
        { url: "${URL}" },
        { url: "https://a.example", headers: { A: "pa$$word", B: "$5" } },
        { command: "npx", "//": "note", _note: 1, "$note": 2, "x-note": 3, description: "a", icon: "b" }
      ]
    ) assert.deepStrictEqual(problemsOf(server), { isThere: true, problems: [] })
  })
})

describe("a file that is wrong", () => {
  const wrong: ReadonlyArray<readonly [text: string, problem: string]> = [
    ["", "is not valid JSON: is empty"],
    ["[]", "must be an object"],
    ["{ \"mcpServers\": [] }", "must be an object of servers by name"],
    ["{ \"mcpServer\": {} }", "did you mean \"mcpServers\"?"],
    ["{ \"mcp_servers\": {} }", "did you mean \"mcpServers\"?"],
    ["{ \"files\": { \"command\": \"npx\" } }", "has servers in the wrong place"],
    ["{ \"editor.fontSize\": 1 }", "has no servers"],
    ["{ \"mcpServers\": { \"a\": { \"command\": \"npx\" } }", "ends too early"],
    [" ".repeat(4 * 1024 * 1024 + 1), "is larger than 4 MiB"]
  ]
  for (const [text, problem] of wrong) {
    it(`${JSON.stringify(text.slice(0, 50))} costs only itself`, () => {
      const loaded = ConfigFile.load([
        { level: "project", path: ".mcp.json", text },
        { level: "user", path: "mcp.json", text: JSON.stringify({ mcpServers: { good } }) }
      ])
      assert.deepStrictEqual(loaded.entries.map((_) => _.name), ["good"])
      assert.strictEqual(loaded.problems.length, 1)
      assert.include(loaded.problems[0]!.problem, problem)
      assert.strictEqual(loaded.problems[0]!.path, ".mcp.json")
      assert.strictEqual(loaded.problems[0]!.severity, "error")
    })
  }

  it("an empty object is a file without servers", () => {
    for (const text of ["{}", "{ \"$schema\": \"a\" }", "{ \"disabledServers\": [] }", "{ \"mcpServers\": {} }"]) {
      assert.deepStrictEqual(load(text).problems, [])
    }
  })

  it("each problem says where it is", () => {
    const { problems } = load(`{
  "mcpServers": {
    "a": {
      "command": "npx",
      "args": "x"
    },
    "b": { "command": "npx", "env": { "A.B": [] } },
    "a": { "command": "npx", "args": [{}] }
  }
}`)
    assert.deepStrictEqual(problems.map(ConfigFile.display), [
      "mcp.json:7:39: server \"b\": env.A.B: must be a text, or a reference such as { \"env\": \"NAME\" }",
      "mcp.json:8:5: server \"a\": is there twice, first in line 3; this one counts",
      "mcp.json:8:30: server \"a\": args.0: must be a text"
    ])
  })

  it("a server may have any name, and no name changes another", () => {
    const { entries, problems } = load(
      "{ \"mcpServers\": { \"__proto__\": { \"command\": \"a\" }, \"constructor\": { \"url\": \"https://a.example\" }, \"toString\": {} } }"
    )
    assert.deepStrictEqual(entries.map((_) => _.name), ["__proto__", "constructor"])
    assert.deepStrictEqual(problems.map((_) => _.server), ["toString"])
  })

  it("names that can't be are problems", () => {
    const { entries, problems } = load({ "": good, "a\u001b[31m": good, ["b".repeat(257)]: good })
    assert.strictEqual(entries.length, 0)
    assert.isTrue(problems.every((_) => _.problem.startsWith("its name must")))
    // eslint-disable-next-line no-control-regex
    for (const problem of problems) assert.notMatch(ConfigFile.display(problem), /[\u0000-\u001f]/)
  })

  it("servers, unknown fields and problems are bounded", () => {
    const many = (n: number, value: unknown) =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`s${i}`, value]))
    const servers = load(many(1500, good))
    assert.strictEqual(servers.entries.length, 1000)
    assert.include(servers.problems[0]!.problem, "more than 1000 servers")
    assert.isAtMost(load({ a: { ...good, ...many(5000, 1) } }).problems.length, 21)
    const { problems } = load(many(1000, { command: 1, args: 2, cwd: 3, env: 4 }))
    assert.strictEqual(problems.length, 1001)
    assert.strictEqual(problems[0]!.problem, "has more problems than are shown")
  })

  it("servers of both shapes in one file are there; of one name the first", () => {
    const { entries } = load(JSON.stringify({ servers: { a: good, b: good }, mcpServers: { a: { command: "first" } } }))
    assert.deepStrictEqual(entries.map((_) => [_.name, (_.config as { readonly command: string }).command]), [
      ["a", "first"],
      ["b", "good"]
    ])
  })
})

describe("references in files", () => {
  it("auth, tls and proxy hold them, in texts and in place of a whole value, and none is resolved", () => {
    const references = [
      { env: "A" },
      { command: "cat a", timeout: "5 seconds" },
      { store: "a" },
      { input: "a" },
      "${A}"
    ]
    for (const reference of references) {
      for (
        const server of [
          { auth: { type: "oauth", clientId: "${ID:-a}", clientSecret: reference } },
          { auth: { type: "clientCredentials", clientId: "${ID}", privateKey: reference } },
          { tls: { ca: reference, cert: reference, key: reference, passphrase: reference } },
          { tls: { ca: [reference, "pem"] } },
          { proxy: reference }
        ]
      ) {
        const { entries, problems } = load({ x: { url: "https://a.example", ...server } })
        assert.deepStrictEqual(problems, [])
        assert.deepInclude(entries[0]!.config as unknown as object, { ...server, expand: true })
        const decoded = Effect.runSync(McpConfig.decode(entries[0]!.config))
        assert.isFalse(McpConfig.isResolved(decoded))
      }
    }
  })
})

describe("the directory of the project", () => {
  it("is part of the configuration of those that ask for it, and of no other", () => {
    const asks = [
      "${workspaceFolder}/x",
      "${workspaceFolder:-/y}",
      "a/${workspaceFolderBasename}",
      "${A:-${workspaceFolder}}"
    ]
    for (const text of [...asks, "${workspaceFolders}", "$workspaceFolder"]) {
      const { config } = load({ x: { ...good, args: [text] } }, { workspaceFolder: "/work" }).entries[0]!
      assert.deepStrictEqual(config.expand, asks.includes(text) ? { workspaceFolder: "/work" } : true, text)
    }
  })
})

describe("secrets in files of a project", () => {
  const canary = "c4n4ry-9f31-secret"
  const literal: ReadonlyArray<readonly [server: object, field: string]> = [
    [{ url: "https://a.example", headers: { authorization: `Bearer ${canary}` } }, "headers.authorization"],
    [{ url: "https://a.example", headers: { "X-Api-Key": canary } }, "headers.X-Api-Key"],
    [{ url: `https://user:${canary}@a.example/mcp` }, "url"],
    [{ url: `https://a.example/mcp?api_key=${canary}&b` }, "url"],
    [{ url: "https://a.example", proxy: `http://user:${canary}@a.example` }, "proxy"],
    [{ url: "https://a.example", auth: { type: "oauth", clientId: "a", clientSecret: canary } }, "auth.clientSecret"],
    [
      { url: "https://a.example", auth: { type: "clientCredentials", clientId: "a", privateKey: canary } },
      "auth.privateKey"
    ],
    [{ url: "https://a.example", tls: { key: canary } }, "tls.key"],
    [{ url: "https://a.example", tls: { passphrase: canary } }, "tls.passphrase"],
    [{ command: "npx", env: { GITHUB_TOKEN: canary } }, "env.GITHUB_TOKEN"],
    [{ command: "npx", args: [`--api-key=${canary}`] }, "args.0"],
    [{ command: "npx", args: ["--token", canary] }, "args.1"],
    [{ command: "docker", args: ["run", "-e", `GITHUB_TOKEN=${canary}`, "image"] }, "args.2"],
    [{ command: "docker", args: ["run", `--env=GITHUB_TOKEN=${canary}==`] }, "args.1"],
    [{ command: "npx", args: ["remote", "--header", `Authorization: Bearer ${canary}`] }, "args.2"],
    [{ command: "npx", args: ["remote", `--header=X-Api-Key:${canary}`] }, "args.1"],
    [{ command: "npx", args: ["remote", `https://a.example/mcp?api_key=${canary}`] }, "args.1"],
    [{ command: "npx", args: [`--db-url=mongodb+srv://user:${canary}@a.example/db`] }, "args.0"]
  ]
  const variables = new Map([
    ["env.GITHUB_TOKEN", "GITHUB_TOKEN"],
    ["auth.clientSecret", "CLIENT_SECRET"],
    ["auth.privateKey", "PRIVATE_KEY"],
    ["tls.key", "TLS_KEY"],
    ["tls.passphrase", "TLS_PASSPHRASE"]
  ])
  for (const [server, field] of literal) {
    it(`one in ${field} is a warning there, and nowhere else`, () => {
      const inProject = problemsOf(server, "project")
      assert.isTrue(inProject.isThere)
      assert.strictEqual(inProject.problems.length, 1)
      assert.isTrue(inProject.problems[0]!.startsWith(`warning ${field}: looks like a secret`))
      assert.notInclude(inProject.problems[0], canary)
      const variable = variables.get(field) ?? "TOKEN"
      assert.include(inProject.problems[0], `write \${${variable}}, and set ${variable} in the environment`)
      const [section, name] = field.split(".")
      if (section === "auth" || section === "tls") {
        const written = JSON.stringify(server).replace(canary, `\${${variable}}`)
        assert.deepStrictEqual(problemsOf(JSON.parse(written), "project"), { isThere: true, problems: [] }, name)
      }
      assert.deepStrictEqual(problemsOf(server, "user").problems, [])
    })
  }

  it("references, numbers, paths and other values are none", () => {
    for (
      const server of [
        { url: "https://a.example?token=${TOKEN}", headers: { Authorization: "Bearer ${TOKEN}" } },
        { url: "https://a.example", headers: { Authorization: { env: "TOKEN" }, Accept2: "application/json" } },
        {
          command: "npx",
          args: ["--token", "--verbose", "--key-file=/etc/key", "--max-tokens", "1000000", "-e", "TOKEN=${TOKEN}"],
          env: { MAX_TOKENS: "1000000", GOOGLE_APPLICATION_CREDENTIALS: "/etc/google.json", NODE_ENV: "production" }
        },
        {
          command: "npx",
          args: [
            "remote",
            "https://a.example/mcp?a=b",
            "--header",
            "Authorization:${AUTH}",
            "-H",
            "Accept: application/json"
          ]
        },
        { command: "sh", args: ["-c", "TOKEN=$(cat /run/token) serve"] },
        { command: "sh", args: ["-c", "exec remote \"https://a.example/mcp?api_key=$API_KEY\""] },
        { command: "npx", args: ["search", "--ask=what?access_token=anything"] },
        {
          command: "docker",
          args: ["run", "-e", "GITHUB_TOKEN", "-e", "TOKEN_FILE=/run/token", "Authorization: nothing"]
        }
      ]
    ) assert.deepStrictEqual(problemsOf(server, "project"), { isThere: true, problems: [] })
  })
})

describe("timeouts", () => {
  const timeoutsOf = (server: object, options: ConfigFile.LoadOptions) =>
    load({ x: { ...good, ...server } }, options).entries[0]!.config.timeouts
  const both = (_: unknown) => ({ handshake: _, request: _ })
  const table: ReadonlyArray<
    readonly [name: string, server: object, options: ConfigFile.LoadOptions, expected: unknown]
  > = [
    ["nothing", {}, {}, undefined],
    ["the default", {}, { defaultTimeout: 5000 }, both(5000)],
    ["a default of 0 is none", {}, { defaultTimeout: 0 }, both(null)],
    ["a default of null is none", {}, { defaultTimeout: null }, both(null)],
    ["a default without end is none", {}, { defaultTimeout: Duration.infinity }, both(null)],
    ["a default as a text", {}, { defaultTimeout: "5 seconds" }, both(5000)],
    ["a default as a duration", {}, { defaultTimeout: Duration.minutes(1) }, both(60_000)],
    ["the file over the default", { timeout: 7000 }, { defaultTimeout: 5000 }, both(7000)],
    ["0 in the file is none", { timeout: 0 }, { defaultTimeout: 5000 }, both(null)],
    ["a duration", { timeout: "7 seconds" }, {}, both("7 seconds")],
    ["0 as a duration is none", { timeout: "0 seconds" }, {}, both(null)],
    ["single deadlines over the one for all", { timeout: 7000, timeouts: { request: 1 } }, {}, {
      handshake: 7000,
      request: 1
    }],
    [
      "the environment over all",
      { timeout: 7000, timeouts: { request: 1, total: 9 } },
      { defaultTimeout: 5000, timeout: 3000 },
      { ...both(3000), total: 9 }
    ],
    ["0 in the environment is none", { timeout: 7000 }, { timeout: 0 }, both(null)],
    ["no number in the environment is nothing", { timeout: 7000 }, { timeout: Number.NaN }, both(7000)],
    ["a negative one neither", {}, { timeout: -1, defaultTimeout: -1 }, undefined]
  ]
  for (const [name, server, options, expected] of table) {
    it(name, () => assert.deepStrictEqual(timeoutsOf(server, options), expected as never))
  }
})
