/**
 * Which server an approval is for: what of its configuration counts, what does not, and that no secret can be found out.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import { Config, Effect, Redacted } from "effect"
import * as Seal from "../../src/internal/toolset/seal.js"
import * as ServerIdentity from "../../src/internal/toolset/serverIdentity.js"
import { sha256 } from "../../src/internal/toolset/sha256.js"
import { config, http, otherServers, stdio } from "../otherServers.js"

const inProcess = (server: () => McpConfig.InProcessServer) => config({ name: "own", transport: "inMemory", server })

const identityOf = (server: McpConfig.ServerConfig): ServerIdentity.ServerIdentity => {
  const identity = ServerIdentity.of(server)
  assert(identity !== undefined, "it should be known")
  return identity
}
const fingerprintOf = (server: McpConfig.ServerConfig) => identityOf(server).fingerprint
const sealOf = (server: McpConfig.ServerConfig) => identityOf(server).seal

const oauth = (rest: object = {}) => ({ auth: { type: "oauth", clientId: "me", ...rest } })
const expand = true

describe("the fingerprint", () => {
  it("is the same in every process", () => {
    assert.strictEqual(
      fingerprintOf(stdio({ args: ["-y", "files@1"], env: { TOKEN: { env: "TOKEN" } } })),
      "38753001884c004bee7be96425645d7d2a44f7464affa6d5a456a9ba1a6cc7ec"
    )
    assert.strictEqual(
      fingerprintOf(http({ headers: { "X-Tenant": "a" }, ...oauth() })),
      "54bf7569ef18b75af47224cc71129e256a78c172eedaef0f1d55a30e3859b75a"
    )
  })

  it("is another one for another program, place, reference or account", () => {
    const servers = [
      ...otherServers,
      stdio({ args: ["postgres://ada:x@db/staging"] }),
      stdio({ args: ["postgres://ada:x@db/production"] }),
      stdio({ args: ["postgres://ada:x@other/production"] }),
      stdio({ args: ["--token", "x", "a"] }),
      stdio({ args: ["--token=x", "b"] }),
      stdio({ args: ["-c", "GITHUB_TOKEN=x good"] }),
      stdio({ args: ["-c", "GITHUB_TOKEN=x evil"] }),
      stdio({ args: ["-e", "TOKEN=1;good()"] }),
      stdio({ args: ["-e", "TOKEN=1;evil()"] }),
      stdio({ args: ["--no-auth", "good"] }),
      stdio({ args: ["--no-auth", "evil"] }),
      stdio({ args: ["--auth", "good.js"] }),
      stdio({ args: ["--auth", "evil.js"] }),
      stdio({ args: ["--auth", "./good"] }),
      stdio({ args: ["--auth", "./evil"] }),
      stdio({ args: ["run", "secret-scanner:1.0"] }),
      stdio({ args: ["run", "secret-scanner:evil"] }),
      stdio({ args: ["run", "tokens:5000/good"] }),
      stdio({ args: ["run", "tokens:5000/evil"] }),
      stdio({ args: ["token: good"] }),
      stdio({ args: ["token: evil"] }),
      stdio({ args: ["${A}"] }),
      stdio({ args: ["${A}"], expand }),
      stdio({ args: ["${B}"], expand }),
      stdio({ args: ["--token", "${A}"], expand }),
      stdio({ args: ["--token", "${B}"], expand }),
      stdio({ args: ["PASSWORD=${A}"], expand }),
      stdio({ args: ["PASSWORD=${B}"], expand }),
      stdio({ args: ["db://${A}:${B}@h"], expand }),
      stdio({ args: ["db://${A}:${C}@h"], expand }),
      stdio({ inheritEnv: ["A"] }),
      stdio({ env: { B: "x" } }),
      stdio({ env: { A: { env: "STAGING" } } }),
      stdio({ env: { A: { env: "PRODUCTION" } } }),
      stdio({ env: { A: { store: "PRODUCTION" } } }),
      stdio({ env: { A: { input: "PRODUCTION" } } }),
      stdio({ env: { A: { command: "vault read staging" } } }),
      stdio({ env: { A: { command: "vault read production" } } }),
      stdio({ env: { A: Config.string("A") } }),
      stdio({ env: { A: "${STAGING}" }, expand }),
      stdio({ env: { A: "${PRODUCTION}" }, expand }),
      stdio({ env: { A: "${PRODUCTION:-${STAGING}}" }, expand }),
      http({ url: "https://other.test/a" }),
      http({ url: "https://mcp.test/a?read_only=true" }),
      http({ url: "https://mcp.test/a?project=${A}", expand }),
      http({ url: "https://mcp.test/a?project=${B}", expand }),
      http({ headers: { tenant: "x" } }),
      http({ headers: { tenant: { env: "A" } } }),
      http({ headers: { tenant: { env: "B" } } }),
      http({ tls: { cert: { env: "A" } } }),
      http({ tls: { cert: { env: "B" } } }),
      http({ auth: "none" }),
      http(oauth()),
      http(oauth({ clientId: "you" })),
      http(oauth({ issuer: "https://as.test" })),
      http(oauth({ clientSecret: { env: "A" } })),
      http(oauth({ clientSecret: { env: "B" } })),
      inProcess(() => ({ connect: () => Promise.resolve() }))
    ]
    assert.strictEqual(new Set(servers.map(fingerprintOf)).size, servers.length)
  })

  it("is the same whatever is only about its use, and in whatever order it is written", () => {
    const use = {
      enabled: false,
      trusted: true,
      timeouts: { request: "1 second" },
      limits: { items: 7 },
      logLevel: "debug",
      concurrency: 3,
      lifetime: "lazy",
      keepAlive: { every: "1 minute" },
      subscriptions: ["a:b"],
      secrets: ["some text"]
    }
    const pairs: ReadonlyArray<readonly [McpConfig.ServerConfig, McpConfig.ServerConfig]> = [
      [stdio({ ...use, shutdown: { afterEof: "1 second" } }), stdio()],
      [http({ ...use, maxConnections: 3, recovery: "isolated", allowTokensOverHttp: true }), http()],
      [http(oauth({ scopes: ["a"], redirectPort: 1234, dpop: true })), http(oauth())],
      [
        stdio({ env: { A: "1", B: "2" } }),
        config({
          env: { B: "2", A: "1" },
          command: "serve",
          transport: "stdio",
          name: "files"
        })
      ],
      [http({ headers: { A: { env: "X" }, b: "2" } }), http({ headers: { B: "2", a: { env: "X" } } })],
      [stdio({ args: [], env: {}, inheritEnv: [] }), stdio()],
      [http({ headers: {}, tls: {} }), http()],
      [http(oauth({ clientSecret: "x" })), http(oauth({ clientSecret: "x" }))]
    ]
    for (const [one, other] of pairs) {
      assert.strictEqual(fingerprintOf(one), fingerprintOf(other))
    }
    for (const [one, other] of pairs) assert.strictEqual(sealOf(one), sealOf(other))
  })

  /** The same configuration with one secret or another. */
  const written: Readonly<Record<string, (secret: string) => McpConfig.ServerConfig>> = {
    "a variable": (_) => stdio({ env: { PIN: _ } }),
    "a variable that is redacted": (_) => stdio({ env: { PIN: Redacted.make(_) } }),
    "the text around a reference": (_) => stdio({ env: { URL: `db://ada:${_}@\${HOST}` }, expand }),
    "the default of a reference": (_) => stdio({ env: { PIN: `\${PIN:-${_}}` }, expand }),
    "an argument after its name": (_) => stdio({ args: ["serve", "--password", _] }),
    "an argument with its name": (_) => stdio({ args: [`--db-password=${_}`] }),
    "a variable of a container": (_) => stdio({ args: ["run", "-e", `GITHUB_TOKEN=${_}`, "image"] }),
    "a header of a bridge": (_) => stdio({ args: ["--header", `Authorization: Bearer ${_}`] }),
    "a header of a bridge, in one word": (_) => stdio({ args: ["-H", `X-Api-Key:${_}`] }),
    "a header of a bridge, with its option": (_) => stdio({ args: [`--header=Authorization: Bearer ${_}`] }),
    "a header of a bridge, of several words": (_) => stdio({ args: ["--header", `Cookie: a=1; b=${_}`] }),
    "a variable of a container, with its option": (_) => stdio({ args: [`--env=API_KEY=${_}`] }),
    "a setting": (_) => stdio({ args: [`--set=db.password=${_}`, `db.password=${_}`] }),
    "the user of a URL in an argument": (_) => stdio({ args: [`--url=redis://ada:${_}@cache:6379/0`] }),
    "the query of a URL in an argument": (_) => stdio({ args: [`https://mcp.test/a?b=1&pin=${_}#c`] }),
    "what is called a secret in an argument": (_) => stdio({ args: ["serve", `for-${_}`], secrets: [_] }),
    "what is called a secret in a path": (_) => http({ url: `https://mcp.test/s/${_}/mcp`, secrets: [_] }),
    "a header": (_) => http({ headers: { "X-Pin": _ } }),
    "the user of the URL": (_) => http({ url: `https://ada:${_}@mcp.test/a` }),
    "the query of the URL": (_) => http({ url: `https://mcp.test/a?pin=${_}` }),
    "the user of the proxy": (_) => http({ proxy: `http://ada:${_}@proxy.test` }),
    "a key": (_) => http({ tls: { key: _, cert: _, passphrase: _ } }),
    "the secret of a client": (_) => http(oauth({ clientSecret: _ })),
    "a secret of an identity provider": (_) =>
      http({
        auth: {
          type: "enterprise",
          clientId: "me",
          clientSecret: _,
          idp: { issuer: "https://idp.test", clientId: "me", clientSecret: _, idToken: _ }
        }
      })
  }
  for (const [where, of] of Object.entries(written)) {
    it(`has nothing of a secret that is written out (${where}), which the seal has`, () => {
      assert.strictEqual(fingerprintOf(of("1234")), fingerprintOf(of("9876")))
      assert.notStrictEqual(sealOf(of("1234")), sealOf(of("9876")))
      assert.strictEqual(sealOf(of("1234")), sealOf(of("1234")))
    })
  }

  it("is made once for each configuration", () => {
    const server = stdio({ args: ["a"] })
    assert.strictEqual(ServerIdentity.of(server), ServerIdentity.of(server))
  })

  it("is none where there is no configuration that was decoded", () => {
    for (const server of [undefined, null, {}, { name: "a", transport: "http", url: "%" }]) {
      assert.isUndefined(ServerIdentity.of(server as never))
    }
  })
})

describe("the seal", () => {
  it("has what can't be written: a function, an Effect, a Config", () => {
    const connect = { connect: () => Promise.resolve() }
    const [one, other] = [() => connect, () => connect]
    assert.strictEqual(fingerprintOf(inProcess(one)), fingerprintOf(inProcess(other)))
    assert.strictEqual(sealOf(inProcess(one)), sealOf(inProcess(one)))
    assert.notStrictEqual(sealOf(inProcess(one)), sealOf(inProcess(other)))
    const headers = Effect.succeed({ tenant: "a" })
    const withHeaders = (requestHeaders: typeof headers) => sealOf(http({ requestHeaders }))
    assert.strictEqual(withHeaders(headers), withHeaders(headers))
    assert.notStrictEqual(withHeaders(headers), withHeaders(Effect.succeed({ tenant: "b" })))
    const withEnv = (A: Config.Config<string>) => stdio({ env: { A } })
    const [staging, production] = [Config.string("STAGING"), Config.string("PRODUCTION")]
    assert.strictEqual(sealOf(withEnv(staging)), sealOf(withEnv(staging)))
    assert.notStrictEqual(sealOf(withEnv(staging)), sealOf(withEnv(production)))
  })

  it("is told from one of another process, and is no plain digest", () => {
    const made = Seal.seal("1234")!
    assert.match(made, /^[0-9a-f]{16}:[0-9a-f]{64}$/)
    assert.notInclude(made, sha256("1234"))
    assert.isTrue(Seal.isOurs(made))
    assert.isFalse(Seal.isOurs(`${"0".repeat(16)}:${made.split(":")[1]}`))
  })

  it("is none where there is no cryptography to make a key with", () => {
    const original = Object.getOwnPropertyDescriptor(globalThis, "crypto")!
    Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true })
    try {
      assert.isUndefined(Seal.seal("1234"))
    } finally {
      Object.defineProperty(globalThis, "crypto", original)
    }
  })
})
