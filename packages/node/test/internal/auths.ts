/**
 * What the tests of authorization over real HTTP share: every service a program would provide, with its files in one
 * directory, and a person who opens each page at once.
 */
import { type CatalogStore, McpConfig, McpConnection, type McpTransport } from "@mcp-runtime/core"
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import { NodeMcp, UndiciExchange } from "@mcp-runtime/node"
import { AuthFixture, LeakCheck } from "@mcp-runtime/testing"
import { Effect, Layer, Stream } from "effect"
import type { Scope } from "effect"
import { join } from "node:path"
import * as FileTokens from "../../src/FileTokens.js"
import * as LoopbackAuthorizer from "../../src/LoopbackAuthorizer.js"
import { directory } from "./connections.js"

export type Services = McpAuth.McpAuth | McpTransport.McpTransport | CatalogStore.CatalogStore

/** A person with a browser. */
export const person = LoopbackAuthorizer.layer({
  open: ({ url }) => Effect.ignore(AuthFixture.visit(url))
})

export const nobody: Layer.Layer<never> = Layer.empty

/** A program whose files are in this directory. */
export const program = (
  path: string,
  authorizer: Layer.Layer<McpAuth.Authorizer> | Layer.Layer<never> = person
): Layer.Layer<Services> => {
  const auth = McpAuth.layer.pipe(
    Layer.provide(UndiciExchange.layer),
    Layer.provide(FileTokens.layer(join(path, "tokens"))),
    Layer.provide(authorizer)
  )
  return Layer.provideMerge(Layer.merge(NodeMcp.layerTransport, NodeMcp.layerCatalog(join(path, "cache"))), auth)
}

type HttpInput = Extract<McpConfig.ServerConfigInput, { transport: "http" }>

export const config = (server: AuthFixture.AuthFixture, extra: Partial<HttpInput> = {}) =>
  Effect.orDie(McpConfig.decode({ name: "mail", transport: "http", url: server.url, ...extra }))

export const connect = (server: AuthFixture.AuthFixture, extra?: Partial<HttpInput>) =>
  Effect.flatMap(config(server, extra), (_) => McpConnection.make(_))

/** Runs a test with a fixture and a directory; afterwards no socket is open at either server, and nothing is left here. */
export const withServer = <A, E>(
  script: AuthFixture.Script,
  use: (server: AuthFixture.AuthFixture, path: string) => Effect.Effect<A, E, Scope.Scope>
) =>
  LeakCheck.noLeaks(Effect.scoped(Effect.gen(function*() {
    const server = yield* AuthFixture.make(script)
    const path = yield* directory
    const result = yield* Effect.scoped(use(server, path))
    yield* server.resource.awaitSockets((open) => open === 0)
    yield* server.authorization.awaitSockets((open) => open === 0)
    return result
  })))

export const echo = (connection: McpConnection.McpConnection, text = "x") =>
  McpConnection.callTool(connection, { name: "echo", arguments: { text } })

export const awaitState = (connection: McpConnection.McpConnection, tag: McpConnection.ConnectionState["_tag"]) =>
  Stream.runDrain(Stream.takeUntil(connection.changes, (_) => _._tag === tag))
