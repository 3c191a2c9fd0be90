/**
 * What real servers have said, recorded once by `packages/node/test/fuzz/record.ts` and shortened there.
 */
import type { McpProtocol } from "@mcp-runtime/core"
import * as Fs from "node:fs"
import { fileURLToPath } from "node:url"

export interface Said {
  /** The method of the request that it answers; nothing where it is no answer. */
  readonly to: string | undefined
  readonly message: McpProtocol.JsonObject
}

const directory = fileURLToPath(new URL("traffic", import.meta.url))

/** The messages of one server over one wire. */
export const transcripts: ReadonlyArray<ReadonlyArray<Said>> = Fs.readdirSync(directory)
  .filter((_) => _.endsWith(".json"))
  .sort()
  .map((name) => JSON.parse(Fs.readFileSync(`${directory}/${name}`, "utf8")))

const all = transcripts.flat()

/** Every result that was given to this method. */
export const resultsOf = (method: string): ReadonlyArray<unknown> => results.get(method) ?? []

const results = new Map<string, Array<unknown>>()
for (const { message, to } of all) {
  if (to === undefined || message.result === undefined) continue
  const known = results.get(to)
  if (known === undefined) results.set(to, [message.result])
  else known.push(message.result)
}

/** What servers have said unasked, and asked. */
export const unasked: ReadonlyArray<McpProtocol.JsonObject> = all
  .filter((_) => _.message.method !== undefined)
  .map((_) => _.message)

export const messages: ReadonlyArray<McpProtocol.JsonObject> = all.map((_) => _.message)
