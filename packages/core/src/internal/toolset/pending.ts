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
    const { name, server, tool, toolset } = call
    const args = Canonical.snapshot(call.arguments)
    if (args === undefined) return yield* McpError.unwritable(server, "tools/call")
    const id = yield* RandomId.make
    const requestedAt = Math.floor(yield* Clock.currentTimeMillis)
    return new PendingApproval({
      id,
      toolset,
      server,
      tool,
      name,
      arguments: args,
      requestedAt,
      ...(expiresIn === Infinity ? {} : { expiresAt: requestedAt + Math.ceil(expiresIn) }),
      fingerprint: Canonical.fingerprint({ toolset, server, tool, name, arguments: args })
    })
  })

/** Nothing else can be decoded; this notices what was changed in place since then. */
export const isIntact = (pending: PendingApproval): boolean =>
  Canonical.isJsonObject(pending.arguments) && pending.fingerprint === Canonical.fingerprint(pending)
