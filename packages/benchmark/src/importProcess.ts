/**
 * A process of its own that loads what an application would import of one client, and tells how long that took.
 * Started by `rows/imports.ts` with the client's name.
 */
import { adapterOf } from "./peers/folder.js"
import { isPeer, type Who } from "./who.js"

/** Milliseconds, and bytes of the process. */
export interface Report {
  readonly millis: number
  readonly rss: number
}

const imports = async (who: Who): Promise<void> => {
  switch (who) {
    case "sdk":
      await import("@modelcontextprotocol/sdk/client/index.js")
      await import("@modelcontextprotocol/sdk/client/stdio.js")
      await import("@modelcontextprotocol/sdk/client/streamableHttp.js")
      return
    case "limit":
      await import("undici")
      return
    default:
      if (isPeer(who)) {
        await import(adapterOf(who).href)
        return
      }
      await import("effect")
      await import("@mcp-runtime/core")
      await import("@mcp-runtime/node")
  }
}

const start = performance.now()
await imports(process.argv[2] as Who)
const millis = performance.now() - start
const report: Report = { millis, rss: process.memoryUsage().rss }
process.send!(report)
// Whoever has asked is gone, or has what it wanted; what was imported may keep a process alive.
process.once("disconnect", () => process.exit(0))
