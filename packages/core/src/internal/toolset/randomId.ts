/**
 * Ids that nobody can guess.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

const size = 16

/** 128 random bits, in hexadecimal. Where the platform has no cryptography, they are only unlikely to come again. */
export const make: Effect.Effect<string> = Effect.suspend(() =>
  typeof crypto === "object" && typeof crypto.getRandomValues === "function"
    ? Effect.sync(() => hex(crypto.getRandomValues(new Uint8Array(size))))
    : Effect.map(Effect.replicateEffect(Random.nextIntBetween(0, 256), size), hex)
)

const hex = (bytes: Iterable<number>): string => Array.from(bytes, (_) => _.toString(16).padStart(2, "0")).join("")
