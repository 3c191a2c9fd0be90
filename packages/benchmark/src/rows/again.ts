/**
 * Row about a list that an application has had before: one server with many tools, asked for again as each client wants it.
 * Some ask the server, some give what they kept.
 */
import type { Row } from "../row.js"
import { stdioServer } from "../servers.js"
import { everyone } from "../who.js"
import { measureWork } from "./work.js"

const toolCount = 1000

export const againRow: Row = {
  name: "list-1000-repeated",
  run: async (options) => [{
    title: "1000 tools again",
    unit: "us",
    shows: "rate",
    targets: [],
    ...await measureWork({
      name: againRow.name,
      wire: { type: "stdio", script: stdioServer, args: [String(toolCount), "10"] },
      work: { kind: "again", tools: toolCount },
      who: everyone.filter((_) => _ !== "traced" && _ !== "session")
    }, options)
  }]
}
