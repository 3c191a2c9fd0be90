import { assert, describe, it } from "@effect/vitest"
import { HttpExchange, McpConfig, McpError, McpSession, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture, LeakCheck, StdioFixture } from "@mcp-runtime/testing"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { Deferred, Effect, Exit, Fiber, Layer } from "effect"
import type { Scope } from "effect"
import { everythingOverHttp } from "./realServers.js"

/**
 * A channel that counts what passes between engine and wire, in both directions, and calls `reached` at the given step.
 * Each message, failure, state and stage is one step, so that an interruption can be placed between any two of them.
 */
const counting = (channel: McpTransport.Channel, step: () => void): McpTransport.Channel => {
  const counted = <Args extends ReadonlyArray<unknown>, A = void>(f: (...args: Args) => A) => (...args: Args): A => {
    step()
    const answer = f(...args)
    step()
    return answer
  }
  return {
    config: channel.config,
    open: (events) =>
      Effect.sync(step).pipe(
        Effect.zipRight(channel.open({
          message: counted(events.message),
          requestFailed: counted(events.requestFailed),
          closed: counted(events.closed),
          warning: events.warning,
          serverStream: counted(events.serverStream)
        })),
        Effect.tap(() => Effect.sync(step)),
        Effect.map((transport) => ({
          ...transport,
          kind: () => transport.kind(),
          sessionId: () => transport.sessionId(),
          stderrTail: () => transport.stderrTail(),
          send: counted<Parameters<typeof transport.send>>((message, sent) => transport.send(message, sent)),
          release: counted<Parameters<typeof transport.release>, boolean>((id) => transport.release(id)),
          negotiated: counted<Parameters<typeof transport.negotiated>>((version) => transport.negotiated(version)),
          listen: Effect.zipRight(Effect.sync(step), Effect.ensuring(transport.listen, Effect.sync(step)))
        }))
      )
  }
}

type Target = Effect.Effect<McpConfig.ServerConfigInput, Error, Scope.Scope>

const inMemoryServer = () => {
  const server = new McpServer({ name: "in-process", version: "1" })
  server.registerTool("echo", {}, () => ({ content: [] }))
  return server
}

const shutdown = { afterEof: "200 millis", afterTerm: "200 millis" } as const

const targets: Record<string, Target> = {
  stdio: Effect.succeed({ ...StdioFixture.config(), shutdown }),
  "stdio behind sh -c, ignoring EOF and SIGTERM": Effect.succeed({
    ...StdioFixture.wrapped(["ignoreeof", "ignoreterm"]),
    shutdown
  }),
  http: Effect.map(HttpFixture.make(), (fixture) => ({ name: "http", transport: "http" as const, url: fixture.url })),
  auto: Effect.map(HttpFixture.make(), (fixture) => ({ name: "auto", transport: "auto" as const, url: fixture.url })),
  "legacy sse": Effect.map(everythingOverHttp("sse"), (port) => ({
    name: "sse",
    transport: "sse" as const,
    url: `http://127.0.0.1:${port}/sse`
  })),
  "auto, falling back": Effect.map(everythingOverHttp("sse"), (port) => ({
    name: "auto",
    transport: "auto" as const,
    url: `http://127.0.0.1:${port}/sse`
  })),
  "in memory": Effect.succeed({ name: "memory", transport: "inMemory" as const, server: inMemoryServer })
}

const use = (input: McpConfig.ServerConfigInput, step: () => void) =>
  Effect.gen(function*() {
    const transport = yield* McpTransport.McpTransport
    const channel = yield* transport.channel(yield* McpConfig.decode(input))
    const session = yield* McpSession.open(counting(channel, step))
    step()
    yield* McpSession.callTool(session, { name: "echo", arguments: { message: "x", text: "x" } })
    step()
  }).pipe(Effect.scoped, Effect.ensuring(Effect.sync(step)))

/** Runs it once, interrupting it at a step; answers how many steps were made. */
const interruptedAt = (input: McpConfig.ServerConfigInput, at: number) =>
  Effect.gen(function*() {
    const reached = yield* Deferred.make<void>()
    let steps = 0
    const step = () => {
      if (++steps === at) Deferred.unsafeDone(reached, Exit.void)
    }
    const fiber = yield* Effect.fork(use(input, step))
    const exit = yield* Effect.raceFirst(
      Effect.zipRight(Deferred.await(reached), Fiber.interrupt(fiber)),
      Fiber.await(fiber)
    )
    // Legitimate ends: done before the step came, or interrupted. Never an error, never a defect.
    assert.isTrue(Exit.isSuccess(exit) || Exit.isInterrupted(exit), `step ${at}: ${JSON.stringify(exit)}`)
    return steps
  })

/** What a session leaves is gone when it has closed; only the kernel may take a moment to reap and to close the other end. */
const strict: LeakCheck.Options = { patience: "50 millis" }

const sweep = (
  layer: Layer.Layer<McpTransport.McpTransport>,
  target: Target,
  options: LeakCheck.Options = strict
) =>
  Effect.scoped(
    Effect.gen(function*() {
      const input = yield* target
      const total = yield* LeakCheck.noLeaks(
        Effect.provide(interruptedAt(input, Number.POSITIVE_INFINITY), layer),
        options
      )
      assert.isAbove(total, 10)
      for (let at = 1; at <= total; at++) {
        yield* LeakCheck.noLeaks(Effect.provide(interruptedAt(input, at), layer), options).pipe(
          Effect.mapError((error) => new Error(`interrupted at step ${at} of ${total}: ${error.message}`))
        )
      }
    })
  )

const overOtherHttp = NodeMcp.layerWithoutHttp.pipe(Layer.provide(HttpExchange.layerFetch))

describe("interruption sweep: open, request and close are interrupted at every step, and nothing is left", () => {
  for (const [name, target] of Object.entries(targets)) {
    it.live(name, () => sweep(NodeMcp.layer, target), 120_000)
  }
  // The sockets of Node's own fetch belong to the process: it keeps them for a while, whoever used them.
  const ofFetch: LeakCheck.Options = { ...strict, ignore: (leak) => leak.kind === "handle" || leak.kind === "timer" }
  it.live("http over fetch", () => sweep(overOtherHttp, targets.http!, ofFetch), 120_000)
})

describe("a failed open has released everything when it fails", () => {
  const hopeless: Record<string, McpConfig.ServerConfigInput> = {
    "a missing command": { name: "x", transport: "stdio", command: "/no/such" },
    "an early exit": StdioFixture.config(["earlyexit"]),
    "a wrong version": { ...StdioFixture.config(["badver"]), shutdown },
    "a refused initialize": { ...StdioFixture.config(["initerr"]), shutdown },
    "silence, behind a wrapper, ignoring everything": {
      ...StdioFixture.wrapped(["noinit", "ignoreeof", "ignoreterm"]),
      shutdown,
      timeouts: { handshake: "500 millis" }
    },
    "a closed port": { name: "x", transport: "http", url: "http://127.0.0.1:1/mcp" }
  }
  for (const [name, input] of Object.entries(hopeless)) {
    it.live(name, () =>
      LeakCheck.noLeaks(
        Effect.scoped(
          Effect.gen(function*() {
            const transport = yield* McpTransport.McpTransport
            const channel = yield* transport.channel(yield* McpConfig.decode(input))
            // The scope stays open: what is checked is what the failure itself has left.
            const error = yield* LeakCheck.noLeaks(Effect.flip(Effect.asVoid(McpSession.open(channel))), strict)
            assert.isTrue(McpError.isMcpError(error))
          })
        ).pipe(Effect.provide(NodeMcp.layer)),
        strict
      ))
  }
})
