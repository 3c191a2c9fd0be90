/**
 * What servers tell without a step of a fiber, for whoever asks with each call.
 *
 * Owns: that only what was made here tells it, and is as it was made. A copy of a manager, or one with other functions, is asked as
 * any other one.
 */
import type { Manager, ManagerState } from "../../McpManager.js"
import * as AsMade from "../asMade.js"
import type { Connection } from "../connection/connection.js"

export interface Glance {
  readonly state: () => ManagerState
  /** Nothing where there is none yet, or none any more: `Manager.connection` makes it, or says why. */
  readonly connection: (server: string) => Connection | undefined
}

type Asked = Pick<Manager, "state" | "connection">

const asMade = AsMade.of<Asked>("state", "connection")
const glances = new WeakMap<Asked, Glance>()

export const offer = (manager: Manager, glance: Glance): void => {
  asMade.add(manager)
  glances.set(manager, glance)
}

export const at = (manager: Asked): Glance | undefined => asMade.has(manager) ? glances.get(manager) : undefined
