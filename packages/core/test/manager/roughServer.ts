/**
 * Servers that do at random what servers do: refuse, hang, die, forget their sessions, fail to list, change their tools and say
 * so, close slowly. Until all is well, and from then on nothing of it.
 *
 * All its sleeps are on the clock of a `Laboratory`, which moves only when nothing else is left to do.
 */
import { type McpConfig, McpError, type McpProtocol, type McpTransport } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect } from "effect"
import type { Random } from "../random.js"

type Answer = Effect.Effect<unknown, ScriptedServer.RpcError | McpError.McpError>

/** What all servers of a run have in common. */
export class Weather {
  isWell = false
  readonly problems: Array<string> = []
  /** How often each call has run. */
  readonly runs = new Map<number, number>()
  private readonly hanging = new Set<() => void>()

  /** `roughness`: how often something bad happens, 0 for never. */
  constructor(readonly random: Random, private readonly roughness: number) {}

  problem(text: string): void {
    this.problems.push(text)
  }

  /** Something bad, or more often nothing. */
  rough<A>(good: number, ...bad: ReadonlyArray<readonly [weight: number, value: A]>): A | undefined {
    return this.isWell || this.roughness === 0
      ? undefined
      : this.random.pick<A | undefined>([good / this.roughness, undefined], ...bad)
  }

  /** Until all is well. */
  readonly hang: Effect.Effect<void> = Effect.async((resume) => {
    if (this.isWell) return resume(Effect.void)
    const go = () => resume(Effect.void)
    this.hanging.add(go)
    return Effect.sync(() => void this.hanging.delete(go))
  })

  clear(): void {
    this.isWell = true
    for (const go of this.hanging) go()
    this.hanging.clear()
  }
}

export type RoughServer = Rough

class Rough {
  version = 1
  refusesCredentials = false
  readonly transport: "stdio" | "http" | "inMemory"
  readonly scripted: ScriptedServer.ScriptedServer
  private readonly forgotten = new Set<number>()
  /** Sessions whose stream is down: they hear of nothing. */
  private readonly deaf = new Set<number>()
  /** Sessions that hear of changes: they are initialized, and not closing. */
  private readonly hearing = new Set<number>()
  private readonly followers = new Set<() => void>()

  constructor(readonly name: string, private readonly weather: Weather, scripted: typeof script) {
    this.transport = weather.random.one(["stdio", "http", "inMemory"])
    this.scripted = Effect.runSync(ScriptedServer.make(scripted(this, weather)))
  }

  /** What it offers now. */
  get tools(): ReadonlyArray<McpProtocol.JsonObject> {
    const inputSchema = { type: "object" }
    return [
      { name: "work", description: `version ${this.version}`, inputSchema },
      { name: `v${this.version}`, description: `version ${this.version}`, inputSchema }
    ]
  }

  get live(): ReadonlyArray<number> {
    return Effect.runSync(this.scripted.stats).live
  }

  /** Whether its client can know what it offers now. */
  get isHeard(): boolean {
    const session = [...this.hearing].at(-1)
    return session !== undefined && !this.deaf.has(session) && !this.forgotten.has(session)
  }

  channel(config: McpConfig.ServerConfig): McpTransport.Channel {
    const followCredentials = (listener: () => void) => {
      this.followers.add(listener)
      return () => void this.followers.delete(listener)
    }
    return { ...this.scripted.channel, config, followCredentials }
  }

  get isFollowed(): boolean {
    return this.followers.size > 0
  }

  /** Other tools, of which it tells. */
  get change(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.version++
      const times = this.weather.random.below(3)
      return Effect.forEach(this.hearing, (session) =>
        this.deaf.has(session) || this.forgotten.has(session)
          ? Effect.void
          : this.in(session, (_) => Effect.repeatN(_.notify("notifications/tools/list_changed"), times)), {
        discard: true
      })
    })
  }

  get die(): Effect.Effect<void> {
    return Effect.forEach(this.live, (session) => this.in(session, (_) => _.disconnect()), { discard: true })
  }

  forget(sessions: Iterable<number> = this.live): void {
    if (this.transport === "http") { for (const session of sessions) this.forgotten.add(session) }
  }

  /** Its tools change while its stream is down. */
  get stumble(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const session = this.live.at(-1)
      if (session === undefined || this.transport !== "http") return Effect.void
      this.deaf.add(session)
      return Effect.zipRight(this.in(session, (_) => _.serverStream("down")), this.change)
    })
  }

  get recover(): Effect.Effect<void> {
    return Effect.forEach(this.deaf, (session) => {
      this.deaf.delete(session)
      return this.in(session, (_) => _.serverStream("open"))
    }, { discard: true })
  }

  authorize(): void {
    this.refusesCredentials = false
    for (const tell of this.followers) tell()
  }

  isGone(session: number): boolean {
    return this.forgotten.has(session)
  }

  begins(session: number): void {
    this.hearing.add(session)
  }

  ends(session: number): void {
    this.hearing.delete(session)
  }

  /** Nothing where it has ended meanwhile. */
  private in(session: number, act: (peer: ScriptedServer.Peer) => Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.live.includes(session) ? Effect.flatMap(this.scripted.session(session), act) : Effect.void
    )
  }
}

/** What a call that is numbered by its arguments has to do with. */
const numberOf = ({ params }: ScriptedServer.Request): { readonly n: number; readonly again: boolean } => {
  const { again, n } = params.arguments as { readonly n: number; readonly again?: boolean }
  return { n, again: again === true }
}

const script = (server: Rough, weather: Weather): ScriptedServer.Options => {
  const { name } = server
  const { hang, random, runs } = weather
  const common = { server: name, operation: "x", executed: "no" } as const
  const refused = new McpError.ConnectFailed({ ...common, reason: "Refused", url: "http://127.0.0.1:1", detail: "-" })
  const unauthorized = new McpError.Unauthorized(common)
  const expired = new McpError.SessionExpired({ ...common, status: 404 })
  const lost = new McpError.ResponseLost({ ...common, executed: "maybe", reason: "Broken", detail: "-" })
  const broken = new ScriptedServer.RpcError({ code: -32603, message: "not today" })
  const isPaged = random.isIn(0.3)
  const capabilities = {
    tools: { listChanged: true },
    ...(random.isIn(0.4) && { prompts: {}, resources: { subscribe: true } })
  }
  const slowly = <A, E>(effect: Effect.Effect<A, E>, most: number) => Effect.delay(effect, random.below(most))
  const isRefused = () => server.refusesCredentials && !weather.isWell
  const unlessGone = (session: number, answer: () => Answer): Answer =>
    Effect.suspend(() =>
      server.isGone(session) ? Effect.fail(expired) : isRefused() ? Effect.fail(unauthorized) : answer()
    )
  const listing = (list: (cursor: unknown) => unknown): ScriptedServer.Handler => ({ params, session }, peer) =>
    unlessGone(session, () => {
      const early = list(params.cursor)
      const late = Effect.sync(() => list(params.cursor))
      return weather.rough<Answer>(
        10,
        [1, Effect.fail(refused)],
        [1, Effect.fail(lost)],
        [1, Effect.fail(broken)],
        [2, slowly(late, 3000)],
        [2, slowly(Effect.succeed(early), 3000)],
        [1, Effect.zipRight(hang, late)],
        [1, Effect.zipRight(peer.disconnect(), Effect.never)],
        [1, Effect.as(server.change, early)]
      ) ?? Effect.succeed(early)
    })
  const call: ScriptedServer.Handler = (request, peer) =>
    Effect.suspend((): Answer => {
      const { again, n } = numberOf(request)
      const { session } = request
      if (isRefused()) return Effect.fail(unauthorized)
      if (server.isGone(session)) return Effect.fail(expired)
      const bad = weather.rough<"forget" | "refuse" | "lose" | "die" | "hang" | "wait" | "change">(
        8,
        [2, "forget"],
        [2, "refuse"],
        [1, "lose"],
        [1, "die"],
        [2, "hang"],
        [4, "wait"],
        [1, "change"]
      )
      if (bad === "refuse") return Effect.fail(refused)
      if (bad === "forget" && server.transport === "http") {
        server.forget([session])
        return Effect.fail(expired)
      }
      const times = (runs.get(n) ?? 0) + 1
      runs.set(n, times)
      if (times > (again ? 3 : 1)) weather.problem(`call ${n} has run ${times} times`)
      const answer = Effect.succeed({ content: [{ type: "text", text: `${name} ${n}` }] })
      switch (bad) {
        case "lose":
          return Effect.fail(lost)
        case "die":
          return Effect.zipRight(peer.disconnect(), Effect.never)
        case "hang":
          return Effect.zipRight(hang, answer)
        case "wait":
          return slowly(answer, 8000)
        case "change":
          return Effect.zipRight(server.change, answer)
        default:
          return answer
      }
    })
  const pages = (cursor: unknown) => {
    if (!isPaged) return { tools: server.tools }
    return cursor === undefined
      ? { tools: server.tools.slice(0, 1), nextCursor: "2" }
      : { tools: server.tools.slice(1) }
  }
  const simple: ScriptedServer.Handler = ({ session }) =>
    unlessGone(session, () => Effect.as(weather.rough(8, [1, hang]) ?? Effect.void, {}))
  return {
    name,
    kind: server.transport,
    capabilities,
    reaction: random.pick([3, "later"], [1, "insideSend"] as const),
    start: () =>
      Effect.suspend(() =>
        isRefused() ? Effect.fail(unauthorized) : weather.rough<Effect.Effect<void, McpError.McpError>>(
          14,
          [2, Effect.fail(refused)],
          [1, Effect.fail(unauthorized)],
          [2, Effect.sleep(random.below(3000))],
          [1, Effect.uninterruptible(Effect.sleep(random.below(9000)))],
          [1, Effect.interruptible(hang)],
          [1, Effect.dieMessage("at random")],
          [0.5, Effect.interrupt]
        ) ?? Effect.void
      ),
    close: (session) =>
      Effect.suspend(() => {
        server.ends(session)
        return weather.rough<Effect.Effect<void>>(8, [1, Effect.sleep(random.below(800))], [1, Effect.yieldNow()]) ??
          Effect.void
      }),
    handlers: {
      initialize: ({ params }, peer) => {
        const answer = Effect.succeed({
          protocolVersion: params.protocolVersion,
          capabilities,
          serverInfo: { name, version: "1" }
        })
        return weather.rough<Answer>(
          16,
          [1, Effect.zipRight(hang, answer)],
          [1, slowly(answer, 3000)],
          [1, Effect.zipRight(peer.disconnect(), Effect.never)],
          [1, Effect.fail(broken)]
        ) ?? answer
      },
      "notifications/initialized": ({ session }) => Effect.sync(() => server.begins(session)),
      "tools/list": listing(pages),
      "prompts/list": listing(() => ({ prompts: [] })),
      "resources/list": listing(() => ({ resources: [] })),
      "resources/templates/list": listing(() => ({ resourceTemplates: [] })),
      "resources/subscribe": simple,
      "resources/unsubscribe": simple,
      ping: simple,
      "tools/call": call
    }
  }
}

export const make = (name: string, weather: Weather): RoughServer => new Rough(name, weather, script)
