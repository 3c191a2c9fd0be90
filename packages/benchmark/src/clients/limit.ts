/**
 * The least code that still speaks to the benchmark's own servers: what no client can be much faster than. It checks
 * nothing, bounds nothing and survives nothing.
 */
import { callArguments, checkResult, promiseLoops, type Session, type Wire } from "./client.js"
import { openHttp } from "./limitHttp.js"
import { openStdio } from "./limitStdio.js"

export type Request = (method: string, params: unknown) => Promise<Record<string, unknown>>

export interface Pipe {
  readonly request: Request
  readonly notify: (method: string) => Promise<void>
  /** Opens the stream over which a server speaks unasked. */
  readonly listen: () => Promise<void>
  readonly close: () => Promise<void>
}

export const initializeParams = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bench", version: "1.0.0" }
}

export const open = async (wire: Wire): Promise<Session> => {
  const pipe = wire.type === "stdio" ? openStdio(wire.script, wire.args) : openHttp(wire.url)
  await pipe.request("initialize", initializeParams)
  await pipe.notify("notifications/initialized")
  await pipe.listen()
  const list = async (): Promise<number> =>
    ((await pipe.request("tools/list", {})).tools as ReadonlyArray<unknown>).length
  const call = async (name: string): Promise<void> =>
    checkResult(await pipe.request("tools/call", { name, arguments: callArguments }), name)
  return {
    ...promiseLoops(call, list),
    list,
    close: pipe.close
  }
}
