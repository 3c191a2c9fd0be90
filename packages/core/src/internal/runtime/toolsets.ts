/**
 * Toolsets for code that isn't Effect.
 *
 * Owns: which Effect of a toolset is behind which promise.
 * May not touch: how an Effect becomes a promise, and when that is rejected.
 */
import * as Effect from "effect/Effect"
import type { Manager } from "../../McpManager.js"
import type {
  McpRuntime,
  PromiseOptions,
  PromiseRuntime,
  PromiseToolbox,
  PromiseToolCallOptions,
  PromiseToolset
} from "../../McpRuntime.js"
import type { CallOptions, Toolbox, Toolset, ToolsetOptions } from "../../Toolset.js"
import * as Toolsets from "../toolset/toolset.js"

/** How Effects become promises. */
export interface Promising {
  readonly run: <A, E>(effect: Effect.Effect<A, E, McpRuntime>, options?: PromiseOptions) => Promise<A>
  /** The same of a call, with its options as an Effect has them. */
  readonly calling: <A, E>(
    options: PromiseToolCallOptions | undefined,
    call: (options: CallOptions<unknown, McpRuntime, unknown>) => Effect.Effect<A, E, McpRuntime>
  ) => Promise<A>
}

export const make = (manager: Manager, promising: Promising): PromiseRuntime["toolset"] => {
  const toolset = <Request, A>(
    options?: ToolsetOptions<Request, McpRuntime, A, unknown, unknown>
  ): Promise<PromiseToolset<Request, A>> =>
    promising.run(Effect.map(Toolsets.make(manager, options), (_) => toolsetOf(_, promising)))
  // What comes of the parts of its options is more than can be shown here.
  return toolset as PromiseRuntime["toolset"]
}

const toolsetOf = <Request, A>(
  toolset: Toolset<Request, McpRuntime, A, unknown, unknown>,
  promising: Promising
): PromiseToolset<Request, A> => ({
  id: toolset.id,
  for: (...request) => toolboxOf(toolset.for(...request), promising),
  instructions: (options) => promising.run(toolset.instructions, options)
})

const toolboxOf = <A>(
  { approve, call, list, reject }: Toolbox<McpRuntime, A, unknown, unknown>,
  { calling, run }: Promising
): PromiseToolbox<A> => ({
  list: (options) => run(list, options),
  call: ((tool, args, options) => calling(options, (_) => call(tool, args, _))) as PromiseToolbox<A>["call"],
  approve: ((pending, options) => calling(options, (_) => approve(pending, _))) as PromiseToolbox<A>["approve"],
  reject: (pending, reason, options) => run(reject(pending, reason), options)
})
