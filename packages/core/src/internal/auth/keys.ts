/**
 * Who may have which tokens.
 *
 * Owns: under which key the store has those of a configuration, by the place of the server, who we are there, and how safely
 * it is reached, but not by its name; and which configurations have one authorization in this process.
 * May not touch: the store.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import * as Subject from "../config/subject.js"
import * as Applications from "./application.js"
import * as Reasons from "./reasons.js"
import * as Urls from "./urls.js"

export interface Keys {
  readonly store: string
  /** Differs also where what is stored is the same, and not all may have it. */
  readonly process: string
}

export const of = (config: McpConfig.AnyHttpConfig): Effect.Effect<Keys, McpError.McpError> =>
  Effect.gen(function*() {
    const { auth, name } = config
    const store = yield* digestOf(name, identityOf(config))
    const issuer = typeof auth === "object" ? auth.issuer : undefined
    const credentials = Applications.credentialsOf(auth)
    const shown = credentials && Redacted.value(credentials)
    return { store, process: yield* digestOf(name, [store, name, issuer, shown]) }
  })

/** Whoever somebody else speaks for is another one for each that they speak of: nobody gets the tokens of another user. */
const identityOf = (config: McpConfig.AnyHttpConfig): ReadonlyArray<unknown> => {
  const { auth } = config
  const type = typeof auth === "object" ? auth.type : "oauth"
  const clientId = typeof auth === "object" ? auth.clientId ?? null : null
  const shown = Applications.shownOf(auth)
  const subject = shown === undefined ? [] : [Subject.of(Redacted.value(shown))]
  return ["mcp-auth", Urls.ofServer(config.url).href, type, clientId, ...subject, ...trustOf(config)]
}

/**
 * Through whom it is reached, and who may vouch for it, where that is not as usual: tokens never go out over a way that is
 * less safe than the one on which they came in. Nothing where it is as usual, so that what is stored is found.
 */
const trustOf = (config: McpConfig.AnyHttpConfig): ReadonlyArray<unknown> => {
  const { ca, cert, verify } = config.tls ?? {}
  const authorities = ca === undefined ? [] : Redacted.isRedacted(ca) ? [ca] : ca
  const trust = {
    ...(verify === false && { verify }),
    ...(authorities.length > 0 && { ca: authorities.map(textOf) }),
    ...(cert !== undefined && { cert: textOf(cert) }),
    ...(config.proxy !== undefined && { proxy: Urls.proxyOf(config)?.origin ?? null })
  }
  return Object.keys(trust).length === 0 ? [] : [trust]
}

const textOf = (text: Redacted.Redacted<string>): string => Redacted.value(text).trim()

const digestOf = (server: string, identity: ReadonlyArray<unknown>): Effect.Effect<string, McpError.McpError> =>
  Effect.map(
    Effect.tryPromise({
      try: () => crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(identity))),
      catch: () => Reasons.misconfigured(server, "auth", "can't be used: this platform has no Web Crypto")
    }),
    (digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
  )
