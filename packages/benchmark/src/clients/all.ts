/**
 * The clients, by name. A client's code is loaded when it is asked for.
 */
import type { Who } from "../who.js"
import type { Open } from "./client.js"
import { allAtOnce, type OpenFleet } from "./fleet.js"

export const load = async (who: Who): Promise<Open> => {
  switch (who) {
    case "session":
      return (await import("./ours.js")).open
    case "connection":
      return (await import("./oursConnection.js")).open
    case "traced":
      return (await import("./oursConnection.js")).openTraced
    case "toolset":
      return (await import("./oursToolset.js")).open
    case "sdk":
      return (await import("./sdk.js")).open
    case "limit":
      return (await import("./limit.js")).open
    default:
      return (await (await import("./peer.js")).loadPeer(who)).open
  }
}

/** Many servers at once: through a manager where there is one. */
export const loadFleet = async (who: Who): Promise<OpenFleet> => {
  switch (who) {
    case "toolset":
      return (await import("./oursToolset.js")).openFleet
    case "session":
    case "connection":
    case "traced":
    case "sdk":
    case "limit":
      return allAtOnce(await load(who))
    default:
      return (await (await import("./peer.js")).loadPeer(who)).openFleet
  }
}
