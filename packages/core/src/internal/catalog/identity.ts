/**
 * What tells the stored lists of one server from those of another.
 *
 * Owns: which part of a configuration identifies a server, and the hash of it.
 * May not touch: the value of a secret; only its name is looked at.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as McpConfig from "../../McpConfig.js"
import * as Deferred from "../config/deferred.js"
import * as References from "../config/references.js"

/** In hexadecimal; nothing where the server has no identity, or the platform no Web Crypto. */
export const keyOf = (
  config: McpConfig.ServerConfig,
  { directory }: { readonly directory?: string | undefined } = {}
): Effect.Effect<string | undefined> =>
  Effect.suspend(() => {
    const identity = identityOf(config, directory)
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
export const identityOf = (
  config: McpConfig.ServerConfig,
  directory?: string | undefined
): ReadonlyArray<unknown> | undefined => {
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
        isWhole(config, directory) ? null : directory ?? null,
        workspaceOf(config),
        config.inheritEnv === "all" ? "all" : namesOf(config.inheritEnv ?? []),
        namesOf(Object.keys(config.env ?? {}))
      ]
    default:
      return [
        config.name,
        config.transport,
        ...(config.expand === undefined ? placeOf(config.url) : templateOf(config.url)),
        namesOf(Object.keys(config.headers ?? {}).map((_) => _.toLowerCase())),
        config.proxy === undefined ? null : proxyOf(config.proxy),
        config.tls?.verify === false,
        [config.tls?.ca ?? []].flat().map(textOf),
        workspaceOf(config)
      ]
  }
}

/** Whether a process starts in the same directory wherever it is started. */
const isWhole = ({ cwd = "", expand }: McpConfig.StdioConfig, directory: string | undefined): boolean =>
  (directory?.startsWith("/") === true ? /^\// : /^(?:[a-z]:[\\/]|\\\\)/i).test(cwd) ||
  (expand !== undefined && /^\$\{(?:userHome|workspaceFolder)\}/.test(cwd))

/** It is there where a text refers to it. */
const workspaceOf = ({ expand }: McpConfig.ServerConfig): string | null =>
  typeof expand === "object" ? expand.workspaceFolder ?? null : null

const proxyOf = (proxy: Redacted.Redacted<string>): ReadonlyArray<unknown> => {
  const deferred = Deferred.of(proxy)
  if (deferred === undefined) return [new URL(Redacted.value(proxy)).origin]
  return deferred._tag === "Text" ? templateOf(deferred.text) : [textOf(proxy)]
}

/** Of what is looked up, where it is looked up. */
const textOf = (value: Redacted.Redacted<string>): string =>
  Deferred.of(value)?._tag === "Config" ? "Config" : Redacted.value(value)

const placeOf = (text: string): ReadonlyArray<unknown> => {
  const url = new URL(text)
  return [url.protocol, url.host, url.pathname, namesOf(url.searchParams.keys())]
}

/** Of references only the names, and what is taken where they are not set: what they stand for may change, and be a secret. */
const templateOf = (text: string): ReadonlyArray<unknown> => {
  const parts = References.urlParts(text)
  if (parts === undefined) return placeOf(text)
  const defaults = References.parse(text)?.flatMap((_) =>
    typeof _ === "string" || _.otherwise === undefined ? [] : [_.name, _.otherwise]
  )
  return ["${}", parts.place, namesOf(parts.query), defaults ?? text]
}

/** Their order says nothing, nor does it that one is there twice. */
const namesOf = (names: Iterable<string>): ReadonlyArray<string> => [...new Set(names)].sort()
