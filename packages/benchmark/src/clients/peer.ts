/**
 * Other clients, through their adapters in `peers`. What they depend on is in that folder only, so it is loaded at run time,
 * and what it gives is not believed.
 */
import { adapterOf } from "../peers/folder.js"
import type { Peer } from "../who.js"
import { callArguments, checkCount, checkText, type Open, promiseLoops, type Wire } from "./client.js"
import { allAtOnce, type OpenFleet } from "./fleet.js"

/** One server. `call` gives the text of the answer, the others numbers of tools. */
interface PeerSession {
  readonly call: (tool: string, args: object) => Promise<unknown>
  readonly list: () => Promise<number>
  readonly again: () => Promise<number>
  readonly close: () => Promise<void>
}

/** What an adapter exports. One without a manager of its own has no `openMany`. */
interface Adapter {
  readonly open: (wire: Wire) => Promise<PeerSession>
  readonly openMany?: (
    wires: ReadonlyArray<Wire>
  ) => Promise<{ readonly counts: ReadonlyArray<number>; readonly close: () => Promise<void> }>
}

export interface LoadedPeer {
  readonly open: Open
  readonly openFleet: OpenFleet
}

const fleetOf = (openMany: NonNullable<Adapter["openMany"]>): OpenFleet => async (wires, tools) => {
  const { close, counts } = await openMany(wires)
  checkCount(counts.length, wires.length)
  for (const count of counts) checkCount(count, tools)
  return { close }
}

export const loadPeer = async (peer: Peer): Promise<LoadedPeer> => {
  const adapter = await import(adapterOf(peer).href) as Adapter
  const open: Open = async (wire) => {
    const session = await adapter.open(wire)
    const call = async (tool: string): Promise<void> => checkText(tool, await session.call(tool, callArguments))
    return { ...promiseLoops(call, session.again), list: session.list, close: session.close }
  }
  return { open, openFleet: adapter.openMany === undefined ? allAtOnce(open) : fleetOf(adapter.openMany) }
}
