/**
 * The server of the soak, whatever its wire is: what it offers, and how it misbehaves when a call asks for it.
 *
 * Owns: the answers, and the journal: one line for what has happened, written before it is answered, so that a server that
 * was killed has told what it did. `run <key> <pid>`: a call was executed. `flaw <name> <pid>`: it misbehaved in this way.
 * `session new <pid>`: a handshake.
 * May not touch: wires. It is given one, with flaws of its own.
 */
import { appendFileSync } from "node:fs"

const megabyte = 1024 * 1024
const text = (value) => ({ content: [{ type: "text", text: String(value) }] })

const arguments_ = { type: "object", properties: { key: { type: "integer" } }, required: ["key"] }
const tools = [
  { name: "work", inputSchema: arguments_ },
  { name: "look", inputSchema: arguments_, annotations: { readOnlyHint: true, idempotentHint: true } },
  { name: "pid", inputSchema: { type: "object" } },
  { name: "arm", inputSchema: { type: "object" } }
]
const uris = ["soak://one", "soak://two"]

/** What comes in two pages. */
const pages = (field, items, cursor) =>
  cursor === undefined ? { [field]: items.slice(0, 2), nextCursor: "2" } : { [field]: items.slice(2) }

const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
      completions: {}
    },
    serverInfo: { name: "soak", version: "1.0.0" },
    instructions: "Nothing of this is real."
  }),
  ping: () => ({}),
  "tools/list": ({ cursor } = {}) => pages("tools", tools, cursor),
  "prompts/list": () => ({ prompts: [{ name: "hello" }] }),
  "prompts/get": () => ({ messages: [{ role: "user", content: { type: "text", text: "hello" } }] }),
  "resources/list": ({ cursor } = {}) => pages("resources", uris.map((uri) => ({ uri, name: uri })), cursor),
  "resources/templates/list": () => ({ resourceTemplates: [{ uriTemplate: "soak://{name}", name: "any" }] }),
  "resources/read": ({ uri }) => ({ contents: [{ uri, text: uri }] }),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
  "logging/setLevel": () => ({}),
  "completion/complete": () => ({ completion: { values: ["hello"], total: 1, hasMore: false } })
}

const changes = ["notifications/tools/list_changed", "notifications/resources/list_changed"]

/** A flood of what is said unasked. */
export const flood = (send) => {
  for (let i = 0; i < 150; i++) send({ jsonrpc: "2.0", method: changes[i % changes.length] })
  for (const uri of uris) send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } })
  send({ jsonrpc: "2.0", method: "notifications/message", params: { level: "error", data: "flood" } })
}

const questions = [
  ["sampling/createMessage", { messages: [], maxTokens: 1 }],
  ["elicitation/create", { message: "ok", requestedSchema: { type: "object", properties: {} } }],
  ["elicitation/create", { message: "fail", requestedSchema: { type: "object", properties: {} } }],
  ["elicitation/create", { message: "hang", requestedSchema: { type: "object", properties: {} } }],
  ["roots/list", {}],
  ["no/such/method", {}]
]

export const question = (number) => {
  const [method, params] = questions[number % questions.length]
  return { jsonrpc: "2.0", id: `q${number}`, method, params }
}

/** How a request can be treated. `to` can execute it, answer it, and do anything else on its wire. */
const flaws = {
  answer: (to) => {
    to.execute()
    to.answer()
  },
  slow: (to) => {
    to.execute()
    setTimeout(to.answer, 15)
  },
  progress: (to) => {
    to.execute()
    let step = 0
    const next = () => {
      if (step === 5) return to.answer()
      to.progress(++step)
      setTimeout(next, 3)
    }
    next()
  },
  burst: (to) => {
    to.execute()
    for (let step = 1; step <= 100; step++) to.progress(step)
    to.answer()
  },
  big: (to) => {
    to.execute()
    to.answer("x".repeat(megabyte))
  },
  hang: (to) => to.execute(),
  deaf: () => {},
  duplicate: (to) => {
    to.execute()
    to.answer()
    to.answer()
  },
  strangers: (to) => {
    to.execute()
    for (const id of [1_000_000_000, -1, "x", null]) to.send({ jsonrpc: "2.0", id, result: text("stranger") })
    to.answer()
  },
  malformed: (to) => {
    to.execute()
    to.send({ jsonrpc: "2.0", id: to.id, result: { content: "this is no list" } })
  },
  unknown: (to) => to.send({ jsonrpc: "2.0", id: to.id, error: { code: -32601, message: "Method not found" } }),
  error: (to) => {
    to.execute()
    to.send({ jsonrpc: "2.0", id: to.id, error: { code: -32603, message: "it went wrong on the way" } })
  },
  flood: (to) => {
    to.execute()
    flood(to.send)
    to.answer()
  },
  asks: (to) => {
    to.execute()
    to.ask(to.answer)
  }
}

/**
 * A server on a wire. `wire.flaws` are those that only this wire can have. Gives a function that takes each message, and
 * what can be done with it: `send`, and whatever the flaws of the wire need.
 */
export const makePeer = ({ flaws: own = {}, journal, pid = process.pid }) => {
  const note = (what) => appendFileSync(journal, `${what} ${pid}\n`)
  const waiting = new Map()
  const armed = new Map()
  let asked = 0

  const treat = (does, to) => {
    const flaw = Object.hasOwn(own, does) ? own[does] : flaws[does]
    if (does !== "answer") note(`flaw ${does}`)
    flaw(to)
  }

  const toolOf = (id, { _meta, arguments: args = {}, name }, port) => {
    const result = (value) => port.send({ jsonrpc: "2.0", id, result: value })
    if (name === "pid") return result(text(pid))
    if (name === "arm") {
      armed.set(args.method, args.does)
      return result(text("armed"))
    }
    const token = _meta?.progressToken
    const message = (padding) => {
      const value = text(args.key)
      if (typeof padding === "string") value.content.push({ type: "text", text: padding })
      return { jsonrpc: "2.0", id, result: value }
    }
    treat(args.does ?? "answer", {
      ...port,
      id,
      message,
      execute: () => note(`run ${args.key}`),
      answer: (padding) => port.send(message(padding)),
      progress: (progress) => {
        if (token === undefined) return
        port.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: token, progress } })
      },
      ask: (then) => {
        const request = question(asked++)
        waiting.set(request.id, then)
        port.send(request)
      }
    })
  }

  const receive = (message, port) => {
    const { id, method, params } = message
    if (method === undefined) {
      const then = waiting.get(id)
      waiting.delete(id)
      return then?.()
    }
    if (id === undefined) return
    if (method === "tools/call") return toolOf(id, params, port)
    if (method === "initialize") note("session new")
    const answer = Object.hasOwn(results, method)
      ? () => ({ jsonrpc: "2.0", id, result: results[method](params) })
      : () => ({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } })
    const does = armed.get(method)
    if (does === undefined) return port.send(answer())
    armed.delete(method)
    treat(does, {
      ...port,
      id,
      execute: () => {},
      message: answer,
      answer: () => port.send(answer()),
      progress: () => {},
      ask: (then) => then()
    })
  }

  return { receive, note }
}
