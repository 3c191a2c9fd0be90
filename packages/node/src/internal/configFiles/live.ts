/**
 * An application that follows its files.
 *
 * Owns: the fibers that follow the files and hand changes to the manager, and what the log says about both.
 * May not touch: what a change does to servers.
 */
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import * as McpManager from "@mcp-runtime/core/McpManager"
import * as McpRuntime from "@mcp-runtime/core/McpRuntime"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { ConfigFiles } from "../../ConfigFiles.js"
import * as Follow from "./follow.js"

type Files = Context.Tag.Service<ConfigFiles>

type Servers = ReadonlyArray<McpConfig.Shorthand>

export interface Wishes {
  readonly runtime: Omit<McpRuntime.RuntimeOptions, "servers">
  readonly servers: Servers
  readonly watch: boolean
}

export const layer = <Id>(
  tag: Context.Tag<Id, Files>,
  settings: Effect.Effect<Follow.Settings>,
  { runtime, servers, watch }: Wishes
): Layer.Layer<
  McpRuntime.McpRuntime | Id,
  McpError.ConfigInvalid | McpError.ServersFailed,
  McpRuntime.Requirements
> =>
  Layer.unwrapScoped(Effect.gen(function*() {
    const files = yield* (watch ? following(yield* settings) : Effect.map(Follow.once(yield* settings), fixed))
    const first = yield* files.loaded
    yield* logged(first)
    const together = joined(servers)
    const manager = McpRuntime.layer({ ...runtime, servers: together(first) })
    const live = watch ? Layer.provideMerge(Layer.scopedDiscard(reloading(files, first, together)), manager) : manager
    // Not `Layer.merge`: see `NodeMcp.layer`.
    return Layer.provideMerge(live, Layer.succeed(tag, files))
  }))

const fixed = (loaded: ConfigFile.Loaded): Files => ({
  loaded: Effect.succeed(loaded),
  changes: Stream.succeed(loaded)
})

const following = (settings: Follow.Settings): Effect.Effect<Files, never, Scope.Scope> =>
  Effect.gen(function*() {
    const next = yield* Follow.make(settings)
    const current = yield* SubscriptionRef.make(yield* next)
    yield* Effect.forkScoped(Effect.forever(Effect.flatMap(next, (_) => SubscriptionRef.set(current, _))))
    return {
      loaded: SubscriptionRef.get(current),
      changes: Stream.buffer(current.changes, { capacity: 1, strategy: "sliding" })
    }
  })

const joined = (own: Servers) => {
  const names = new Set(own.map((_) => McpConfig.from(_).name))
  return (loaded: ConfigFile.Loaded): Servers => [
    ...own,
    ...ConfigFile.serversOf(loaded).filter((_) => !names.has(_.name))
  ]
}

/** One after the other, each with what the files say when its turn comes. */
const reloading = (
  files: Files,
  first: ConfigFile.Loaded,
  servers: (loaded: ConfigFile.Loaded) => Servers
): Effect.Effect<void, never, McpManager.McpManager | Scope.Scope> =>
  Effect.gen(function*() {
    const manager = yield* McpManager.McpManager
    let before = first
    yield* files.changes.pipe(
      Stream.dropWhile((_) => _ === first),
      Stream.runForEach((loaded) =>
        Effect.gen(function*() {
          yield* logged(loaded, before)
          before = loaded
          yield* reload(manager, servers(loaded))
        })
      ),
      Effect.forkScoped
    )
  })

const reload = (manager: McpManager.Manager, servers: Servers): Effect.Effect<void> =>
  manager.reload(servers).pipe(
    Effect.flatMap(({ added, removed, restarted }) => {
      const done = Object.entries({ added, restarted, removed }).filter(([, names]) => names.length > 0)
      return done.length === 0
        ? Effect.void
        : Effect.logInfo(
          `the configuration has changed: ${done.map(([what, names]) => `${what} ${names.join(", ")}`).join("; ")}`
        )
    }),
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.failCause(cause as Cause.Cause<never>)
        : Effect.logWarning("the configuration has changed, but not the servers", cause)
    )
  )

/** Problems that were there before were logged before. */
const logged = (loaded: ConfigFile.Loaded, before?: ConfigFile.Loaded): Effect.Effect<void> => {
  const known = new Set(before?.problems.map(ConfigFile.display))
  const lines = new Set(loaded.problems.map(ConfigFile.display).filter((_) => !known.has(_)))
  return Effect.forEach(lines, (line) => Effect.logWarning(McpError.displayText(line, 2000)), { discard: true })
}
