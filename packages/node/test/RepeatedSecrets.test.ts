/** Servers over real wires that put everything they were given into their JSON-RPC errors. */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture } from "@mcp-runtime/testing"
import { Effect, Queue, Redacted } from "effect"

const canary = (where: string) => `CANARY-${where}-7f3a9c1e5b`

const assertNone = (error: unknown) => {
  const all = `${JSON.stringify(error)} ${error} ${(error as Error).stack}`
  const at = all.indexOf("CANARY-")
  assert.strictEqual(at < 0 ? "" : all.slice(Math.max(0, at - 100), at + 100), "")
}

const refusedCall = (input: McpConfig.ServerConfigInput) =>
  Effect.gen(function*() {
    const { channel } = yield* McpTransport.McpTransport
    const session = yield* McpSession.open(yield* channel(yield* McpConfig.decode(input)))
    const error = yield* Effect.flip(McpSession.callTool(session, { name: "x", arguments: {} }))
    assert(error._tag === "RemoteError")
    assert.include(error.reason, "refused")
    assert.include(error.reason, "<redacted>")
    assert.include(JSON.stringify(error.data), "<redacted>")
    assertNone(error)
    return error
  }).pipe(Effect.scoped, Effect.provide(NodeMcp.layerTransport))

/** Also as a server reads what is encoded on the way. */
const told = ({ headers, path }: HttpFixture.LoggedRequest) => {
  const basic = /^Basic (.*)$/.exec(headers.authorization ?? "")?.[1]
  const user = basic === undefined ? "" : Buffer.from(basic, "base64").toString()
  return JSON.stringify([headers, path, [...new URL(path, "http://h").searchParams.values()], user])
}

const refusalOf = (request: HttpFixture.LoggedRequest) => ({
  jsonrpc: "2.0",
  id: request.id,
  error: { code: -32000, message: `refused: ${told(request)}`, data: { headers: request.headers, text: told(request) } }
})

const queried = (server: HttpFixture.HttpFixture) => `${server.url}?key=${canary("query")}%20%22x%22`

describe("JSON-RPC errors that repeat secrets", () => {
  it.live("stdio: values of the environment", () => {
    const script = `
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method, params } = JSON.parse(line)
        if (id === undefined) return
        const told = JSON.stringify([process.env, process.env.TOKEN])
        process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...(method === "initialize"
          ? { result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "a", version: "1" } } }
          : { error: { code: -32000, message: "refused " + told, data: { env: process.env, text: told } } }) }) + "\\n")
      })`
    return refusedCall({
      name: "parrot",
      transport: "stdio",
      command: process.execPath,
      args: ["-e", script],
      env: { TOKEN: `${canary("env")} "quoted"`, OTHER: canary("other") }
    })
  })

  const answers: ReadonlyArray<readonly [string, (request: HttpFixture.LoggedRequest) => HttpFixture.Reply]> = [
    ["JSON", (request) => HttpFixture.json(refusalOf(request))],
    ["an event stream", (request) => HttpFixture.sse([HttpFixture.event(refusalOf(request))])]
  ]
  for (const [title, answer] of answers) {
    const parrot = HttpFixture.make({
      override: (request) => request.rpc === "tools/call" ? answer(request) : undefined
    })

    it.scopedLive(`HTTP 200 with ${title}: headers and the query`, () =>
      Effect.gen(function*() {
        const server = yield* parrot
        const headers = { Authorization: `Bearer ${canary("header")}`, "X-Key": `${canary("key")}"quoted"` }
        yield* refusedCall({ name: "parrot", transport: "http", url: queried(server), headers })
        yield* refusedCall({ name: "parrot", transport: "auto", url: queried(server), headers })
      }))

    it.scopedLive(`HTTP 200 with ${title}: user and password`, () =>
      Effect.gen(function*() {
        const server = yield* parrot
        const url = queried(server).replace("//", `//someone:${canary("password")}@`)
        yield* refusedCall({ name: "parrot", transport: "http", url })
      }))

    it.scopedLive(`HTTP 200 with ${title}: headers of each request, and what was sent before`, () =>
      Effect.gen(function*() {
        const server = yield* parrot
        let sent = 0
        const requestHeaders = Effect.sync(() => ({ "x-token": Redacted.make(canary(`token-${++sent}`)) }))
        const error = yield* refusedCall({ name: "parrot", transport: "http", url: queried(server), requestHeaders })
        assert.isAbove(sent, 1)
        assert.notInclude(JSON.stringify(error), server.log[0]!.session ?? "no session")
      }))
  }

  it.scopedLive("HTTP+SSE: headers and the query", () =>
    Effect.gen(function*() {
      const said = yield* Queue.unbounded<string>()
      const server = yield* HttpFixture.make({
        override: (request) => {
          if (request.method === "GET") {
            return HttpFixture.sse([
              `event: endpoint\ndata: ${request.path}\n\n`,
              ...Array.from({ length: 2 }, () => Queue.take(said))
            ], "open")
          }
          const { params } = request.message as { readonly params?: { readonly protocolVersion: string } }
          if (request.rpc === "initialize") {
            const result = {
              protocolVersion: params?.protocolVersion,
              capabilities: { tools: {} },
              serverInfo: { name: "a", version: "1" }
            }
            Effect.runSync(Queue.offer(said, `data: ${JSON.stringify({ jsonrpc: "2.0", id: request.id, result })}\n\n`))
          } else if (request.id !== undefined) {
            Effect.runSync(Queue.offer(said, `data: ${JSON.stringify(refusalOf(request))}\n\n`))
          }
          return HttpFixture.accepted
        }
      })
      const headers = { Authorization: `Bearer ${canary("header")}` }
      yield* refusedCall({ name: "parrot", transport: "sse", url: queried(server), headers })
    }))
})
