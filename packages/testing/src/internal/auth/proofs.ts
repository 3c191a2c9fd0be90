/**
 * The proofs of a key that come with requests to `AuthFixture` (RFC 9449).
 *
 * Owns: what is wrong with one, and that none is taken twice.
 * May not touch: tokens, nonces.
 */
import { createHash, createPublicKey, type JsonWebKey, verify } from "node:crypto"

/** A proof as it came. Nothing of it is believed yet. */
export interface Proof {
  readonly header: { readonly [name: string]: unknown }
  readonly claims: { readonly [claim: string]: unknown }
  /** The thumbprint of its key (RFC 7638). */
  readonly thumbprint: string
}

const partOf = (jwt: string, part: number): { readonly [name: string]: unknown } | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(jwt.split(".")[part] ?? "", "base64url").toString("utf8"))
    return typeof value === "object" && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

const keyOf = (header: Proof["header"]): JsonWebKey | undefined => {
  const { jwk } = header
  return typeof jwk === "object" && jwk !== null ? { ...jwk } : undefined
}

export const read = (text: string | undefined): Proof | undefined => {
  const header = partOf(text ?? "", 0)
  const claims = partOf(text ?? "", 1)
  if (header === undefined || claims === undefined) return undefined
  const { crv, kty, x, y } = keyOf(header) ?? {}
  return { header, claims, thumbprint: hash(JSON.stringify({ crv, kty, x, y })) }
}

const hash = (text: string): string => createHash("sha256").update(text).digest("base64url")

const isSigned = (text: string, key: JsonWebKey): boolean => {
  try {
    const [signed, signature] = [text.slice(0, text.lastIndexOf(".")), text.split(".")[2] ?? ""]
    return verify(
      "sha256",
      Buffer.from(signed),
      { key: createPublicKey({ key, format: "jwk" }), dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url")
    )
  } catch {
    return false
  }
}

export interface Expected {
  readonly method: string
  readonly url: string
  /** The access token that came with it. */
  readonly token?: string | undefined
}

export class Proofs {
  private readonly seen = new Set<unknown>()

  /** Why the proof is not believed, or `undefined`. */
  problem(text: string, { method, token, url }: Expected): string | undefined {
    const proof = read(text)
    const key = proof === undefined ? undefined : keyOf(proof.header)
    if (proof === undefined || key === undefined || text.includes(",")) return "it is no proof"
    const { claims, header } = proof
    if (header.typ !== "dpop+jwt") return "typ must be dpop+jwt"
    if (header.alg !== "ES256" || key.d !== undefined) return "only public keys for ES256 are taken"
    if (!isSigned(text, key)) return "the signature is wrong"
    if (claims.htm !== method) return "htm is another method"
    if (claims.htu !== url) return "htu is another place"
    if (typeof claims.iat !== "number" || Math.abs(claims.iat * 1000 - Date.now()) > 60_000) return "iat is not now"
    if (claims.ath !== (token === undefined ? undefined : hash(token))) return "ath is not that of the token"
    if (typeof claims.jti !== "string" || this.seen.has(claims.jti)) return "jti must be new"
    this.seen.add(claims.jti)
    return undefined
  }
}
