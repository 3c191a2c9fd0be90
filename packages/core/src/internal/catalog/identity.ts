/**
 * What tells the stored lists of one server from those of another.
 *
 * Owns: which part of a configuration identifies a server, and the hash of it.
 * May not touch: the value of a secret; only its name is looked at.
 */
import * as Effect from "effect/Effect"
import type * as McpConfig from "../../McpConfig.js"
import * as References from "../config/references.js"

/** In hexadecimal; nothing where the server has no identity, or the platform no Web Crypto. */
export const keyOf = (config: McpConfig.ServerConfig): Effect.Effect<string | undefined> =>
  Effect.suspend(() => {
    const identity = identityOf(config)
    if (identity === undefined) return nothing
    // Lone surrogates are escaped, so that different identities have different bytes.
    const bytes = new TextEncoder().encode(JSON.stringify(identity))
    return Effect.map(Effect.promise(() => crypto.subtle.digest("SHA-256", bytes)), hex)
  }).pipe(Effect.catchAllDefect(() => nothing))

const nothing = Effect.succeed(undefined)

/** Nothing but a whole hash: half of one could be that of another server. */
const hex = (digest: ArrayBuffer): string | undefined =>
  digest.byteLength !== 32
    ? undefined
    : Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")

/** A list with a place for each part, so that its text is the same whatever the order of the configuration's fields. */
const identityOf = (config: McpConfig.ServerConfig): ReadonlyArray<unknown> | undefined => {
  switch (config.transport) {
    case "inMemory":
      return undefined
    case "stdio":
      return [
        config.name,
        config.transport,
        config.command,
        config.args ?? [],
        config.cwd ?? null,
        config.inheritEnv === "all" ? "all" : namesOf(config.inheritEnv ?? []),
        namesOf(Object.keys(config.env ?? {}))
      ]
    default:
      return [
        config.name,
        config.transport,
        ...(config.expand === undefined ? placeOf(config.url) : templateOf(config.url)),
        namesOf(Object.keys(config.headers ?? {}).map((_) => _.toLowerCase()))
      ]
  }
}

const placeOf = (text: string): ReadonlyArray<unknown> => {
  const url = new URL(text)
  return [url.protocol, url.host, url.pathname, namesOf(url.searchParams.keys())]
}

/** Of references only the names: what they stand for may change, and be a secret. */
const templateOf = (text: string): ReadonlyArray<unknown> => {
  const parts = References.urlParts(text)
  return parts === undefined ? placeOf(text) : ["${}", parts.place, namesOf(parts.query)]
}

/** Their order says nothing, nor does it that one is there twice. */
const namesOf = (names: Iterable<string>): ReadonlyArray<string> => [...new Set(names)].sort()
