/**
 * The limit over HTTP: undici's `Pool.request`, `body.text()` and `JSON.parse`.
 */
import { type Dispatcher, Pool } from "undici"
import type { Pipe } from "./limit.js"

type Answer = { readonly result: Record<string, unknown> }

const eventData = (text: string): string => {
  const start = text.indexOf("data: ") + 6
  return text.slice(start, text.indexOf("\n", start))
}

const parse = (contentType: unknown, text: string): Answer =>
  JSON.parse(contentType === "application/json" ? text : eventData(text)) as Answer

export const openHttp = (url: string): Pipe => {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin)
  let headers: Record<string, string> = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json"
  }
  let stream: Dispatcher.ResponseData | undefined
  let nextId = 0

  const post = async (message: unknown): Promise<Dispatcher.ResponseData> => {
    const response = await pool.request({ method: "POST", path, headers, body: JSON.stringify(message) })
    if (response.statusCode >= 300) throw new Error(`HTTP ${response.statusCode}`)
    return response
  }

  return {
    request: async (method, params) => {
      const response = await post({ jsonrpc: "2.0", id: nextId++, method, params })
      const session = response.headers["mcp-session-id"]
      if (typeof session === "string") {
        headers = { ...headers, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" }
      }
      return parse(response.headers["content-type"], await response.body.text()).result
    },
    notify: async (method) => {
      await (await post({ jsonrpc: "2.0", method })).body.dump()
    },
    listen: async () => {
      stream = await pool.request({
        method: "GET",
        path,
        headers: { ...headers, accept: "text/event-stream" },
        bodyTimeout: 0
      })
      stream.body.on("error", () => {}).on("data", () => {})
    },
    close: async () => {
      stream?.body.destroy()
      await pool.destroy()
    }
  }
}
