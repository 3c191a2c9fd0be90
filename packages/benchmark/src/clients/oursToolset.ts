/**
 * This library, through a `Toolset` over an `McpManager`: what an agent has.
 */
import { CatalogStore, McpManager, Toolset } from "@mcp-runtime/core"
import { Effect } from "effect"
import { callArguments, checkCount, type Open, type Wire } from "./client.js"
import type { OpenFleet } from "./fleet.js"
import { manage } from "./oursManager.js"
import { inputOf, type Opened, sessionOf } from "./turns.js"

const openToolset = Effect.fnUntraced(function*(wire: Wire) {
  const manager = yield* McpManager.make({ servers: [inputOf(wire, "bench")], connectTimeout: "60 seconds" }).pipe(
    Effect.provide(CatalogStore.layerNone)
  )
  yield* manager.connectAll
  for (const [, error] of yield* manager.errors) return yield* error
  const toolset = yield* Toolset.make(manager)
  const toolbox = toolset.for()
  const list = Effect.map(Effect.suspend(() => toolset.for().list), ({ tools }) => tools.length)
  const opened: Opened = {
    call: (name) =>
      Effect.flatMap(
        toolbox.call(`bench__${name}`, callArguments),
        (given) => given._tag === "Success" ? Effect.succeed(given.result) : Effect.dieMessage(given.text)
      ),
    list,
    again: list
  }
  return opened
})

export const open: Open = (wire) => sessionOf(openToolset(wire))

/** Many servers: the list is that of the toolset. */
export const openFleet: OpenFleet = async (wires, tools) => {
  const { close, connect, manager } = await manage(wires)
  await connect()
  const { list } = (await Effect.runPromise(Toolset.make(manager))).for()
  checkCount((await Effect.runPromise(list)).tools.length, wires.length * tools)
  return { close }
}
