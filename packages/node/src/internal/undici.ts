/**
 * undici itself, which is not loaded before the first channel is opened: an application whose servers are all processes
 * starts sooner.
 *
 * Owns: how it is loaded, and the error where it can't be. What is ours of HTTP is loaded with the rest.
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import * as Effect from "effect/Effect"
import { createRequire } from "node:module"
import type * as Undici from "undici"

/**
 * Where no file can be opened the import fails, and Node 20 never tries it again. `require` does. It is not the first choice,
 * because who bundles an application can't see it, and needs none.
 */
const required = Effect.try((): typeof Undici => createRequire(import.meta.url)("undici/index.js"))

/** @internal */
export const load = (config: McpConfig.AnyHttpConfig): Effect.Effect<typeof Undici, McpError.ConnectFailed> =>
  // By its file, since Bun has something else of its own for the bare name.
  Effect.tryPromise(() => import("undici/index.js")).pipe(
    Effect.catchAll(({ error }) => Effect.mapError(required, () => notLoaded(config, error)))
  )

const notLoaded = ({ name, url }: McpConfig.AnyHttpConfig, error: unknown): McpError.ConnectFailed => {
  const said = (error instanceof Error ? error.message : String(error)).replace(/\.$/, "")
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined
  return new McpError.ConnectFailed({
    server: name,
    operation: "connect",
    executed: "no",
    reason: "Other",
    url: McpError.displayUrl(url),
    detail: `undici, which HTTP needs, can't be loaded: ${McpError.displayText(said, 512)}`,
    ...(typeof code === "string" && { code })
  })
}
