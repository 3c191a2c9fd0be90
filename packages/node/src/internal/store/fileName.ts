/**
 * Names of files for entries.
 *
 * Owns: that each key has a name of its own, on file systems that ignore case too, which is short, is not special
 * anywhere, and can't lead out of the directory.
 */
import { createHash, randomUUID } from "node:crypto"

/** Much less than the 255 bytes that file systems take, and the longest key of ours is not half of it. */
const maxEncoded = 180

export const entryName = (key: string): string => {
  const encoded = encode(key)
  return encoded.length <= maxEncoded
    ? `kv-${encoded}.entry`
    : `kh-${createHash("sha256").update(encoded).digest("hex")}.entry`
}

export const isEntryName = (name: string): boolean => /^k[vh]-[a-z0-9._%-]*\.entry$/.test(name)

/** Every other character as its UTF-16 code: also one that is half of a pair has its own. */
const encode = (key: string): string =>
  key.replace(/[^a-z0-9._-]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

export const temporaryName = (): string => `tmp-${process.pid}-${randomUUID()}`

export const isTemporaryName = (name: string): boolean => /^tmp-\d+-[0-9a-f-]{36}$/.test(name)
