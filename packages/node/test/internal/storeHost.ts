/**
 * A process of its own that writes one entry again and again, or reads it all the while. Arguments: `write` or `read`, the
 * directory, and which writer it is. It says "ready", begins when its input says so, says "busy" when it has done so ten
 * times, and ends when its input ends. Reading, it then says what it has seen that is no whole entry.
 */
import { CatalogStore, McpConfig } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect } from "effect"
import { contentOf, problemOf, server } from "./storeContent.js"

const [then, directory, writer] = process.argv.slice(2) as [string, string, string]

const go = Effect.async<void>((resume) => void process.stdin.once("data", () => resume(Effect.void)))
const say = (text: string) => Effect.async<void>((resume) => void process.stdout.write(text, () => resume(Effect.void)))
/** The end of the input is seen only between turns of the event loop. */
const turn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

const program = Effect.gen(function*() {
  const { of } = yield* CatalogStore.CatalogStore
  const storage = of(yield* McpConfig.decode(server))
  yield* say("ready\n")
  yield* go
  let count = 0
  let problem: string | undefined
  while (!process.stdin.readableEnded && problem === undefined) {
    if (then === "write") yield* storage.save("tools", contentOf(Number(writer), count))
    else {
      const stored = yield* storage.load("tools")
      problem = stored === undefined ? "nothing was there" : problemOf(stored.items)
    }
    if (++count === 10) yield* say("busy\n")
    yield* turn
  }
  yield* say(`${JSON.stringify({ problem })}\n`)
}).pipe(Effect.provide(NodeMcp.layerCatalog(directory)))

Effect.runFork(program).addObserver((exit) => process.exit(exit._tag === "Success" ? 0 : 1))
