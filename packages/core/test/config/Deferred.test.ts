/** Values that are known only when a session is opened: what may be written, what is seen before, what is opened. */
import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpConfig, McpManager, McpTransport } from "@mcp-runtime/core"
import * as SecretResolver from "@mcp-runtime/core/SecretResolver"
import { Config, ConfigProvider, type Context, Effect, Either, Layer, Redacted } from "effect"
import { inspect } from "node:util"
import {
  events,
  fromEnv,
  inScope,
  openOnce,
  problemsOf,
  recorder,
  type Resolved,
  type ResolvedHttp
} from "./references.kit.js"

const stdio = (extra: Partial<McpConfig.ServerConfigInput>) =>
  McpConfig.decodeUnknown({ name: "a", transport: "stdio", command: "x", ...extra })

const http = (extra: Partial<McpConfig.ServerConfigInput>) =>
  McpConfig.decodeUnknown({ name: "a", transport: "http", url: "https://h/mcp", ...extra })

const shown = (values: { readonly [name: string]: Redacted.Redacted<string> } | undefined) =>
  Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, Redacted.value(value)]))

const everything = SecretResolver.fromMap({
  env: { TOKEN: "env-secret", HOST: "example.com", BIN: "/bin/server", PROXY: "proxy.local" },
  command: { "pass show x": "command-secret", "echo canary-8": "echoed" },
  store: { key: "store-secret" },
  input: { id: "input-secret" },
  userHome: "/home/me"
})

describe("what is opened", () => {
  it.effect("every kind of reference, in every field of a process", () =>
    Effect.gen(function*() {
      const config = yield* stdio({
        expand: { workspaceFolder: "/work" },
        command: "${BIN}",
        args: ["--token", "${TOKEN}", "plain"],
        cwd: "${workspaceFolder}/sub",
        env: {
          A: { env: "TOKEN" },
          B: { command: "pass show x", timeout: "5 seconds" },
          C: { store: "key" },
          D: { input: "id" },
          E: Config.succeed("config-secret"),
          F: Config.succeed(Redacted.make("redacted-secret")),
          G: "Bearer ${TOKEN}",
          H: "plain",
          I: Redacted.make("not a ${TOKEN}")
        },
        timeouts: { request: "5 seconds" }
      })
      assert.isFalse(McpConfig.isResolved(config))
      const opened = (yield* openOnce(config, everything)) as Resolved
      assert.isTrue(McpConfig.isResolved(opened))
      assert.strictEqual(opened.command, "/bin/server")
      assert.deepStrictEqual(opened.args, ["--token", "env-secret", "plain"])
      assert.strictEqual(opened.cwd, "/work/sub")
      assert.deepStrictEqual(shown(opened.env), {
        A: "env-secret",
        B: "command-secret",
        C: "store-secret",
        D: "input-secret",
        E: "config-secret",
        F: "redacted-secret",
        G: "Bearer env-secret",
        H: "plain",
        I: "not a ${TOKEN}"
      })
      assert.deepStrictEqual(opened.timeouts, (config as Resolved).timeouts)
      assert.deepStrictEqual(
        new Set(opened.secrets?.map(Redacted.value)),
        new Set([
          "env-secret",
          "command-secret",
          "store-secret",
          "input-secret",
          "config-secret",
          "redacted-secret"
        ])
      )
    }))

  it.effect("every field of a remote server", () =>
    Effect.gen(function*() {
      const config = yield* http({
        expand: true,
        url: "https://${HOST}/${TOKEN}/mcp",
        headers: { Authorization: "Bearer ${TOKEN}", "X-Key": { store: "key" } },
        proxy: "http://${PROXY}:8080",
        tls: {
          ca: ["plain", { store: "key" }],
          cert: "${TOKEN}",
          key: { command: "pass show x" },
          passphrase: "${TOKEN}."
        },
        auth: { type: "clientCredentials", clientId: "${HOST}", clientSecret: { command: "pass show x" } }
      })
      const opened = (yield* openOnce(config, everything)) as ResolvedHttp
      assert.strictEqual(opened.url, "https://example.com/env-secret/mcp")
      assert.deepStrictEqual(shown(opened.headers), { Authorization: "Bearer env-secret", "X-Key": "store-secret" })
      assert.strictEqual(Redacted.value(opened.proxy!), "http://proxy.local:8080")
      const { ca, cert, key, passphrase } = opened.tls!
      assert.deepStrictEqual([ca, cert, key, passphrase].flat().map((_) => Redacted.value(_!)), [
        "plain",
        "store-secret",
        "env-secret",
        "command-secret",
        "env-secret."
      ])
      assert(typeof opened.auth === "object" && opened.auth.type === "clientCredentials")
      assert.strictEqual(opened.auth.clientId, "example.com")
      assert.strictEqual(Redacted.value(opened.auth.clientSecret!), "command-secret")
    }))

  it.effect("certificates and keys alone are looked up too, without `expand`, and each is named that can't be", () =>
    Effect.gen(function*() {
      const url = "https://a.example"
      for (const tls of [{ ca: { store: "key" } }, { key: { store: "key" } }, { ca: [{ store: "key" }] }] as const) {
        const config = yield* http({ url, tls })
        assert.isFalse(McpConfig.isResolved(config))
        const opened = (yield* openOnce(config, everything)) as ResolvedHttp
        assert.deepStrictEqual(
          [opened.tls?.ca ?? opened.tls?.key].flat().map((_) => Redacted.value(_!)),
          ["store-secret"]
        )
      }
      const config = yield* http({
        url,
        expand: true,
        tls: { ca: ["${NO_CA}"], cert: "${NO_CERT}", key: { env: "NO_KEY" }, passphrase: { env: "NO_PASS" } }
      })
      assert.deepStrictEqual(Object.keys(yield* problemsOf(openOnce(config, everything))), [
        "tls.ca.0",
        "tls.cert",
        "tls.key",
        "tls.passphrase"
      ])
    }))

  it.effect("every field that can't be resolved is named, and no value", () =>
    Effect.gen(function*() {
      const config = yield* stdio({
        expand: true,
        args: ["${NO_ARG}"],
        env: {
          A: { env: "NO_VAR" },
          B: "x${TOKEN}${NO_TEXT}",
          C: { command: "exit 1" },
          D: Config.string("NO_CONFIG"),
          E: Config.map(Config.integer("TOKEN"), String),
          F: { env: "TOKEN" }
        }
      })
      const problems = yield* problemsOf(openOnce(config, everything)).pipe(
        Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["TOKEN", "canary"]])))
      )
      assert.deepStrictEqual(problems, {
        "args.0": "there is no variable \"NO_ARG\"",
        "env.A": "there is no variable \"NO_VAR\"",
        "env.B": "there is no variable \"NO_TEXT\"",
        "env.C": "there is no answer to this command",
        "env.D": "\"NO_CONFIG\" is not set; set it where the ConfigProvider of the application reads",
        "env.E": "the value of \"TOKEN\" can't be used; what its Config asks for is not there"
      })
    }))

  it.effect("a value that its field can't have is a problem of the field, without the value", () =>
    Effect.gen(function*() {
      const secrets = fromEnv({ URL: "ftp://canary", BAD: "canary\n", NUL: "canary\0", BLANK: " " })
      assert.deepStrictEqual(
        yield* problemsOf(openOnce(yield* http({ expand: true, url: "${URL}", headers: { A: "${BAD}" } }), secrets)),
        {
          url: "must be an http:// or https:// URL",
          "headers.A": "the value of \"A\" has a character that headers can't carry"
        }
      )
      assert.deepStrictEqual(
        yield* problemsOf(openOnce(yield* stdio({ expand: true, command: "${BLANK}", env: { A: "${NUL}" } }), secrets)),
        { command: "must not be empty", "env.A": "must not contain a NUL character" }
      )
    }))

  it.effect("a resolver that dies, or gives nonsense, fails its field", () =>
    Effect.gen(function*() {
      const bad = SecretResolver.make({
        env: () => Effect.die("canary"),
        store: () => Effect.succeed(7 as never),
        input: () => {
          throw new Error("canary")
        }
      })
      const config = yield* stdio({
        env: { A: { env: "X" }, B: { store: "X" }, C: { input: "X" }, D: { command: "x" } }
      })
      const problems = yield* problemsOf(openOnce(config, bad))
      assert.deepStrictEqual(Object.keys(problems), ["env.A", "env.B", "env.C", "env.D"])
      assert.strictEqual(problems["env.A"], "what looks it up has failed in an unexpected way")
      assert.strictEqual(problems["env.C"], problems["env.A"])
      assert.include(problems["env.B"], "no text")
      assert.include(problems["env.D"], "NodeSecrets.layer")
      assert.notInclude(JSON.stringify(problems), "canary")
    }))

  it.effect("a default takes the place of what is unset, never of what can't be had now", () =>
    Effect.gen(function*() {
      const config = yield* stdio({ expand: true, args: ["${A:-default}"] })
      const secrets = (reason: SecretResolver.SecretUnavailable["reason"]) =>
        SecretResolver.make({
          env: () => Effect.fail(new SecretResolver.SecretUnavailable({ reason, problem: "locked" }))
        })
      assert.deepStrictEqual(((yield* openOnce(config, secrets("Unset"))) as Resolved).args, ["default"])
      assert.deepStrictEqual(yield* problemsOf(openOnce(config, secrets("Failed"))), { "args.0": "locked" })
    }))

  it.effect("without a resolver, what to provide is said; a Config needs none", () =>
    Effect.gen(function*() {
      const problems = yield* problemsOf(openOnce(yield* stdio({ env: { A: { env: "X" } } })))
      assert.include(problems["env.A"], "provide a SecretResolver")
      const opened = yield* openOnce(yield* stdio({ env: { A: Config.string("X") } })).pipe(
        Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["X", "x"]])))
      )
      assert.deepStrictEqual(shown((opened as Resolved).env), { A: "x" })
    }))

  it.effect("the same thing is asked for once per session, and again for the next", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const secrets = SecretResolver.make({
        input: (id) =>
          Effect.zipRight(
            Effect.yieldNow(),
            Effect.sync(() => {
              asked.push(id)
              return Redacted.make(id)
            })
          )
      })
      const config = yield* stdio({
        expand: true,
        env: { A: { input: "x" }, B: "${input:x}", C: "${input:x}${input:y}" }
      })
      const { transport } = recorder(secrets)
      yield* inScope(Effect.gen(function*() {
        const channel = yield* transport.channel(config)
        assert.deepStrictEqual(asked, [])
        yield* Effect.scoped(channel.open(events))
        assert.deepStrictEqual([...asked].sort(), ["x", "y"])
        yield* Effect.scoped(channel.open(events))
        assert.deepStrictEqual([...asked].sort(), ["x", "x", "y", "y"])
      }))
    }))

  it.effect("variables of the environment may come from the ConfigProvider of whoever opens, or a given one", () =>
    Effect.gen(function*() {
      const config = yield* stdio({ expand: true, args: ["${A}"] })
      const provider = (value: string) => ConfigProvider.fromMap(new Map([["A", value]]))
      const args = (secrets: Context.Tag.Service<SecretResolver.SecretResolver>) =>
        Effect.map(openOnce(config, secrets), (_) => (_ as Resolved).args)
      assert.deepStrictEqual(yield* args(SecretResolver.fromConfigProvider(provider("given"))), ["given"])
      assert.deepStrictEqual(
        yield* Effect.withConfigProvider(args(SecretResolver.fromConfigProvider()), provider("current")),
        ["current"]
      )
      const problems = yield* problemsOf(
        openOnce(config, SecretResolver.fromConfigProvider(ConfigProvider.fromMap(new Map())))
      )
      assert.strictEqual(problems["args.0"], "the configuration has no value for \"A\"")
    }))
})

describe("what may be written", () => {
  const problems = (extra: object) =>
    McpConfig.decodeUnknown({ name: "a", transport: "stdio", command: "x", ...extra }).pipe(
      Effect.either,
      Effect.map(Either.match({ onRight: () => [], onLeft: (_) => _.problems.map((_) => `${_.field}: ${_.problem}`) })),
      Effect.runSync
    )

  it("what is wrong with a reference is said without its text", () => {
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      [{}, "must be a text, a Redacted text, a Config, or one of"],
      [{ other: "canary" }, "must be a text, a Redacted text, a Config, or one of"],
      [["canary"], "must be a text, a Redacted text, a Config, or one of"],
      [{ env: "A", store: "canary" }, "must be a text, a Redacted text, a Config, or one of"],
      [{ env: "" }, "\"env\" must be a text that is not empty"],
      [{ env: 7 }, "\"env\" must be a text that is not empty"],
      [{ env: "canary=1" }, "\"env\" is not the name of a variable"],
      [{ env: "A", timeout: 5 }, "a reference with \"env\" has no other field"],
      [{ command: "x", shell: "canary" }, "a reference with \"command\" has no other field but \"timeout\""],
      [{ command: "x", timeout: "canary" }, "\"timeout\" must be a positive and finite duration"],
      [{ command: "x", timeout: 0 }, "\"timeout\" must be a positive and finite duration"],
      [{ command: "x", timeout: "-1 seconds" }, "\"timeout\" must be a positive and finite duration"],
      [{ command: "x\0" }, "\"command\" must be a text that is not empty"],
      [{ input: "x".repeat(257) }, "\"input\" must be at most 256 characters"]
    ]
    for (const [value, problem] of cases) {
      const found = problems({ env: { A: value } })
      assert.lengthOf(found, 1)
      assert.include(found[0], `env.A: ${problem}`)
      assert.notInclude(found[0], "canary")
    }
  })

  it("only a URL with references may be one that is none yet", () => {
    const urls = (url: string, expand: unknown) =>
      problems({ transport: "http", command: undefined, url, expand }).filter((_) => _.startsWith("url"))
    assert.deepStrictEqual(urls("${URL}", true), [])
    assert.deepStrictEqual(urls("${URL}", undefined), ["url: must be an http:// or https:// URL"])
    assert.deepStrictEqual(urls("$URL", true), ["url: must be an http:// or https:// URL"])
    assert.deepStrictEqual(problems({ expand: false }), ["expand: must be true or an object"])
    assert.deepStrictEqual(problems({ expand: { workspaceFolder: 7 } }), ["expand.workspaceFolder: must be a text"])
  })
})

describe("what is seen before", () => {
  const input = {
    name: "a",
    transport: "http",
    expand: true,
    url: "https://user:${TOKEN:-canary-1}@${HOST:-canary-2}/mcp?key=canary-3&k2=${TOKEN}#canary-4",
    headers: {
      A: Redacted.make("canary-5"),
      B: Config.succeed("canary-6"),
      C: "Bearer ${TOKEN:-canary-7}",
      D: { command: "echo canary-8" }
    }
  } as const satisfies McpConfig.ServerConfigInput

  it.effect("S16: headers and what describes the server show no value and no default", () =>
    Effect.gen(function*() {
      const config = yield* McpConfig.decode(input)
      assert.strictEqual(McpConfig.describeTarget(config), "https://${HOST}/mcp")
      const { url: _, ...rest } = config as ResolvedHttp
      for (const text of [JSON.stringify(rest), inspect(rest, { depth: 9, showHidden: true }), String(rest)]) {
        assert.notInclude(text, "canary")
      }
    }))

  it.effect("a place that is known in part is described by its parts", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["${URL}", "${URL}"],
        ["${URL}/mcp?token=canary", "${URL}/mcp"],
        ["https://u:canary@${HOST}:8080/mcp", "https://${HOST}:8080/mcp"],
        ["https://h:${PORT}/mcp#canary", "https://h:${PORT}/mcp"],
        ["https://${input:host}/x", "https://${input:host}/x"],
        ["https://h/mcp?token=canary", "https://h/mcp"]
      ]
      for (const [url, described] of cases) {
        assert.strictEqual(McpConfig.describeTarget(yield* http({ expand: true, url })), described)
      }
    }))

  it.effect("3B.18: the identity of what is stored has the names of references, not what they stand for", () =>
    Effect.gen(function*() {
      const keyOf = (url: string, headers: Record<string, McpConfig.SecretInput> = {}) =>
        Effect.flatMap(http({ expand: true, url, headers }), (_) => CatalogStore.keyOf(_))
      const key = yield* keyOf("https://${HOST}/mcp", { A: { env: "X" } })
      assert.isDefined(key)
      assert.strictEqual(yield* keyOf("https://${HOST}/mcp", { A: { env: "Y" } }), key)
      assert.strictEqual(yield* keyOf("https://u:${PASS}@${HOST}/mcp", { a: "x" }), key)
      // Where the variable is not set, each default is another place.
      const others = ["https://${HOST:-other}/mcp", "https://${HOST:-another}/mcp", "https://${HOST2}/mcp"]
      assert.strictEqual(new Set(yield* Effect.forEach(others, (_) => keyOf(_))).size, others.length)
      for (const other of [...others, "https://${HOST}/mcp2", "https://${HOST}/mcp?a=1", "${HOST}/mcp"]) {
        assert.notStrictEqual(yield* keyOf(other, { A: "x" }), key)
      }
      const plain = yield* Effect.flatMap(http({ url: "https://h/mcp" }), (_) => CatalogStore.keyOf(_))
      assert.strictEqual(yield* keyOf("https://h/mcp"), plain)
    }))

  it.effect("a decoded configuration is decoded to itself, and written back as it can be read", () =>
    Effect.gen(function*() {
      const once = yield* McpConfig.decode(input)
      const twice = yield* McpConfig.decode(once)
      const opened = (config: McpConfig.ServerConfig) =>
        Effect.map(openOnce(config, everything), (_) => shown((_ as ResolvedHttp).headers))
      assert.deepStrictEqual(twice, once)
      assert.deepStrictEqual(yield* opened(twice), yield* opened(once))
    }))

  it.effect("reload: the same references are the same server; others, or another Config, are not", () =>
    Effect.gen(function*() {
      const config = Config.string("A")
      const make = (env: Record<string, McpConfig.SecretInput>, args: ReadonlyArray<string> = ["${A}"]) => [
        {
          name: "a",
          transport: "stdio",
          command: "x",
          expand: true,
          args,
          env
        } as const
      ]
      const first = { A: { env: "A" }, B: "${A:-x}", C: config, D: { command: "x", timeout: "1 second" } } as const
      const manager = yield* McpManager.make({ servers: make(first) })
      const touched = (servers: ReturnType<typeof make>) =>
        Effect.map(manager.reload(servers), (_) => _.unchanged.length === 0)
      assert.isFalse(yield* touched(make({ ...first, A: { env: "A" }, D: { command: "x", timeout: 1000 } })))
      const changes: ReadonlyArray<Record<string, McpConfig.SecretInput>> = [
        { ...first, A: { env: "B" } },
        { ...first, A: { store: "A" } },
        { ...first, B: "${A:-y}" },
        { ...first, B: "text:${A:-y}" },
        { ...first, C: Config.string("A") },
        { ...first, D: { command: "x", timeout: 2000 } },
        { ...first, A: "env:A" },
        { ...first, A: "${env:A}" }
      ]
      for (const changed of changes) {
        assert.isTrue(yield* touched(make(changed)), JSON.stringify(changed))
        assert.isFalse(yield* touched(make(changed)))
        yield* touched(make(first))
      }
      assert.isTrue(yield* touched(make(first, ["${B}"])))
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.merge(
        Layer.succeed(McpTransport.McpTransport, recorder().transport),
        CatalogStore.layerNone
      ))
    ))
})
