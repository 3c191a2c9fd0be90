/**
 * OAuth: a server that wants to know who its user is. The protected server, the one that gives tokens and the browser are
 * fixtures on this machine; the rest is what an application has.
 */
import { NodeRuntime } from "@effect/platform-node"
import { McpAuth, McpManager, McpRuntime } from "@mcp-runtime/core"
import { LoopbackAuthorizer, NodeMcp, UndiciExchange } from "@mcp-runtime/node"
import { AuthFixture } from "@mcp-runtime/testing"
import { Console, Effect, Layer, Logger, LogLevel, Stream } from "effect"

const live = (fixture: AuthFixture.AuthFixture) => {
  // Without `open`, the page to visit is printed.
  const authorizer = LoopbackAuthorizer.layer({
    open: ({ server, url }) =>
      Effect.zipRight(
        Console.log(`The user of ${server} visits ${new URL(url).pathname}, and says yes.`),
        Effect.orDie(fixture.visit(url))
      )
  })
  // An application keeps tokens: `FileTokens.layer()`.
  const auth = McpAuth.layer.pipe(
    Layer.provide(UndiciExchange.layer),
    Layer.provide(McpAuth.layerTokensMemory),
    Layer.provide(authorizer)
  )
  return McpRuntime.layer({ servers: [{ name: "private", transport: "http", url: fixture.url }] }).pipe(
    Layer.provide(NodeMcp.layer),
    Layer.provide(auth)
  )
}

const program = (fixture: AuthFixture.AuthFixture) =>
  Effect.gen(function*() {
    const manager = yield* McpManager.McpManager
    const call = Effect.map(
      manager.callTool("private", { name: "echo", arguments: { text: "hello" } }),
      ({ content: [block] }) => (block?.type === "text" ? block.text : "?")
    )

    const { error, phase } = yield* manager.status("private")
    yield* Console.log(`At first it is ${phase}: ${error?._tag}`)
    yield* manager.changes.pipe(
      Stream.takeUntil(({ servers: [status] }) => status?.phase === "connected"),
      Stream.runDrain
    )
    yield* Console.log(`Now it is connected, and answers: ${yield* call}`)

    yield* fixture.expireTokens
    yield* Console.log(`Its tokens have expired, and it answers: ${yield* call}`)
    yield* Console.log(
      `The user was asked ${fixture.count("authorize")} time(s); tokens were renewed ${
        fixture.grants("refresh_token")
      } time(s).`
    )
  }).pipe(Effect.provide(live(fixture)))

const main = Effect.flatMap(AuthFixture.make(), program).pipe(
  Effect.scoped,
  // That it could not be connected at first is a warning in the log, with the page to visit.
  Logger.withMinimumLogLevel(LogLevel.Error)
)

NodeRuntime.runMain(main)
