/**
 * What happens in a round: who asks for what, which answer goes wrong in which way, and what happens to servers and managers
 * meanwhile.
 *
 * Owns: the plan, a pure function of seed, round and size. What runs beside what is up to threads and processes.
 * May not touch: anything that runs.
 */
import { chance, pick, type Weighted } from "./random.js"

export type Wire = "stdio" | "http" | "legacy" | "memory"

export interface Server {
  readonly name: string
  readonly wire: Wire
  /** Its tools may be believed: `look` may run twice. */
  readonly trusted: boolean
}

/** In configured order. */
export const servers: ReadonlyArray<Server> = [
  { name: "plain", wire: "stdio", trusted: false },
  { name: "json", wire: "http", trusted: false },
  { name: "wrapped", wire: "stdio", trusted: false },
  { name: "events", wire: "http", trusted: true },
  { name: "memory", wire: "memory", trusted: false },
  { name: "legacy", wire: "legacy", trusted: false },
  { name: "idle", wire: "stdio", trusted: true },
  { name: "guarded", wire: "http", trusted: false }
]

export const serverOf = (name: string): Server => servers.find((_) => _.name === name)!

export type Request =
  | "tools"
  | "prompts"
  | "resources"
  | "templates"
  | "prompt"
  | "resource"
  | "subscribe"
  | "unsubscribe"
  | "level"
  | "complete"
  | "ping"
  | "toolbox"
  | "catalog"

/** One thing that a worker does. `key` is its number in the whole run. */
export interface Step {
  readonly key: number
  readonly server: string
  /** How a tool is called; nothing for other requests. */
  readonly call?: {
    readonly via: "manager" | "toolset" | "connection"
    readonly tool: "work" | "look"
    readonly does: string
    readonly replay: "auto" | "always" | "never"
    /** Bytes of arguments beside the key. */
    readonly bytes: number
  }
  readonly request?: Request
  /** How the answer to the request goes wrong, if it does. */
  readonly armed?: string
  /** After how many turns the caller loses patience, if it does. */
  readonly patience?: number
}

export type EventKind =
  | "kill"
  | "killWrapper"
  | "stop"
  | "continue"
  | "down"
  | "up"
  | "expire"
  | "expire400"
  | "streams"
  | "endStreams"
  | "sockets"
  | "revoke"
  | "flood"
  | "junk"
  | "ask"
  | "reconnect"
  | "close"
  | "disable"
  | "enable"
  | "disconnect"
  | "connect"
  | "reload"
  | "reorder"
  | "remove"
  | "restore"
  | "reconnectFailed"
  | "reconnectAll"
  | "closeAll"
  | "connectAll"
  | "fresh"

/** Something that happens when the step with this index begins. */
export interface Event {
  readonly at: number
  readonly kind: EventKind
  readonly server: string
}

export interface Plan {
  readonly round: number
  readonly steps: ReadonlyArray<Step>
  readonly events: ReadonlyArray<Event>
}

export interface Size {
  /** Steps per round. */
  readonly steps: number
  /** Events per round; those that undo another one are not counted. */
  readonly events: number
}

const anywhere: ReadonlyArray<Weighted<string>> = [
  [90, "answer"],
  [8, "slow"],
  [6, "progress"],
  [2, "burst"],
  [2, "big"],
  [4, "hang"],
  [2, "deaf"],
  [4, "duplicate"],
  [4, "strangers"],
  [3, "malformed"],
  [3, "unknown"],
  [3, "error"],
  [2, "flood"],
  [4, "asks"]
]

const overPipes: ReadonlyArray<Weighted<string>> = [
  [4, "noise"],
  [4, "halfJson"],
  [4, "notRpc"],
  [2, "hugeLine"],
  [0.5, "overflow"],
  [2, "stderr"],
  [2, "drip"],
  [0.6, "diesBefore"],
  [0.6, "diesAfter"],
  [0.6, "leaves"],
  [0.6, "half"]
]

const overHttp: ReadonlyArray<Weighted<string>> = [
  [2, "badGateway"],
  [2, "badGatewayAfter"],
  [2, "unavailable"],
  [3, "tooMany"],
  [2, "accepted"],
  [2, "wrongType"],
  [2, "notJson"],
  [1, "redirect"],
  [2, "reset"],
  [2, "resetAfter"],
  [2, "cut"],
  [2, "emptyStream"],
  [2, "cutStream"],
  [4, "junkStream"],
  [3, "drip"],
  [4, "resumed"],
  [2, "notResumed"]
]

const flawsOf: { readonly [wire in Wire]: ReadonlyArray<Weighted<string>> } = {
  stdio: [...anywhere, ...overPipes],
  http: [...anywhere, ...overHttp],
  legacy: anywhere,
  memory: [...anywhere, [2, "throws"], [1, "hangsUp"]]
}

/** All ways in which a server may misbehave when it is called. */
export const flaws: ReadonlySet<string> = new Set(
  Object.values(flawsOf).flatMap((_) => _.map(([, name]) => name)).filter((_) => _ !== "answer")
)

const requests: ReadonlyArray<Weighted<Request>> = [
  [4, "tools"],
  [1, "prompts"],
  [2, "resources"],
  [1, "templates"],
  [2, "prompt"],
  [2, "resource"],
  [1, "subscribe"],
  [1, "unsubscribe"],
  [1, "level"],
  [1, "complete"],
  [2, "ping"],
  [2, "toolbox"],
  [1, "catalog"]
]

const lists: ReadonlySet<Request> = new Set(["tools", "prompts", "resources", "templates"])

type Undoing = readonly [undo: EventKind]

/** What may happen, where, and what undoes it. */
const events: ReadonlyArray<Weighted<readonly [EventKind, ReadonlyArray<Wire>, ...([] | Undoing)]>> = [
  [6, ["kill", ["stdio"]]],
  [2, ["killWrapper", ["stdio"]]],
  [3, ["stop", ["stdio", "http", "legacy"], "continue"]],
  [2, ["down", ["http", "legacy"], "up"]],
  [5, ["expire", ["http", "legacy"]]],
  [3, ["expire400", ["http"]]],
  [4, ["streams", ["http", "legacy"]]],
  [2, ["endStreams", ["http", "legacy"]]],
  [4, ["sockets", ["http", "legacy"]]],
  [1, ["revoke", ["http"]]],
  [3, ["flood", ["http", "legacy"]]],
  [3, ["junk", ["http", "legacy"]]],
  [3, ["ask", ["http", "legacy"]]],
  [3, ["reconnect", ["stdio", "http", "legacy", "memory"]]],
  [2, ["close", ["stdio", "http", "legacy", "memory"]]],
  [1, ["disable", ["stdio", "http", "legacy", "memory"], "enable"]],
  [2, ["disconnect", ["stdio", "http", "legacy", "memory"], "connect"]],
  [3, ["reload", ["stdio", "http", "legacy", "memory"]]],
  [1, ["reorder", ["stdio"]]],
  [1, ["remove", ["stdio", "http", "legacy", "memory"], "restore"]],
  [2, ["reconnectFailed", ["stdio"]]],
  [0.5, ["reconnectAll", ["stdio"]]],
  [0.5, ["closeAll", ["stdio"], "connectAll"]],
  [0.7, ["fresh", ["stdio"]]]
]

export const eventKinds: ReadonlyArray<EventKind> = events.flatMap(([, [kind, , undo]]) => undo ? [kind, undo] : [kind])

const one: Weighted<number> = [1, 0]

const stepOf = (seed: number, key: number): Step => {
  const ask = (salt: number) => chance(seed, key, salt)
  const server = pick(servers.map((_) => [1, _] as const), ask(1))
  const patience = ask(2) < 0.08 ? { patience: Math.floor(ask(3) ** 2 * 80) } : undefined
  if (ask(4) < 0.2) {
    const request = pick(requests, ask(5))
    const isArmed = lists.has(request) && ask(6) < 0.4
    return {
      key,
      server: server.name,
      request,
      ...(isArmed && { armed: pick(flawsOf[server.wire].filter(([, _]) => _ !== "answer"), ask(7)) }),
      ...patience
    }
  }
  return {
    key,
    server: server.name,
    call: {
      via: pick([[1, "manager"], [2, "toolset"], [1, "connection"]], ask(8)),
      tool: pick([[3, "work"], [1, "look"]], ask(9)),
      does: pick(flawsOf[server.wire], ask(10)),
      replay: pick([[20, "auto"], [3, "always"], [1, "never"]], ask(11)),
      bytes: pick([[60, 0], [4, 1000], [0.4, 1_000_000], one], ask(12))
    },
    ...patience
  }
}

const eventsOf = (seed: number, round: number, { events: count, steps }: Size): ReadonlyArray<Event> =>
  Array.from({ length: count }, (_, i) => round * count + i).flatMap((place): ReadonlyArray<Event> => {
    const ask = (salt: number) => chance(seed, place, salt)
    const [kind, wires, undo] = pick(events, ask(21))
    const possible = servers.filter((_) => wires.includes(_.wire))
    const { name: server } = kind === "killWrapper"
      ? serverOf("wrapped")
      : kind === "revoke"
      ? serverOf("guarded")
      : pick(possible.map((_) => [1, _] as const), ask(22))
    const at = Math.floor(ask(23) * steps)
    const later = at + 10 + Math.floor(ask(24) * steps * 0.1)
    return [
      { at, kind, server },
      ...(undo === undefined ? [] : [{ at: Math.min(later, steps - 1), kind: undo, server }])
    ]
  }).sort((a, b) => a.at - b.at)

export const plan = (seed: number, round: number, size: Size): Plan => ({
  round,
  steps: Array.from({ length: size.steps }, (_, i) => stepOf(seed, round * size.steps + i)),
  events: eventsOf(seed, round, size)
})

/** A call that may run twice without harm, as the runtime must see it. */
export const mayRepeat = ({ call, server }: Step): boolean =>
  call !== undefined && (call.replay === "always" ||
    (call.replay === "auto" && call.tool === "look" && serverOf(server).trusted))

/** A short name of a plan: equal plans have equal ones. */
export const digest = (plan: Plan): string => {
  let hash = 0x811c9dc5
  for (const char of JSON.stringify(plan)) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, "0")
}

export const describe = ({ armed, call, request, server }: Step): string =>
  call !== undefined
    ? `${server}, ${call.tool} that does "${call.does}", by the ${call.via}, replay ${call.replay}`
    : `${server}, ${request}${armed === undefined ? "" : ` that does "${armed}"`}`
