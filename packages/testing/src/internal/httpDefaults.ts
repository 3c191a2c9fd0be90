/**
 * What `HttpFixture` answers when no test says otherwise.
 *
 * Owns: sessions, GET streams, and the small MCP server behind them.
 * May not touch: sockets.
 */
import type * as Http from "node:http"
import type { LoggedRequest, Options, Reply } from "../HttpFixture.js"
import { accepted, event, json, respond, sse } from "./httpReplies.js"

const tools = [{
  name: "echo",
  description: "Gives its arguments back",
  inputSchema: { type: "object", properties: { text: { type: "string" } } }
}]

export class HttpDefaults {
  readonly sessions = new Set<string>()
  readonly streams = new Map<Http.ServerResponse, string | undefined>()
  private readonly counts = new Map<string, number>()
  private lastSession = 0

  constructor(
    private readonly options: Options,
    private readonly changed: () => void
  ) {}

  executions(tool?: string): number {
    if (tool !== undefined) return this.counts.get(tool) ?? 0
    let sum = 0
    for (const count of this.counts.values()) sum += count
    return sum
  }

  push(message: unknown): number {
    const text = typeof message === "string" ? message : event(message)
    for (const response of this.streams.keys()) response.write(text)
    return this.streams.size
  }

  endStreams(ending: "end" | "destroy"): void {
    for (const response of this.streams.keys()) {
      if (ending === "end") response.end()
      else response.socket?.destroySoon()
    }
  }

  answer(request: LoggedRequest, response: Http.ServerResponse, perform: (reply: Reply) => void): void {
    if (this.options.legacy === true) return this.legacy(request, response, perform)
    switch (request.method) {
      case "POST":
        return perform(this.post(request))
      case "GET":
        if (this.options.stream === false) return perform(respond({ status: 405 }))
        if (!this.known(request)) return perform(respond({ status: 404 }))
        return this.stream(response, request.session)
      case "DELETE":
        if (!this.sessions.delete(request.session ?? "")) return perform(respond({ status: 404 }))
        for (const [stream, session] of this.streams) if (session === request.session) stream.end()
        return perform(respond({ status: 200 }))
      default:
        return perform(respond({ status: 405 }))
    }
  }

  private post(request: LoggedRequest): Reply {
    if (request.rpc === "initialize") {
      const session = `session-${++this.lastSession}`
      if (this.options.sessions === false) return this.reply(request)
      this.sessions.add(session)
      const reply = this.reply(request)
      return reply._tag === "Respond" ? { ...reply, headers: { ...reply.headers, "mcp-session-id": session } } : reply
    }
    if (!this.known(request)) {
      return request.session === undefined
        ? json(rpcError(null, -32000, "Bad Request: No valid session ID provided"), { status: 400 })
        : json(rpcError(null, -32001, "Session not found"), { status: 404 })
    }
    return request.rpc === undefined || request.id === undefined ? accepted : this.reply(request)
  }

  private known(request: LoggedRequest): boolean {
    return this.options.sessions === false || this.sessions.has(request.session ?? "")
  }

  private stream(response: Http.ServerResponse, session: string | undefined, first?: string): void {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.flushHeaders()
    if (first !== undefined) response.write(first)
    this.streams.set(response, session)
    response.on("close", () => {
      this.streams.delete(response)
      this.changed()
    })
  }

  private reply(request: LoggedRequest): Reply {
    const message = this.respond(request)
    return this.options.answers === "sse" ? sse([event(message)]) : json(message)
  }

  private respond(request: LoggedRequest): unknown {
    const params = (request.message as { readonly params?: { readonly [key: string]: unknown } } | undefined)?.params
    switch (request.rpc) {
      case "initialize":
        return {
          jsonrpc: "2.0",
          id: request.id,
          result: {
            protocolVersion: params?.protocolVersion ?? "2025-11-25",
            capabilities: { tools: { listChanged: true }, logging: {} },
            serverInfo: { name: "http-fixture", version: "1.0.0" }
          }
        }
      case "ping":
        return { jsonrpc: "2.0", id: request.id, result: {} }
      case "tools/list":
        return { jsonrpc: "2.0", id: request.id, result: { tools } }
      case "tools/call": {
        const name = String(params?.name)
        this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
        return {
          jsonrpc: "2.0",
          id: request.id,
          result: { content: [{ type: "text", text: JSON.stringify(params?.arguments ?? {}) }] }
        }
      }
      default:
        return rpcError(request.id, -32601, "Method not found")
    }
  }

  private legacy(request: LoggedRequest, response: Http.ServerResponse, perform: (reply: Reply) => void): void {
    const [path, query] = request.path.split("?")
    if (request.method === "GET") {
      const session = `session-${++this.lastSession}`
      this.sessions.add(session)
      return this.stream(response, session, event(`/message?sessionId=${session}`, { event: "endpoint" }))
    }
    if (request.method !== "POST" || path !== "/message") return perform(respond({ status: 405 }))
    const session = new URLSearchParams(query).get("sessionId") ?? ""
    if (!this.sessions.has(session)) return perform(respond({ status: 404, body: "No session" }))
    perform(respond({ status: 202, body: "Accepted" }))
    if (request.rpc === undefined || request.id === undefined) return
    const answer = event(this.respond(request))
    for (const [stream, owner] of this.streams) if (owner === session) stream.write(answer)
  }
}

const rpcError = (id: unknown, code: number, message: string) => ({ jsonrpc: "2.0", id, error: { code, message } })
