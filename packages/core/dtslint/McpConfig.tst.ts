import { McpConfig, type McpError } from "@mcp-runtime/core"
import type { Server } from "@modelcontextprotocol/sdk/server/index.js"
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { type Duration, Effect, type Redacted, type Scope } from "effect"
import { describe, expect, it } from "tstyche"

declare const sdkServer: McpServer
declare const lowLevelServer: Server
declare const effect: Effect.Effect<{ authorization: string }, Error>
declare const needy: Effect.Effect<{ authorization: string }, Error, Scope.Scope>
declare const token: Redacted.Redacted<string>

type Input = McpConfig.ServerConfigInput

describe("McpConfig.ServerConfigInput", () => {
  it("takes plain texts", () => {
    expect<Input>().type.toBeAssignableFrom<{ name: "a"; transport: "stdio"; command: "npx" }>()
    expect(McpConfig.decode).type.toBeCallableWith({
      name: "a",
      transport: "stdio",
      command: "npx",
      args: ["-y"],
      env: { TOKEN: "t", OTHER: token },
      inheritEnv: "all",
      cwd: "/",
      shutdown: { afterEof: "1 second" },
      timeouts: { handshake: null, request: "5 seconds", close: 500 },
      limits: { pages: 5 },
      logLevel: "debug",
      enabled: true,
      concurrency: "serial",
      lifetime: { idle: "5 minutes" },
      trusted: false,
      keepAlive: { every: "30 seconds", timeout: 500 }
    })
    expect(McpConfig.decode).type.toBeCallableWith({ name: "a", transport: "stdio", command: "npx", inheritEnv: ["A"] })
    for (const transport of ["http", "sse", "auto"] as const) {
      expect(McpConfig.decode).type.toBeCallableWith({
        name: "a",
        transport,
        url: "http://x",
        headers: { authorization: token, other: "x" },
        requestHeaders: effect,
        tls: { ca: "pem", verify: false, key: token },
        proxy: token,
        maxConnections: 4,
        concurrency: 8,
        lifetime: "lazy",
        keepAlive: { every: "30 seconds" },
        recovery: "isolated"
      })
    }
    expect(McpConfig.decode).type.toBeCallableWith({ name: "a", transport: "http", url: "http://x", proxy: "http://y" })
    for (
      const secret of [
        "x",
        { env: "A" },
        { command: "a", timeout: "5 seconds" },
        { store: "a" },
        { input: "a" },
        token
      ] as const
    ) {
      expect(McpConfig.decode).type.toBeCallableWith({
        name: "a",
        transport: "http",
        url: "http://x",
        tls: { ca: [secret, "pem"], cert: secret, key: secret, passphrase: secret },
        auth: { type: "clientCredentials", clientId: "a", privateKey: secret }
      })
    }
  })

  it("takes fields that are undefined", () => {
    expect(McpConfig.decode).type.toBeCallableWith({
      name: "a",
      transport: "stdio",
      command: "npx",
      args: undefined,
      env: undefined,
      timeouts: { close: undefined, request: undefined },
      limits: undefined
    })
  })

  it("refuses other transports, fields of other transports, and values of other kinds", () => {
    const { decode } = McpConfig
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "ftp", url: "ftp://x" })
    expect(decode).type.not.toBeCallableWith({ transport: "stdio", command: "npx" })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "stdio" })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "stdio", command: "npx", url: "http://x" })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "http", url: "http://x", command: "npx" })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "stdio", command: "npx", args: "x" })
    expect(decode).type.not.toBeCallableWith({
      name: "a",
      transport: "stdio",
      command: "npx",
      timeouts: { close: null }
    })
    expect(decode).type.not.toBeCallableWith({
      name: "a",
      transport: "stdio",
      command: "npx",
      timeouts: { close: "x" }
    })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "stdio", command: "npx", recovery: "isolated" })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "stdio", command: "npx", concurrency: "parallel" })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "stdio", command: "npx", lifetime: "5 minutes" })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "stdio", command: "npx", keepAlive: true })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "http", url: new URL("http://x") })
    expect(decode).type.not.toBeCallableWith({ name: "a", transport: "http", url: "http://x", requestHeaders: {} })
  })

  it("takes request headers that need no service", () => {
    expect<McpConfig.RequestHeaders>().type.toBeAssignableFrom(effect)
    expect<McpConfig.RequestHeaders>().type.not.toBeAssignableFrom(needy)
    expect<McpConfig.RequestHeaders>().type.not.toBeAssignableFrom(Effect.succeed({ a: 1 }))
  })
})

describe("shorthands", () => {
  it("are decoded as what they stand for", () => {
    for (const what of ["./files.js", new URL("http://x"), sdkServer, () => sdkServer]) {
      expect(McpConfig.decode).type.toBeCallableWith(what)
      expect(McpConfig.from(what)).type.toBe<Input>()
    }
    expect<McpConfig.Shorthand>().type.toBeAssignableFrom<Input>()
    expect(McpConfig.decode).type.not.toBeCallableWith(1)
    expect(McpConfig.from).type.not.toBeCallableWith(sdkServer, 1)
  })
})

describe("in-process servers", () => {
  it("the servers of the SDK are taken as they are", () => {
    expect<() => McpConfig.InProcessServer>().type.toBeAssignableFrom(() => sdkServer)
    expect<() => McpConfig.InProcessServer>().type.toBeAssignableFrom(() => lowLevelServer)
    expect(McpConfig.decode).type.toBeCallableWith({ name: "a", transport: "inMemory", server: () => sdkServer })
  })

  it("a server is not its factory, nor the promise of one", () => {
    expect(McpConfig.decode).type.not.toBeCallableWith({ name: "a", transport: "inMemory", server: sdkServer })
    expect<() => McpConfig.InProcessServer>().type.not.toBeAssignableFrom(() => Promise.resolve(sdkServer))
  })

  it("our end is taken where the SDK wants a transport that is given messages", () => {
    expect<Pick<Transport, "start" | "send" | "close">>().type.toBeAssignableFrom<McpConfig.InProcessTransport>()
  })
})

describe("decoded configurations", () => {
  it("have secrets Redacted and durations as Duration", () => {
    expect(McpConfig.decodeUnknown({})).type.toBe<Effect.Effect<McpConfig.ServerConfig, McpError.ConfigInvalid>>()
    expect<McpConfig.HttpConfig["proxy"]>().type.toBe<Redacted.Redacted<string> | undefined>()
    expect<NonNullable<McpConfig.HttpConfig["tls"]>["ca"]>().type.toBe<
      Redacted.Redacted<string> | ReadonlyArray<Redacted.Redacted<string>> | undefined
    >()
    expect<NonNullable<McpConfig.HttpConfig["headers"]>[string]>().type.toBe<Redacted.Redacted<string>>()
    expect<NonNullable<McpConfig.StdioConfig["env"]>[string]>().type.toBe<Redacted.Redacted<string>>()
    expect<McpConfig.Timeouts["close"]>().type.toBe<Duration.Duration>()
    expect<McpConfig.Timeouts["request"]>().type.toBe<Duration.Duration | null>()
    expect<McpConfig.ServerConfig["concurrency"]>().type.toBe<"serial" | "unbounded" | number | undefined>()
    expect<McpConfig.Lifetime>().type.toBe<"eager" | "lazy" | { readonly idle: Duration.Duration }>()
    expect<NonNullable<McpConfig.ServerConfig["keepAlive"]>["every"]>().type.toBe<Duration.Duration>()
    expect<McpConfig.HttpConfig["recovery"]>().type.toBe<"shared" | "isolated" | undefined>()
    expect(McpConfig.concurrencyOf).type.toBe<(config: McpConfig.ServerConfig) => number>()
    expect<McpConfig.ServerConfig["transport"]>().type.toBe<"stdio" | "http" | "sse" | "auto" | "inMemory">()
  })
})
