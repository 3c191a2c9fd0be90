/**
 * An interruption that arrives while a session closes does not cut the close short. What has become of the wire is looked at
 * in the very moment in which the interrupted fiber ends.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture, LeakCheck, StdioFixture } from "@mcp-runtime/testing"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { Deferred, Effect, Exit, Fiber, Option } from "effect"
import { telling } from "../../core/test/clocks.js"
import { childrenOf, commandOf, isAlive, isWatchdog, until } from "./internal/processes.js"

/** Opens a session and ends it at once. The transport is handed out, to see what the wire does. */
const openAndEnd = (input: McpConfig.ServerConfigInput, opened: (transport: McpTransport.MessageTransport) => void) =>
  Effect.gen(function*() {
    const transport = yield* McpTransport.McpTransport
    const channel = yield* transport.channel(yield* McpConfig.decode(input))
    yield* McpSession.open({
      config: channel.config,
      open: (events) => Effect.tap(channel.open(events), (transport) => Effect.sync(() => opened(transport)))
    })
  }).pipe(Effect.scoped, Effect.provide(NodeMcp.layer))

interface Closing<A> {
  readonly input: McpConfig.ServerConfigInput
  /** Waits until the close has begun. */
  readonly begun: (transport: () => McpTransport.MessageTransport | undefined) => Effect.Effect<unknown>
  /** What is true in the moment in which the fiber has ended. */
  readonly look: () => A
  /** Runs when the interruption has been sent. */
  readonly interrupted?: ((fiber: Fiber.RuntimeFiber<void, unknown>) => Effect.Effect<unknown>) | undefined
}

/** Interrupts a session while it closes, and gives what was true when its fiber ended. */
const interruptedWhileClosing = <A>(closing: Closing<A>) =>
  Effect.gen(function*() {
    let transport: McpTransport.MessageTransport | undefined
    const ended = yield* Deferred.make<A>()
    const fiber = yield* Effect.forkDaemon(openAndEnd(closing.input, (_) => {
      transport = _
    }))
    fiber.addObserver(() => Deferred.unsafeDone(ended, Exit.succeed(closing.look())))
    yield* closing.begun(() => transport)
    assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)), "the close was over before it could be interrupted")
    yield* Fiber.interruptFork(fiber)
    yield* closing.interrupted?.(fiber) ?? Effect.void
    return yield* Deferred.await(ended)
  })

const graces = { afterEof: "500 millis", afterTerm: "500 millis", afterKill: "500 millis" } as const

describe("an interruption while a session closes", () => {
  for (
    const [name, config] of [["a process", StdioFixture.config], ["a wrapped process", StdioFixture.wrapped]] as const
  ) {
    it.live(`S08, S09: ${name} that ignores end of input and SIGTERM is dead when the fiber has ended`, () =>
      LeakCheck.noLeaks(Effect.gen(function*() {
        const before = childrenOf(process.pid)
        let pids: ReadonlyArray<number> = []
        const living = yield* interruptedWhileClosing({
          input: config(["keepalive", "ignoreeof", "ignoreterm", "logeof"], { shutdown: graces }),
          begun: (transport) =>
            until("the end of input", () => transport()?.stderrTail()?.includes("stage eof") === true).pipe(
              Effect.tap(() =>
                Effect.sync(() => {
                  const started = childrenOf(process.pid).filter((_) => !before.includes(_) && !isWatchdog(_))
                  pids = [...started, ...started.flatMap(childrenOf)]
                })
              )
            ),
          look: () => pids.filter(isAlive).map(commandOf)
        })
        assert.lengthOf(pids, name === "a process" ? 1 : 2)
        assert.deepStrictEqual(living, [])
      })))
  }

  it.live("H14: a hanging DELETE is waited for until its bound, and no socket is open when the fiber has ended", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const server = yield* HttpFixture.make({
        override: (request) => request.method === "DELETE" ? HttpFixture.hang : undefined
      })
      const sockets = () => process.getActiveResourcesInfo().filter((_) => _ === "TCPSocketWrap").length
      const before = sockets()
      const { clock, over } = yield* telling
      const { open, waits } = yield* interruptedWhileClosing({
        input: { name: "http", transport: "http", url: server.url, timeouts: { close: "300 millis" } },
        begun: () => server.awaitLog((log) => log.some((_) => _.method === "DELETE")),
        // The server is in this process, too: its ends are not ours.
        look: () => ({ open: sockets() - server.openSockets() - before, waits: over.length })
      }).pipe(Effect.withClock(clock))
      assert.isAtMost(open, 0)
      // What is left of the bound when the DELETE is made is the only wait there is.
      assert.strictEqual(waits, 1, "the interruption has cut the wait for the DELETE short")
      yield* server.awaitSockets((_) => _ === 0)
    })))

  const inProcess = (close: () => Promise<void>) => () => {
    const server = new McpServer({ name: "in-process", version: "1" })
    const end = server.close.bind(server)
    server.close = () => Promise.all([end(), close()]).then(() => {})
    return server
  }

  it.live("an in-process server that takes its time has closed when the fiber has ended", () =>
    LeakCheck.noLeaks(Effect.gen(function*() {
      const called = yield* Deferred.make<void>()
      let finish = () => {}
      let finished = false
      const closing = new Promise<void>((resolve) => {
        finish = resolve
      }).then(() => {
        finished = true
      })
      const closed = yield* interruptedWhileClosing({
        input: {
          name: "memory",
          transport: "inMemory",
          server: inProcess(() => {
            Deferred.unsafeDone(called, Exit.void)
            return closing
          })
        },
        begun: () => Deferred.await(called),
        interrupted: (fiber) =>
          Effect.gen(function*() {
            for (let i = 0; i < 20; i++) yield* Effect.yieldNow()
            assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)), "the interruption has cut the close short")
            finish()
          }),
        look: () => finished
      })
      assert.isTrue(closed)
    })))

  it.live("an in-process server that never closes is waited for until the bound", () =>
    LeakCheck.noLeaks(Effect.gen(function*() {
      const called = yield* Deferred.make<void>()
      const { clock, over } = yield* telling
      const bound = yield* interruptedWhileClosing({
        input: {
          name: "memory",
          transport: "inMemory",
          timeouts: { close: "300 millis" },
          server: inProcess(() => {
            Deferred.unsafeDone(called, Exit.void)
            return new Promise(() => {})
          })
        },
        begun: () => Deferred.await(called),
        look: () => over.includes(300)
      }).pipe(Effect.withClock(clock))
      assert.isTrue(bound, "the interruption has cut the close short")
    })))
})
