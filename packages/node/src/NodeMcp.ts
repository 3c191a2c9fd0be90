/**
 * Every transport on Node, and the lists that outlive a program, ready to be composed.
 *
 * Owns: the layer that an application provides. The parts are in `StdioTransport`, `UndiciExchange` and
 * `FileStore`.
 *
 * @since 0.1.0
 */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as CatalogStore from "@mcp-runtime/core/CatalogStore"
import * as HttpExchange from "@mcp-runtime/core/HttpExchange"
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as FileStore from "./FileStore.js"
import * as NodeSecrets from "./NodeSecrets.js"
import * as StdioTransport from "./StdioTransport.js"
import * as UndiciExchange from "./UndiciExchange.js"

/**
 * Server processes, over the `HttpExchange` that is provided for everything else: an application brings its own HTTP
 * client or `fetch` this way. References of a configuration are looked up with the `SecretResolver` that is provided, or else
 * with `NodeSecrets`. With the `McpAuth` that is provided, if there is one.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWithoutHttp: Layer.Layer<McpTransport.McpTransport, never, HttpExchange.HttpExchange> = Layer.effect(
  McpTransport.McpTransport,
  Effect.map(
    Effect.all([HttpExchange.HttpExchange, NodeSecrets.current, Effect.serviceOption(McpAuth.McpAuth)]),
    ([http, secrets, auth]) =>
      McpTransport.make({ http, stdio: StdioTransport.channel, secrets, auth: Option.getOrUndefined(auth) })
  )
)

/**
 * Server processes, and HTTP over undici.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerTransport: Layer.Layer<McpTransport.McpTransport> = Layer.provide(
  layerWithoutHttp,
  UndiciExchange.layer
)

/** Whichever it is when a server is first connected. It may be gone. */
const workingDirectory = Effect.sync(() => process.cwd())

/**
 * Lists of servers that outlive the program, in this directory, or in `FileStore.cacheDirectory`. Nothing is touched
 * before the first list is loaded or saved. A directory that can't be made, read or written is no error: it is as if
 * nothing were stored, with a line in the log at debug level. What is older than 30 days is not used, and removed a day
 * later. A server that starts in the working directory has lists of its own in each.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerCatalog = (directory?: string): Layer.Layer<CatalogStore.CatalogStore> =>
  Layer.unwrapEffect(
    Effect.map(
      directory === undefined ? FileStore.cacheDirectory : Effect.succeedSome(directory),
      Option.match({
        onNone: () => CatalogStore.layerNone,
        onSome: (found) =>
          Layer.orDie(Layer.provide(
            CatalogStore.layer({ directory: workingDirectory }),
            Layer.sync(KeyValueStore.KeyValueStore, () => filesIn(found))
          ))
      })
    )
  )

const filesIn = (directory: string): KeyValueStore.KeyValueStore =>
  FileStore.make(directory, { expireAfter: "31 days" })

/**
 * Everything: server processes, HTTP over undici, and lists of servers that outlive the program in the user's cache
 * directory. `layerTransport` has the transports alone; `layerCatalog` takes another directory.
 *
 * @example
 * ```ts
 * import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
 * import { NodeMcp } from "@mcp-runtime/node"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const transport = yield* McpTransport.McpTransport
 *   const config = yield* McpConfig.decode({ name: "time", transport: "stdio", command: "my-time-server" })
 *   const session = yield* McpSession.open(yield* transport.channel(config))
 *   return yield* McpSession.callTool(session, { name: "now" })
 * }).pipe(Effect.scoped, Effect.provide(NodeMcp.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
// `Layer.merge` (3.22.4) waits for ever where it is interrupted just before the first of its layers has begun.
export const layer: Layer.Layer<McpTransport.McpTransport | CatalogStore.CatalogStore> = Layer.provideMerge(
  layerTransport,
  layerCatalog()
)
