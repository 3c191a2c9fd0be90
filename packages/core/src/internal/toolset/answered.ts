/**
 * The approvals that were answered.
 *
 * Owns: that each is answered once, whichever of the toolsets over the same servers it is answered through, and how many are
 * remembered.
 */
import type { PendingApproval } from "../../ToolApproval.js"

/** How many of one source are remembered. */
const mostRemembered = 10_000

export class Answered {
  private readonly ids = new Map<string, number>()
  /** Of those that were asked for until then it may be forgotten that they were answered. */
  private forgottenUntil = Number.NEGATIVE_INFINITY

  /** Why it can't be answered. Otherwise it is answered from now on. */
  take({ id, requestedAt }: PendingApproval): string | undefined {
    if (this.ids.has(id)) return "was answered already"
    if (requestedAt <= this.forgottenUntil) {
      return "is so old that it may have been answered already; the call must be made anew"
    }
    this.ids.set(id, requestedAt)
    if (this.ids.size > mostRemembered) {
      const [oldest, requestedAt] = this.ids.entries().next().value!
      this.ids.delete(oldest)
      this.forgottenUntil = Math.max(this.forgottenUntil, requestedAt)
    }
    return undefined
  }
}

const answered = new WeakMap<object, Answered>()

/** What was answered of a manager, or of a connection: a toolset may be made anew for each agent. */
export const of = (source: object): Answered => {
  const known = answered.get(source)
  if (known !== undefined) return known
  const made = new Answered()
  answered.set(source, made)
  return made
}
