/**
 * Calls that wait for approval.
 *
 * Owns: how one is made, and whether it still is what was asked about.
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import { PendingApproval } from "../../ToolApproval.js"
import { owners } from "../errors/owners.js"
import * as Check from "../options.js"
import * as Canonical from "./canonical.js"
import * as RandomId from "./randomId.js"

/**
 * A call that waits from now on. Its arguments are a frozen copy. Fails where they can't be written as JSON, or
 * `expiresIn` is no positive and finite duration, or `null`.
 */
export const make = (
  call: {
    readonly toolset: string
    readonly server: string
    readonly tool: string
    readonly name: string
    readonly arguments: McpProtocol.JsonObject
    /** What its server says of the tool. */
    readonly definition?: McpProtocol.Tool | undefined
  },
  options: { readonly expiresIn?: Duration.DurationInput | null | undefined } = {}
): Effect.Effect<PendingApproval, McpError.ConfigInvalid> =>
  Effect.gen(function*() {
    const { expiresIn } = yield* Check.check(
      { expiresIn: Check.bound },
      { expiresIn: null },
      options,
      owners.toolApproval
    )
    const { definition, name, server, tool, toolset } = call
    const args = Canonical.snapshot(call.arguments)
    if (args === undefined) return yield* McpError.unwritable(server, "tools/call")
    const id = yield* RandomId.make
    const requestedAt = Math.floor(yield* Clock.currentTimeMillis)
    const asked = {
      toolset,
      server,
      tool,
      name,
      arguments: args,
      ...(definition === undefined ? {} : { toolFingerprint: Canonical.toolFingerprint(definition) })
    }
    return new PendingApproval({
      id,
      ...asked,
      requestedAt,
      ...(expiresIn === Infinity ? {} : { expiresAt: requestedAt + Math.ceil(expiresIn) }),
      fingerprint: Canonical.fingerprint(asked)
    })
  })

/**
 * A copy, each field read once, if it is what was asked about. Nothing else can be decoded; this notices what was changed in place
 * since then. Whoever goes on with the copy goes on with what was looked at.
 */
export const intact = (pending: PendingApproval): PendingApproval | undefined => {
  const { arguments: args, expiresAt, fingerprint, id, name, requestedAt, server, tool, toolFingerprint, toolset } =
    pending
  const copy = Canonical.isJsonObject(args) ? Canonical.snapshot(args) : undefined
  if (copy === undefined) return undefined
  const asked = { toolset, server, tool, name, arguments: copy, toolFingerprint }
  return fingerprint === Canonical.fingerprint(asked)
    ? { id, ...asked, requestedAt, expiresAt, fingerprint }
    : undefined
}

/** Why it is no approval of this tool. */
export const problemWith = ({ toolFingerprint }: PendingApproval, definition: McpProtocol.Tool): string | undefined =>
  toolFingerprint === undefined
    ? "does not say what the tool was; the call must be made anew"
    : toolFingerprint !== Canonical.toolFingerprint(definition)
    ? "the tool has changed since approval was asked; the call must be made anew"
    : undefined
