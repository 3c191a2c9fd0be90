/** Another entry with the same URL, over real TLS and a proxy that reads along. */
import { assert, describe, it } from "@effect/vitest"
import { McpAuth, McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
import { LeakCheck } from "@mcp-runtime/testing"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Tls from "node:tls"
import { type Answer, answering, listen, TestServer } from "../../core/test/exchangeServer.js"
import { nobody, program } from "./internal/auths.js"
import { directory } from "./internal/connections.js"

const pem = (name: string) => Fs.readFileSync(new URL(`fixtures/tls/${name}`, import.meta.url), "utf8")

const own = pem("ca.pem")
const access = "canary-access-token"
const refresh = "canary-refresh-token"

/** An MCP server that is its own authorization server. */
const answer = (origin: () => string): Answer => ({ body, headers, url }, response) => {
  const json = (value: object, status = 200, more: Http.OutgoingHttpHeaders = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...more }).end(JSON.stringify(value))
  const at = origin()
  switch (new URL(url, at).pathname) {
    case "/mcp": {
      if (headers.authorization !== `Bearer ${access}`) return json({}, 401, { "www-authenticate": "Bearer" })
      const { id, method } = JSON.parse(body === "" ? "{}" : body) as { readonly id?: number; readonly method?: string }
      const serverInfo = { name: "x", version: "1" }
      return method === "initialize"
        ? json({ jsonrpc: "2.0", id, result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo } })
        : json({}, 202)
    }
    case "/.well-known/oauth-protected-resource/mcp":
      return json({ resource: `${at}/mcp`, authorization_servers: [at] })
    case "/.well-known/oauth-authorization-server":
      return json({
        issuer: at,
        authorization_endpoint: `${at}/authorize`,
        token_endpoint: `${at}/token`,
        registration_endpoint: `${at}/register`,
        code_challenge_methods_supported: ["S256"]
      })
    case "/register":
      return json({ client_id: "client" }, 201)
    case "/token":
      return json({ access_token: access, refresh_token: refresh, token_type: "bearer", expires_in: 3600 })
    default:
      return json({}, 404)
  }
}

const secured = Effect.suspend(() => {
  const log = new TestServer()
  const server = Https.createServer(
    { cert: pem("server.pem"), key: pem("server.key") },
    answering(log, answer(() => `https://localhost:${log.port}`))
  )
  server.on("connection", log.track)
  return listen(server, log)
})

/** Takes every tunnel, ends the TLS in it by itself, and asks for tokens as the server would. */
const eavesdropper = Effect.suspend(() => {
  const log = new TestServer()
  const read: Array<string> = []
  const proxy = Http.createServer()
  proxy.on("connection", log.track)
  proxy.on("connect", (_, socket) => {
    socket.on("error", () => {})
    socket.write("HTTP/1.1 200 OK\r\n\r\n")
    const secure = new Tls.TLSSocket(socket as Tls.TLSSocket, {
      isServer: true,
      cert: pem("server.pem"),
      key: pem("server.key")
    })
    secure.on("error", () => {})
    secure.on("data", (chunk: Buffer) => {
      read.push(chunk.toString())
      const isMcp = /^[A-Z]+ \/mcp /.test(chunk.toString())
      const head = isMcp ? "401 No\r\nwww-authenticate: Bearer" : "404 No"
      secure.write(`HTTP/1.1 ${head}\r\ncontent-length: 0\r\n\r\n`)
    })
  })
  return Effect.map(listen(proxy, log), ({ port }) => ({ proxy: `http://127.0.0.1:${port}`, read }))
})

describe("tokens that are kept", () => {
  it.live("tokens that came in over checked TLS are nothing that a proxy, or an authority, of another entry ever sees", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const path = yield* directory
      const { port } = yield* secured
      const { proxy, read } = yield* eavesdropper
      const entry = (more: object) =>
        McpConfig.decodeUnknown({ name: "x", transport: "http", url: `https://localhost:${port}/mcp`, ...more })
      const open = (more: object) =>
        Effect.scoped(Effect.gen(function*() {
          const transport = yield* McpTransport.McpTransport
          return yield* McpSession.open(yield* transport.channel(yield* entry(more)))
        }))
      const users = { tls: { ca: own } }
      yield* Effect.gen(function*() {
        const { begin, finish } = yield* McpAuth.McpAuth
        const config = yield* entry(users)
        const { redirectUri, state } = yield* begin(config)
        yield* finish(config, `${redirectUri}?code=canary-code&state=${state}`)
        yield* open(users)
      }).pipe(Effect.provide(program(path, nobody)))
      const others = [
        { proxy, tls: { verify: false } },
        { proxy, tls: { ca: [own, pem("other-ca.pem")] } },
        { proxy, tls: { ca: own } }
      ]
      for (const other of others) {
        const before = read.length
        const error = yield* Effect.flip(Effect.provide(open(other), program(path, nobody)))
        assert.strictEqual(error._tag, "Unauthorized")
        assert.isAbove(read.length, before)
      }
      assert.notMatch(read.join("\n"), /canary|authorization:/i)
      // The user's own goes on.
      yield* Effect.provide(open(users), program(path, nobody))
    })))
})
