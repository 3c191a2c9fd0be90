/** McpAuth and sessions over a world, as tests want them. */
import { McpAuth, McpConfig, McpSession, McpTransport, SecretResolver } from "@mcp-runtime/core"
import type { McpError } from "@mcp-runtime/core"
import { Effect, Layer } from "effect"
import type { Context, Scope } from "effect"
import { macrotask } from "../gateWire.js"
import * as World from "./world.js"

const hashed = Effect.promise(() => crypto.subtle.digest("SHA-256", new Uint8Array(65_536)))

/** Everything has happened that needs no time: also what Web Crypto was asked for, which has threads of its own. */
export const settle: Effect.Effect<void> = Effect.repeatN(Effect.zipRight(hashed, macrotask), 40)

/** A person who visits each page at once, in the browser of the world. */
export const person = (
  world: World.World,
  answer: (url: string) => Effect.Effect<string, McpError.McpError> = (url) => Effect.sync(() => world.visit(url))
): Layer.Layer<McpAuth.Authorizer> =>
  Layer.succeed(McpAuth.Authorizer, {
    listen: ({ registered }) =>
      Effect.succeed({
        redirectUri: registered ?? "http://127.0.0.1:4711/callback",
        authorize: ({ url }) => answer(url)
      })
  })

export const auth = (
  world: World.World,
  store: World.Tokens,
  authorizer: Layer.Layer<McpAuth.Authorizer> = Layer.empty as unknown as Layer.Layer<McpAuth.Authorizer>
): Layer.Layer<McpAuth.McpAuth | McpTransport.McpTransport> =>
  Layer.provideMerge(
    Layer.provide(McpTransport.layer, world.http),
    McpAuth.layer.pipe(Layer.provide(authorizer), Layer.provide(world.http), Layer.provide(store.layer))
  )

export const decoded = (input: Partial<McpConfig.ServerConfigInput> = {}) =>
  Effect.orDie(McpConfig.decodeUnknown({ ...World.config, ...input }))

export const open = (input: Partial<McpConfig.ServerConfigInput> = {}) =>
  Effect.gen(function*() {
    const transport = yield* McpTransport.McpTransport
    return yield* McpSession.open(yield* transport.channel(yield* decoded(input)))
  })

/** Authorizes once, as a person would who uses the command line. */
export const login = (world: World.World, input: Partial<McpConfig.ServerConfigInput> = {}) =>
  Effect.gen(function*() {
    const service = yield* McpAuth.McpAuth
    const config = yield* decoded(input)
    const { url } = yield* service.begin(config)
    yield* service.finish(config, world.visit(url))
  })

/** Runs this in a world of its own, where nothing is stored yet. All that it opens is closed at its end. */
export const inWorld = <A, E>(
  use: (
    world: World.World,
    store: World.Tokens
  ) => Effect.Effect<A, E, McpAuth.McpAuth | McpTransport.McpTransport | Scope.Scope>,
  options: {
    readonly authorizer?: (world: World.World) => Layer.Layer<McpAuth.Authorizer>
    readonly secrets?: Partial<Context.Tag.Service<SecretResolver.SecretResolver>>
  } = {}
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const world = World.make()
    const store = World.tokens()
    const services = Layer.provide(
      auth(world, store, options.authorizer?.(world)),
      Layer.succeed(SecretResolver.SecretResolver, SecretResolver.make(options.secrets ?? {}))
    )
    return Effect.scoped(Effect.provide(use(world, store), services))
  })
