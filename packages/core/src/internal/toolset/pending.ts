/**
 * Calls that wait for approval.
 *
 * Owns: how one is made, and whether it still is what was asked about.
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import { PendingApproval } from "../../ToolApproval.js"
import { owners } from "../errors/owners.js"
import * as Check from "../options.js"
import { isObject } from "../protocol/json.js"
import * as Canonical from "./canonical.js"
import * as RandomId from "./randomId.js"
import * as Seal from "./seal.js"
import * as ServerIdentity from "./serverIdentity.js"

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
    /** Its server's. */
    readonly config?: McpConfig.ServerConfig | undefined
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
    const { config, definition, name, server, tool, toolset } = call
    const args = Canonical.snapshot(call.arguments)
    if (args === undefined) return yield* McpError.unwritable(server, "tools/call")
    const id = yield* RandomId.make
    const requestedAt = Math.floor(yield* Clock.currentTimeMillis)
    const expiresAt = requestedAt + Math.ceil(expiresIn)
    const asked = {
      toolset,
      server,
      tool,
      name,
      arguments: args,
      ...(definition === undefined ? {} : { toolFingerprint: Canonical.toolFingerprint(definition) }),
      ...(config === undefined ? {} : whoIs(config))
    }
    return new PendingApproval({
      id,
      ...asked,
      requestedAt,
      // What is later than can be written, never comes.
      ...(Number.isSafeInteger(expiresAt) ? { expiresAt } : {}),
      fingerprint: Canonical.fingerprint(asked)
    })
  })

/** As fields of what waits. */
const whoIs = (
  config: McpConfig.ServerConfig
): { readonly serverFingerprint?: string; readonly serverSeal?: string } => {
  const { fingerprint, seal } = ServerIdentity.of(config) ?? {}
  return {
    ...(fingerprint === undefined ? {} : { serverFingerprint: fingerprint }),
    ...(seal === undefined ? {} : { serverSeal: seal })
  }
}

/**
 * A copy, each field read once, if it is what was asked about. Nothing else can be decoded; this notices what was changed in place
 * since then. Whoever goes on with the copy goes on with what was looked at.
 */
export const intact = (pending: PendingApproval): PendingApproval | undefined => {
  if (!isObject(pending)) return undefined
  const { arguments: args, expiresAt, fingerprint, id, name, requestedAt, server, tool, toolset } = pending
  const { serverFingerprint, serverSeal, toolFingerprint } = pending
  const copy = Canonical.isJsonObject(args) ? Canonical.snapshot(args) : undefined
  if (copy === undefined) return undefined
  const asked = { toolset, server, tool, name, arguments: copy, toolFingerprint, serverFingerprint, serverSeal }
  return fingerprint === Canonical.fingerprint(asked)
    ? { id, ...asked, requestedAt, expiresAt, fingerprint }
    : undefined
}

/** Why it is no approval of this tool of this server. */
export const problemWith = (
  pending: PendingApproval,
  definition: McpProtocol.Tool,
  config: McpConfig.ServerConfig
): string | undefined => problemWithTool(pending, definition) ?? problemWithServer(pending, ServerIdentity.of(config))

const problemWithServer = (
  { serverFingerprint, serverSeal }: PendingApproval,
  now: ServerIdentity.ServerIdentity | undefined
): string | undefined =>
  serverFingerprint === undefined && now !== undefined
    ? "does not say which server it was for; the call must be made anew"
    : serverFingerprint !== now?.fingerprint || isBroken(serverSeal, now?.seal)
    ? "its server is another one, or configured otherwise, since approval was asked; the call must be made anew"
    : undefined

/** What another process has sealed, nobody can compare. */
const isBroken = (before: string | undefined, now: string | undefined): boolean =>
  before !== undefined && Seal.isOurs(before) && before !== now

const problemWithTool = ({ toolFingerprint }: PendingApproval, definition: McpProtocol.Tool): string | undefined =>
  toolFingerprint === undefined
    ? "does not say what the tool was; the call must be made anew"
    : toolFingerprint !== Canonical.toolFingerprint(definition)
    ? "the tool has changed since approval was asked; the call must be made anew"
    : undefined
