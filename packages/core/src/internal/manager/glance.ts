/**
 * What servers tell without a step of a fiber, for whoever asks with each call.
 *
 * Owns: that only what was made here tells it. A copy of a manager, whose functions may be others, is asked as any other one.
 */
import type { Manager, ManagerState } from "../../McpManager.js"
import type { Connection } from "../connection/connection.js"

export interface Glance {
  readonly state: () => ManagerState
  /** Nothing where there is none yet, or none any more: `Manager.connection` makes it, or says why. */
  readonly connection: (server: string) => Connection | undefined
}

const glances = new WeakMap<object, Glance>()

export const offer = (manager: Manager, glance: Glance): void => void glances.set(manager, glance)

export const at = (servers: object): Glance | undefined => glances.get(servers)
