/**
 * Digests that only this process can make, and only this process can compare.
 *
 * Owns: the key, which is made once and goes nowhere. Without it nobody finds out by trying what a digest was made of, however
 * easy that is to guess.
 */
import { sha256 } from "./sha256.js"

interface Key {
  /** Tells the digests of this process from those of others. */
  readonly id: string
  readonly secret: string
}

let key: Key | undefined = undefined

/** Of the text; nothing where the platform has no cryptography to make a key with. */
export const seal = (text: string): string | undefined => {
  if (typeof crypto !== "object" || typeof crypto.getRandomValues !== "function") return undefined
  key ??= { id: random(8), secret: random(32) }
  return `${key.id}:${sha256(key.secret + sha256(key.secret + text))}`
}

/** Whether it was made by this process, so that it can be compared with another one. */
export const isOurs = (sealed: string): boolean => key !== undefined && sealed.startsWith(`${key.id}:`)

const random = (bytes: number): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (_) => _.toString(16).padStart(2, "0")).join("")
