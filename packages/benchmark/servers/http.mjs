/**
 * An MCP server over Streamable HTTP that answers as fast as Node can: HTTP/1.1 by hand on bare sockets, answers ready
 * made. `/json` answers requests with JSON, `/sse` with an event stream, `/streams` with the number of standalone streams
 * that are open. `/forgetful` answers as `/json`, and forgets its one session with each call of the tool `forget`: what
 * still brings the old id gets 404. Listens on a free port of 127.0.0.1, tells it on stdout, and ends when its stdin does.
 */
import { createServer } from "node:net"
import { answerTo, callableTools } from "./answers.mjs"

const session = "bench-session"

/** The session of `/forgetful` that is remembered. */
let remembered = 0

const accepted = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
const deleted = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
const streaming = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n" +
  "transfer-encoding: chunked\r\n\r\n"
const refused = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

const unknown = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"

const sessionHeader = (message, id = session) => message.method === "initialize" ? `mcp-session-id: ${id}\r\n` : ""

const asJson = (message, body, id) =>
  "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" +
  `${sessionHeader(message, id)}content-length: ${body.length}\r\n\r\n${body}`

const forgetfully = (head, message, text) => {
  if (message.method === "initialize") return asJson(message, text, `${session}-${remembered}`)
  if (!head.includes(`mcp-session-id: ${session}-${remembered}\r\n`)) return unknown
  if (message.params?.name === "forget") remembered++
  return asJson(message, text)
}

const asEvents = (message, body) => {
  const event = `event: message\ndata: ${body}\n\n`
  return "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n" +
    `${sessionHeader(message)}transfer-encoding: chunked\r\n\r\n` +
    `${event.length.toString(16)}\r\n${event}\r\n0\r\n\r\n`
}

let streams = 0

const answer = (head, body, socket) => {
  if (head.startsWith("GET /streams ")) {
    return `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${String(streams).length}\r\n\r\n${streams}`
  }
  if (head.startsWith("GET ")) {
    streams++
    socket.on("close", () => streams--)
    return streaming
  }
  if (head.startsWith("DELETE ")) return deleted
  const message = JSON.parse(body)
  const text = answerTo(message, callableTools)
  if (text === undefined) return accepted
  if (head.startsWith("POST /forgetful ")) return forgetfully(`${head}\r\n`, message, text)
  return head.startsWith("POST /sse ") ? asEvents(message, text) : asJson(message, text)
}

const lengthOf = (head) => {
  const found = /\r\ncontent-length: *(\d+)/i.exec(head)
  return found === null ? 0 : Number(found[1])
}

const server = createServer({ noDelay: true }, (socket) => {
  let rest = ""
  socket.setEncoding("latin1")
  socket.on("error", () => socket.destroy())
  socket.on("data", (chunk) => {
    rest += chunk
    let out = ""
    for (;;) {
      const end = rest.indexOf("\r\n\r\n")
      if (end === -1) break
      const head = rest.slice(0, end)
      if (/\r\ntransfer-encoding:/i.test(head)) {
        socket.end(refused)
        return
      }
      const next = end + 4 + lengthOf(head)
      if (rest.length < next) break
      out += answer(head, rest.slice(end + 4, next), socket)
      rest = rest.slice(next)
    }
    if (out !== "") socket.write(out, "latin1")
  })
})

server.listen(0, "127.0.0.1", 4096, () => process.stdout.write(`${server.address().port}\n`))
process.stdin.on("end", () => process.exit(0)).resume()
