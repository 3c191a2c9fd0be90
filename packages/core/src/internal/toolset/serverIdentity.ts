/**
 * Who a server is to a person who approves a call of it: not only its name, which may be that of another program tomorrow.
 *
 * Owns: which part of a configuration says so, and two digests of it.
 *
 * | digest | of | holds |
 * |---|---|---|
 * | `fingerprint` | what tells its stored lists (`catalog/identity.ts`) and its account; of what may be a secret, where it is found | everywhere |
 * | `seal` | the same with all values, secrets too | in the process that has made it |
 *
 * Pending approvals are stored and shown, and a secret may be easy to guess: so what is written out is part of the seal only.
 * Neither is about how a server is used: its deadlines and limits, whether it is enabled or trusted.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as McpConfig from "../../McpConfig.js"
import * as CatalogIdentity from "../catalog/identity.js"
import * as Deferred from "../config/deferred.js"
import * as References from "../config/references.js"
import { argumentsWithoutSecrets } from "../config/writtenSecrets.js"
import * as Secrets from "../secrets.js"
import { canonical } from "./canonical.js"
import { seal } from "./seal.js"
import { sha256 } from "./sha256.js"

export interface ServerIdentity {
  readonly fingerprint: string
  /** Nothing where the platform has no cryptography. */
  readonly seal: string | undefined
}

const known = new WeakMap<McpConfig.ServerConfig, ServerIdentity>()

/** Nothing where it can't be told: a connection that is not of our making may have no configuration, or none that was decoded. */
export const of = (config: McpConfig.ServerConfig): ServerIdentity | undefined => {
  const before = known.get(config)
  if (before !== undefined) return before
  try {
    const identity = make(config)
    known.set(config, identity)
    return identity
  } catch {
    return undefined
  }
}

const make = (config: McpConfig.ServerConfig): ServerIdentity => ({
  fingerprint: sha256(canonical(withoutSecrets(config, shownOf(config)))),
  seal: seal(canonical(plain(whoIn(config), Redacted.value)))
})

// -------------------------------------------------------------------------------------------------
// For everybody
// -------------------------------------------------------------------------------------------------

const shownOf = (config: McpConfig.ServerConfig): unknown => {
  switch (config.transport) {
    case "inMemory":
      return [config.name, config.transport]
    case "stdio": {
      const { args = [], env, expand } = config
      return {
        server: CatalogIdentity.identityOf({ ...config, args: argumentsWithoutSecrets(args, expand !== undefined) }),
        expand,
        env: plain(env ?? {}, placeOf)
      }
    }
    default: {
      const { auth, expand, headers, tls, url } = config
      return {
        server: CatalogIdentity.identityOf(config),
        expand,
        url: expand === undefined ? undefined : References.namesIn(url),
        headers: plain(lowerCased(headers), placeOf),
        tls: plain({ cert: tls?.cert, key: tls?.key }, placeOf),
        auth: plain(accountIn(auth), placeOf)
      }
    }
  }
}

/** Where a value is found that may be a secret; nothing of one that is written out. */
const placeOf = (value: Redacted.Redacted<string>): unknown => {
  const deferred = Deferred.of(value)
  switch (deferred?._tag) {
    case undefined:
      return "written"
    case "Config":
      return "Config"
    case "Reference":
      return Deferred.kindOf(deferred.reference)
    case "Text":
      return References.namesIn(deferred.text)
  }
}

/** What the configuration itself calls a secret may stand in any text. */
const withoutSecrets = ({ secrets = [] }: McpConfig.ServerConfig, shown: unknown): unknown => {
  const written = secrets.map(Redacted.value).filter((_) => _ !== "")
  return Secrets.withoutInValue(shown, [...written, ...Secrets.spellingsOf(written)])
}

/** In any spelling a header is the same. */
const lowerCased = <A>(headers: { readonly [name: string]: A } = {}): { readonly [name: string]: A } =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

// -------------------------------------------------------------------------------------------------
// For this process
// -------------------------------------------------------------------------------------------------

/** How a server is used, and how it is shown. A new field of configurations is a part of the identity until it is named here. */
const ofUse: ReadonlySet<string> = new Set([
  "allowTokensOverHttp",
  "concurrency",
  "enabled",
  "keepAlive",
  "lifetime",
  "limits",
  "logLevel",
  "maxConnections",
  "recovery",
  "secrets",
  "shutdown",
  "subscriptions",
  "timeouts",
  "trusted"
])

/** How tokens are asked for, and not whose they are. */
const ofTokens: ReadonlySet<string> = new Set(["algorithm", "dpop", "redirectPort", "redirectUri", "scopes"])

const whoIn = (config: McpConfig.ServerConfig): object =>
  withoutEmpty({
    ...without(config, ofUse),
    ...("headers" in config && { headers: lowerCased(config.headers) }),
    ...("auth" in config && { auth: accountIn(config.auth) })
  })

/** What is empty might as well not be there. */
const withoutEmpty = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)))

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Redacted.isRedacted(value) && !Effect.isEffect(value) &&
  Object.keys(value).length === 0

const accountIn = (auth: McpConfig.AnyHttpConfig["auth"]): unknown =>
  typeof auth === "object" ? without(auth, ofTokens) : auth

const without = (fields: object, names: ReadonlySet<string>): object =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)))

/** As JSON, with this in the place of what may be a secret. */
const plain = (value: unknown, ofSecret: (secret: Redacted.Redacted<string>) => unknown): unknown => {
  if (Redacted.isRedacted(value)) return ofSecret(value as Redacted.Redacted<string>)
  if (typeof value === "function" || Effect.isEffect(value)) return numberOf(value)
  if (Array.isArray(value)) return value.map((_) => plain(_, ofSecret))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, _]) => [name, plain(_, ofSecret)]))
}

const numbers = new WeakMap<object, number>()
let last = 0

/** What can't be written is itself and nothing else. */
const numberOf = (value: object): number => {
  const number = numbers.get(value) ?? ++last
  numbers.set(value, number)
  return number
}
