/**
 * The clients, by name. A client's code is loaded when it is asked for.
 */
import type { Contender, Open, Way } from "./client.js"
import { allAtOnce, type OpenFleet } from "./fleet.js"

/** `way` says through which of our own floors we take part. */
export const load = async (contender: Contender, way: Way = "session"): Promise<Open> => {
  switch (contender) {
    case "sdk":
      return (await import("./sdk.js")).open
    case "ours":
      return await ours(way)
    case "limit":
      return (await import("./limit.js")).open
  }
}

const ours = async (way: Way): Promise<Open> => {
  switch (way) {
    case "session":
      return (await import("./ours.js")).open
    case "connection":
      return (await import("./oursConnection.js")).open
    case "traced":
      return (await import("./oursConnection.js")).openTraced
  }
}

/** Many servers at once: ours through a manager. */
export const loadFleet = async (contender: Contender): Promise<OpenFleet> =>
  contender === "ours" ? (await import("./oursManager.js")).openFleet : allAtOnce(await load(contender))
