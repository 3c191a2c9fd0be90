/**
 * SHA-1, at once and on every runtime: Web Crypto answers later only, and `node:crypto` is Node's.
 *
 * Owns: the digest of a text.
 * May not touch: anything that must be safe from forgery. Two texts with one digest can be made on purpose; whoever uses
 * this for names must stay right when that happens. It is SHA-1, because names must equal those of other systems.
 */

const encoder = new TextEncoder()

/** The bytes of a short text, and the words of one block. Shared, because nothing is awaited while they are in use. */
const scratch = new Uint8Array(1024)
const words = new Int32Array(80)

const rotated = (word: number, by: number): number => (word << by) | (word >>> (32 - by))

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0")

/** Of the text's UTF-8, in hexadecimal. A lone surrogate counts as U+FFFD. */
export const sha1 = (text: string): string => {
  // A code unit is at most three bytes; what follows the text at most 72.
  const room = text.length * 3 + 72
  const bytes = room <= scratch.length ? scratch : new Uint8Array(room)
  const size = pad(bytes, encoder.encodeInto(text, bytes).written)
  let h0 = 0x67452301
  let h1 = 0xefcdab89 | 0
  let h2 = 0x98badcfe | 0
  let h3 = 0x10325476
  let h4 = 0xc3d2e1f0 | 0
  for (let start = 0; start < size; start += 64) {
    for (let i = 0; i < 16; i++) {
      const at = start + 4 * i
      words[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
    }
    for (let i = 16; i < 80; i++) {
      words[i] = rotated(words[i - 3]! ^ words[i - 8]! ^ words[i - 14]! ^ words[i - 16]!, 1)
    }
    let a = h0
    let b = h1
    let c = h2
    let d = h3
    let e = h4
    for (let i = 0; i < 80; i++) {
      const mixed = i < 20
        ? (d ^ (b & (c ^ d))) + 0x5a827999
        : i < 40
        ? (b ^ c ^ d) + 0x6ed9eba1
        : i < 60
        ? ((b & c) | (d & (b | c))) - 0x70e44324
        : (b ^ c ^ d) - 0x359d3e2a
      const next = (((rotated(a, 5) + mixed) | 0) + ((e + words[i]!) | 0)) | 0
      e = d
      d = c
      c = rotated(b, 30)
      b = a
      a = next
    }
    h0 = (h0 + a) | 0
    h1 = (h1 + b) | 0
    h2 = (h2 + c) | 0
    h3 = (h3 + d) | 0
    h4 = (h4 + e) | 0
  }
  return hex(h0) + hex(h1) + hex(h2) + hex(h3) + hex(h4)
}

/** To whole blocks of 64 bytes: the text, one bit, zeros, and the number of the text's bits. */
const pad = (bytes: Uint8Array, length: number): number => {
  const size = (((length + 8) >>> 6) + 1) * 64
  bytes.fill(0, length, size)
  bytes[length] = 0x80
  for (let at = size - 1, bits = length * 8; bits > 0; at--, bits = Math.floor(bits / 256)) bytes[at] = bits % 256
  return size
}
