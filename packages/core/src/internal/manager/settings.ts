/**
 * What an application may ask of a manager.
 *
 * Owns: what each option may be, and its meaning.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as McpConfig from "../../McpConfig.js"
import type { ConnectionOptions } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import type { ManagerOptions } from "../../McpManager.js"
import * as RequestLimit from "../../RequestLimit.js"
import { owners } from "../errors/owners.js"
import * as Check from "../options.js"

export interface Settings {
  readonly mode: "sequential" | "parallel"
  /** How many servers are connected at once. */
  readonly connecting: number
  /** How many are closed at once. */
  readonly closing: number
  readonly strict: boolean
  readonly dropFailed: boolean
  /** In milliseconds, infinite for none; so are the others. Undefined where each server says it. */
  readonly connectTimeout: number | undefined
  readonly closeTimeout: number
  /** Infinite where every server is waited for. */
  readonly gate: number
  readonly enrich: boolean
  readonly connection: (config: McpConfig.ServerConfig) => ConnectionOptions
}

/** In the place of a server's name where it is about all of them. */
export const owner: string = owners.manager

export const make = (options: ManagerOptions): Effect.Effect<Settings, McpError.ConfigInvalid> =>
  Effect.gen(function*() {
    const { servers: _, startup, ...rest } = isRecord(options) ? options : { servers: [] }
    const flat = Check.check(checks, defaults, rest, owner)
    const gate = Check.check(startupChecks, startupDefaults, startup ?? {}, owner)
    const problems = [
      ...Check.problemsOf(flat, ""),
      ...Check.problemsOf(gate, "startup.")
    ]
    if (Either.isLeft(flat) || Either.isLeft(gate)) return yield* Effect.fail(invalid(problems))
    const { concurrency, connection, requests: permits, ...settings } = flat.right
    const requests = permits === undefined
      ? undefined
      : yield* Effect.mapError(RequestLimit.make(permits), (error) => invalid(error.problems))
    const sequential = settings.mode === "sequential"
    return {
      ...settings,
      connecting: sequential ? 1 : concurrency,
      closing: sequential ? 1 : Number.POSITIVE_INFINITY,
      gate: gate.right.deferred ? gate.right.gate : Number.POSITIVE_INFINITY,
      connection: (config) => {
        const wished = typeof connection === "function" ? connection(config) : connection
        return requests === undefined ? wished : { ...wished, requests }
      }
    }
  })

const isRecord = (u: unknown): boolean => typeof u === "object" && u !== null && !Array.isArray(u)

const mode = (value: unknown): Check.Checked<Settings["mode"]> =>
  value === "sequential" || value === "parallel"
    ? Either.right(value)
    : Either.left(`must be "sequential" or "parallel"`)

const truth = (value: unknown): Check.Checked<boolean> =>
  typeof value === "boolean" ? Either.right(value) : Either.left("must be true or false")

const count = (value: unknown): Check.Checked<number> =>
  value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && (value as number) >= 1)
    ? Either.right(value as number)
    : Either.left("must be a whole number of at least 1")

const countOrNone = (value: unknown): Check.Checked<number | undefined> =>
  value === undefined ? Either.right(undefined) : count(value)

const boundOrNone = (value: unknown): Check.Checked<number | undefined> =>
  value === undefined ? Either.right(undefined) : Check.bound(value)

type Connection = ConnectionOptions | ((config: McpConfig.ServerConfig) => ConnectionOptions)

const connection = (value: unknown): Check.Checked<Connection> =>
  typeof value === "function" || isRecord(value)
    ? Either.right(value as Connection)
    : Either.left("must be the options of connections, or a function that gives them")

const checks = {
  mode,
  concurrency: count,
  strict: truth,
  dropFailed: truth,
  connectTimeout: boundOrNone,
  closeTimeout: Check.bound,
  requests: countOrNone,
  enrich: truth,
  connection
}

const defaults = {
  mode: "parallel",
  concurrency: Number.POSITIVE_INFINITY,
  strict: false,
  dropFailed: true,
  connectTimeout: undefined,
  closeTimeout: 10_000,
  requests: undefined,
  enrich: true,
  connection: {}
}

/** How long a server may take to connect: what the application says, else 10 s, or what is configured for it if that is longer. */
export const connectTimeoutOf = (
  { connectTimeout }: Settings,
  config: McpConfig.ServerConfig | undefined
): number => {
  if (connectTimeout !== undefined) return connectTimeout
  const own = config?.timeouts?.handshake
  if (own === null) return Number.POSITIVE_INFINITY
  return own === undefined ? 10_000 : Math.max(10_000, Duration.toMillis(own))
}

const startupChecks = { gate: Check.base, deferred: truth }

const startupDefaults = { gate: 250, deferred: true }

export const invalid = (problems: ReadonlyArray<McpError.ConfigProblem>): McpError.ConfigInvalid =>
  new McpError.ConfigInvalid({ server: owner, operation: "configure", executed: "no", problems })
