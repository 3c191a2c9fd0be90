/**
 * What servers tell without a step of a fiber, for whoever asks with each call.
 *
 * Owns: that only what was made here tells it, and is as it was made. A copy of a manager, or one with other functions, is asked as
 * any other one.
 */
import type { Manager, ManagerState } from "../../McpManager.js"
import type { Connection } from "../connection/connection.js"

export interface Glance {
  readonly state: () => ManagerState
  /** Nothing where there is none yet, or none any more: `Manager.connection` makes it, or says why. */
  readonly connection: (server: string) => Connection | undefined
}

type Asked = Pick<Manager, "state" | "connection">

const glances = new WeakMap<object, { readonly glance: Glance; readonly asked: Asked }>()

export const offer = (manager: Manager, glance: Glance): void => {
  const { connection, state } = manager
  glances.set(manager, { glance, asked: { state, connection } })
}

export const at = (manager: Asked): Glance | undefined => {
  const offered = glances.get(manager)
  return offered?.asked.state === manager.state && offered.asked.connection === manager.connection
    ? offered.glance
    : undefined
}
