/**
 * The server of the soak over HTTP. Its arguments: how it answers (`json`, `sse`, or `legacy` for the HTTP+SSE transport), its
 * port (0 for any), and `guarded` if it asks for a token, which it gives to whoever asks for one and which is good for a while.
 *
 * It says `port <n>`, and does what lines on its input say; to `count` it says `count <sockets>`. It ends with its input.
 */
import { createServer } from "node:http"
import { createInterface } from "node:readline"
import { flood, makePeer, question } from "./peer.mjs"

const [answers, port, guard] = process.argv.slice(2)
const isGuarded = guard === "guarded"
const tokenSeconds = 20

const sessions = new Map()
const sockets = new Set()
/** Those that were accepted once: only these are revoked, for one that is refused at once is not renewed for minutes. */
const used = new Set()
const revoked = new Set()
/** Answers that wait to be asked for again, by the id of the event before them. */
const kept = new Map()
let lastSession = 0
let lastEvent = 0
let lastToken = 0
let forgetsWith = 404

const event = (message, id) => `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${JSON.stringify(message)}\n\n`
const junk = [
  ": a comment\n\n",
  "data: this is not JSON\n\n",
  "event: strange\ndata: {}\n\n",
  "retry: 1\n\n",
  "retry: never\nid: \u0000\n\n",
  "\u0001\u0002\n",
  `data: {"jsonrpc":"2.0","id":123456789,"result":{}}\n\n`,
  `: ${"c".repeat(200_000)}\n\n`
]

const status = (code, headers, body = "") => (to) => to.response.writeHead(code, headers).end(body)
const after = (then) => (to) => {
  to.execute()
  then(to)
}
const stream = (response) => response.writeHead(200, { "content-type": "text/event-stream" })

/** What can be done to an answer only if each request has one of its own. */
const ofAnswers = {
  badGateway: status(502),
  badGatewayAfter: after(status(502)),
  unavailable: status(503, { "retry-after": "0" }),
  tooMany: status(429, { "retry-after": "0" }),
  accepted: after(status(202)),
  wrongType: after(status(200, { "content-type": "text/html" }, "<p>hello</p>")),
  notJson: after(status(200, { "content-type": "application/json" }, "{\"jsonrpc\"")),
  redirect: status(307, { location: "http://127.0.0.1:1/" }),
  reset: (to) => to.response.destroy(),
  resetAfter: after((to) => to.response.destroy()),
  cut: after((to) => {
    const body = JSON.stringify(to.message())
    to.response.writeHead(200, { "content-type": "application/json", "content-length": body.length })
    to.response.write(body.slice(0, 20), () => to.response.destroy())
  }),
  emptyStream: after((to) => stream(to.response).end()),
  cutStream: after((to) => stream(to.response).write(event(to.message()).slice(0, 30), () => to.response.destroy())),
  junkStream: after((to) => {
    stream(to.response)
    for (const piece of junk) to.response.write(piece)
    to.response.end(event(to.message()))
  }),
  drip: after((to) => {
    stream(to.response)
    const text = event(to.message())
    let at = 0
    const next = () => {
      if (at >= text.length) return to.response.end()
      to.response.write(text.slice(at, at + 7))
      at += 7
      // Drop by drop is the misbehaviour.
      setTimeout(next, 1)
    }
    next()
  }),
  resumed: after((to) => {
    const id = `e${++lastEvent}`
    kept.set(id, to.message())
    setTimeout(() => kept.delete(id), 10_000).unref()
    stream(to.response).write(`id: ${id}\nretry: 5\ndata:\n\n`, () => to.response.destroy())
  }),
  notResumed: after((to) => {
    stream(to.response).write(`id: gone\nretry: 5\ndata:\n\n`, () => to.response.destroy())
  })
}

const { note, receive } = makePeer({
  flaws: answers === "legacy" ? {} : ofAnswers,
  journal: process.env.SOAK_JOURNAL
})

const streams = () => [...sessions.values()].flatMap((session) => [...session.streams])
const push = (text) => streams().forEach((_) => _.write(text))

const commands = {
  expire: () => {
    forgetsWith = 404
    sessions.clear()
  },
  expire400: () => {
    forgetsWith = 400
    sessions.clear()
  },
  streams: () => streams().forEach((_) => _.destroy()),
  endStreams: () => streams().forEach((_) => _.end()),
  sockets: () => sockets.forEach((_) => _.destroy()),
  revoke: () => {
    used.forEach((_) => revoked.add(_))
    used.clear()
  },
  flood: () => flood((message) => push(event(message))),
  junk: () => junk.forEach(push),
  ask: () => push(event(question(lastEvent++)))
}

const sendTo = (response) => {
  let isStream = false
  return (message) => {
    if (response.writableEnded || response.destroyed) return
    const isAnswer = message.method === undefined
    const asStream = isStream || !isAnswer || (answers === "sse" && message.id !== undefined)
    if (!asStream) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message))
      return
    }
    if (!isStream) stream(response)
    isStream = true
    response.write(event(message, answers === "sse" ? `e${++lastEvent}` : undefined))
    if (isAnswer && message.id === response.soakId) response.end()
  }
}

const streamable = (request, response, message) => {
  const id = request.headers["mcp-session-id"]
  const isNew = message?.method === "initialize"
  if (!isNew && !sessions.has(id)) {
    return forgetsWith === 404
      ? response.writeHead(404).end()
      : response.writeHead(400).end("Bad Request: No valid session ID provided")
  }
  if (request.method === "DELETE") {
    for (const stream of sessions.get(id).streams) stream.end()
    sessions.delete(id)
    return response.writeHead(200).end()
  }
  if (request.method === "GET") {
    const last = request.headers["last-event-id"]
    if (last === "gone") return response.writeHead(404).end()
    const answer = kept.get(last)
    if (answer !== undefined) return stream(response).end(event(answer))
    const { streams } = sessions.get(id)
    streams.add(response)
    response.on("close", () => streams.delete(response))
    return stream(response).flushHeaders()
  }
  if (message.id === undefined || message.method === undefined) {
    response.writeHead(202).end()
    return receive(message, { send: () => {} })
  }
  if (isNew) {
    const session = `soak-${process.pid}-${++lastSession}`
    sessions.set(session, { streams: new Set() })
    response.setHeader("mcp-session-id", session)
  }
  response.soakId = message.id
  receive(message, { send: sendTo(response), response })
}

const legacy = (request, response, message) => {
  const id = new URL(request.url, "http://localhost").searchParams.get("session")
  if (request.method === "GET") {
    const session = `soak-${++lastSession}`
    sessions.set(session, { streams: new Set([response]) })
    response.on("close", () => sessions.delete(session))
    stream(response).write(`event: endpoint\ndata: /message?session=${session}\n\n`)
    return
  }
  if (request.method !== "POST") return response.writeHead(405).end()
  const session = sessions.get(id)
  if (session === undefined) return response.writeHead(404).end()
  response.writeHead(202).end()
  receive(message, { send: (message) => session.streams.forEach((_) => _.write(event(message))), response })
}

const json = (response, value) =>
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))

/** Whether the request goes on: it has a token, or needs none. */
const passes = (request, response, origin) => {
  if (!isGuarded) return true
  if (request.url.startsWith("/.well-known/oauth-protected-resource")) {
    json(response, { resource: `${origin}/mcp`, authorization_servers: [origin] })
    return false
  }
  if (request.url.startsWith("/.well-known/oauth-authorization-server")) {
    json(response, {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      response_types_supported: ["code"],
      grant_types_supported: ["client_credentials"],
      token_endpoint_auth_methods_supported: ["client_secret_basic"],
      code_challenge_methods_supported: ["S256"]
    })
    return false
  }
  if (request.url === "/token") {
    // Another process that comes back at this port must know it.
    const token = `token-${process.pid}-${++lastToken}-${Date.now() + tokenSeconds * 1000}`
    note("flaw token")
    json(response, { access_token: token, token_type: "Bearer", expires_in: tokenSeconds })
    return false
  }
  const token = (request.headers.authorization ?? "").slice("Bearer ".length)
  if (Number(/^token-\d+-\d+-(\d+)$/.exec(token)?.[1] ?? 0) > Date.now() && !revoked.has(token)) {
    used.add(token)
    return true
  }
  const where = `${origin}/.well-known/oauth-protected-resource/mcp`
  response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${where}"` }).end()
  return false
}

const server = createServer((request, response) => {
  const chunks = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("error", () => {})
  response.on("error", () => {})
  request.on("end", () => {
    if (!passes(request, response, `http://127.0.0.1:${server.address().port}`)) return
    const body = Buffer.concat(chunks).toString("utf8")
    const message = request.method === "POST" ? JSON.parse(body) : undefined
    if (answers === "legacy") legacy(request, response, message)
    else streamable(request, response, message)
  })
})
server.on("connection", (socket) => {
  sockets.add(socket)
  socket.on("error", () => {})
  socket.on("close", () => sockets.delete(socket))
})
server.keepAliveTimeout = 60_000
server.listen(Number(port), "127.0.0.1", () => {
  note(`started ${process.ppid}`)
  process.stdout.write(`port ${server.address().port}\n`)
})
createInterface({ input: process.stdin }).on("line", (line) => {
  if (line === "count") return process.stdout.write(`count ${sockets.size}\n`)
  commands[line]()
  note(`flaw ${line}`)
}).on("close", () => process.exit(0))
