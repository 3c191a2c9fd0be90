/**
 * Tokens that are of use only to who has a key (RFC 9449).
 *
 * Owns: that key, and its proofs, each for one request. The key leaves this module in the record of tokens alone.
 * May not touch: requests, and whether such tokens are wanted.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { base64url, challengeOf, random } from "./pkce.js"

/** A key for ES256, as a JWK has it. */
export interface Key {
  readonly x: string
  readonly y: string
  readonly d: Redacted.Redacted<string>
}

/** Whether tokens are to be bound to a key. `"offered"`: if the authorization server does so, and else not. */
export type Binding = "none" | "offered" | "required"

export const algorithm = "ES256"

const curve = { name: "ECDSA", namedCurve: "P-256" } as const
const signing = { name: "ECDSA", hash: "SHA-256" } as const
const coordinate = /^[A-Za-z0-9_-]{43}$/

const fieldOf = (u: unknown): string | undefined => typeof u === "string" && coordinate.test(u) ? u : undefined

/** A key as it was kept; nothing where it is none. */
export const keyOf = (u: unknown): Key | undefined => {
  if (typeof u !== "object" || u === null) return undefined
  const { d, x, y } = u as { readonly [K in keyof Key]?: unknown }
  const [ofX, ofY, ofD] = [fieldOf(x), fieldOf(y), fieldOf(d)]
  return ofX === undefined || ofY === undefined || ofD === undefined
    ? undefined
    : { x: ofX, y: ofY, d: Redacted.make(ofD) }
}

const asked = <A>(work: () => Promise<A>): Effect.Effect<A, "NoCrypto"> =>
  Effect.tryPromise({ try: work, catch: () => "NoCrypto" as const })

/** A new one. Fails where the platform has no Web Crypto. */
export const generate: Effect.Effect<Key, "NoCrypto"> = Effect.suspend(() =>
  asked(() => crypto.subtle.generateKey(curve, true, ["sign", "verify"]))
).pipe(
  Effect.flatMap(({ privateKey }) => asked(() => crypto.subtle.exportKey("jwk", privateKey))),
  Effect.flatMap((jwk) => {
    const key = keyOf(jwk)
    return key === undefined ? Effect.fail("NoCrypto" as const) : Effect.succeed(key)
  })
)

const imported = new WeakMap<Key, CryptoKey>()

const privateKey = (key: Key): Effect.Effect<CryptoKey, "NoCrypto"> =>
  Effect.suspend(() => {
    const known = imported.get(key)
    if (known !== undefined) return Effect.succeed(known)
    const { d, x, y } = key
    const jwk = { kty: "EC", crv: curve.namedCurve, x, y, d: Redacted.value(d) }
    return Effect.tap(
      asked(() => crypto.subtle.importKey("jwk", jwk, curve, false, ["sign"])),
      (found) => Effect.sync(() => imported.set(key, found))
    )
  })

const part = (value: object): string => base64url(new TextEncoder().encode(JSON.stringify(value)))

/** What one request is shown to come from the owner of the key with. */
export const prove = (
  key: Key,
  request: {
    readonly method: string
    readonly url: string
    /** The access token that goes with it. */
    readonly token?: string | undefined
    readonly nonce?: string | undefined
  }
): Effect.Effect<string, "NoCrypto"> =>
  Effect.gen(function*() {
    const { method, nonce, token, url } = request
    const { origin, pathname } = new URL(url)
    const claims = {
      jti: yield* random,
      htm: method,
      htu: `${origin}${pathname}`,
      iat: Math.floor((yield* Clock.currentTimeMillis) / 1000),
      ...(token === undefined ? undefined : { ath: yield* challengeOf(token) }),
      ...(nonce === undefined ? undefined : { nonce })
    }
    const jwk = { kty: "EC", crv: curve.namedCurve, x: key.x, y: key.y }
    const content = `${part({ typ: "dpop+jwt", alg: algorithm, jwk })}.${part(claims)}`
    const signer = yield* privateKey(key)
    const signature = yield* asked(() => crypto.subtle.sign(signing, signer, new TextEncoder().encode(content)))
    return `${content}.${base64url(new Uint8Array(signature))}`
  })

const nonceText = /^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$/
const mostOrigins = 8

/** What servers want to see in the next proof, each of them its own. */
export class Nonces {
  private readonly newest = new Map<string, string>()

  of(origin: string): string | undefined {
    return this.newest.get(origin)
  }

  /** Of the header `dpop-nonce` of any answer. Gives it, if it is one. */
  learn(origin: string, header: string | undefined): string | undefined {
    if (header === undefined || !nonceText.test(header)) return undefined
    this.newest.delete(origin)
    this.newest.set(origin, header)
    if (this.newest.size > mostOrigins) this.newest.delete(this.newest.keys().next().value!)
    return header
  }
}
