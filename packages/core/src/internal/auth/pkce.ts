/**
 * Values that nobody can guess, and the proof that a code is redeemed by who asked for it (RFC 7636).
 */
import * as Effect from "effect/Effect"

export const base64url = (bytes: Uint8Array): string => {
  let text = ""
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
}

/** 256 bits. */
export const random: Effect.Effect<string> = Effect.sync(() => base64url(crypto.getRandomValues(new Uint8Array(32))))

export const challengeOf = (verifier: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))),
    (digest) => base64url(new Uint8Array(digest))
  )
