/**
 * How a server is, from what its manager has done with it and what its connection does.
 */
import type { Phase, ServerStatus } from "../../McpManager.js"
import type { Entry } from "./entry.js"

export const statusOf = (entry: Entry): ServerStatus => {
  const { closeError, config, connection, name, tools } = entry
  const state = connection?.owner.state
  const phase = phaseOf(entry)
  const error = phase !== "failed"
    ? undefined
    : entry.failure ?? (state !== undefined && "error" in state ? state.error : undefined)
  return Object.freeze({ name, phase, config, state, error, closeError, tools })
}

const phaseOf = ({ attempt, config, connection, failure, isUsable, shut, wanted }: Entry): Phase => {
  if (config !== undefined && !isUsable) return "disabled"
  if (attempt !== undefined) return "connecting"
  if (failure !== undefined) return "failed"
  // Whatever its connection does, which others may have enabled: what was closed can't be used.
  if (shut) return "disconnected"
  switch (connection?.owner.state._tag) {
    case "Ready":
    case "Degraded":
      return "connected"
    case "Reconnecting":
      return "reconnecting"
    case "Connecting":
      // A use connects it again.
      return wanted ? "reconnecting" : "connecting"
    case "Failed":
    case "NeedsAuthorization":
      return "failed"
    case "Idle":
      return wanted ? "idle" : "disconnected"
    default:
      return "disconnected"
  }
}
