/**
 * The three clients, by name. A client's code is loaded when it is asked for.
 */
import type { Contender, Open } from "./client.js"

export const load = async (contender: Contender): Promise<Open> => {
  switch (contender) {
    case "sdk":
      return (await import("./sdk.js")).open
    case "ours":
      return (await import("./ours.js")).open
    case "limit":
      return (await import("./limit.js")).open
  }
}
