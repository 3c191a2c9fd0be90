/**
 * A client that shows who it is by a signature (RFC 7523, `private_key_jwt`).
 *
 * Owns: the assertion. The key leaves this module in no form.
 * May not touch: requests.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as McpError from "../../McpError.js"
import { base64url, random } from "./pkce.js"
import * as Reasons from "./reasons.js"

export const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

const algorithms = {
  ES256: { key: { name: "ECDSA", namedCurve: "P-256" }, sign: { name: "ECDSA", hash: "SHA-256" } },
  RS256: {
    key: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    sign: { name: "RSASSA-PKCS1-v1_5" }
  }
} as const

const lifetimeSeconds = 120

export const sign = (options: {
  readonly server: string
  readonly clientId: string
  readonly audience: string
  readonly privateKey: Redacted.Redacted<string>
  readonly algorithm: keyof typeof algorithms
}): Effect.Effect<string, McpError.McpError> =>
  Effect.gen(function*() {
    const { algorithm, audience, clientId, privateKey, server } = options
    const { key, sign } = algorithms[algorithm]
    const der = derOf(Redacted.value(privateKey))
    const bad = () =>
      Reasons.misconfigured(
        server,
        "auth.privateKey",
        `is not a private key for ${algorithm} in PEM (PKCS #8, "-----BEGIN PRIVATE KEY-----")`
      )
    if (der === undefined) return yield* Effect.fail(bad())
    const imported = yield* Effect.tryPromise({
      try: () => crypto.subtle.importKey("pkcs8", der, key, false, ["sign"]),
      catch: bad
    })
    const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const claims = {
      iss: clientId,
      sub: clientId,
      aud: audience,
      jti: yield* random,
      iat: seconds,
      exp: seconds + lifetimeSeconds
    }
    const content = `${part({ alg: algorithm, typ: "JWT" })}.${part(claims)}`
    const signature = yield* Effect.tryPromise({
      try: () => crypto.subtle.sign(sign, imported, new TextEncoder().encode(content)),
      catch: bad
    })
    return `${content}.${base64url(new Uint8Array(signature))}`
  })

const part = (value: object): string => base64url(new TextEncoder().encode(JSON.stringify(value)))

const derOf = (pem: string): Uint8Array<ArrayBuffer> | undefined => {
  const found = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/.exec(pem)
  if (found === null) return undefined
  try {
    return Uint8Array.from(atob(found[1]!.replace(/\s+/g, "")), (_) => _.charCodeAt(0))
  } catch {
    return undefined
  }
}
