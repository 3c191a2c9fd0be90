/**
 * SHA-256, at once and on every runtime: Web Crypto answers later only, and `node:crypto` is Node's.
 *
 * Owns: the digest of a text.
 */

/** The first bits behind the point of this root of a prime. The numbers are exact far beyond these 32 bits. */
const fraction = (root: number): number => ((root - Math.floor(root)) * 0x100000000) | 0

const primes: Array<number> = []
for (let n = 2; primes.length < 64; n++) if (primes.every((_) => n % _ !== 0)) primes.push(n)

const constants = Int32Array.from(primes, (_) => fraction(Math.cbrt(_)))
const initial = Int32Array.from(primes.slice(0, 8), (_) => fraction(Math.sqrt(_)))

const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

/** Of the text's UTF-8, in hexadecimal. A lone surrogate counts as U+FFFD. */
export const sha256 = (text: string): string => {
  const bytes = padded(new TextEncoder().encode(text))
  const state = initial.slice()
  const words = new Int32Array(64)
  for (let start = 0; start < bytes.byteLength; start += 64) digest(bytes, start, words, state)
  return Array.from(state, (_) => (_ >>> 0).toString(16).padStart(8, "0")).join("")
}

type Eight = [number, number, number, number, number, number, number, number]

const digest = (bytes: DataView, start: number, words: Int32Array, state: Int32Array): void => {
  for (let i = 0; i < 16; i++) words[i] = bytes.getInt32(start + 4 * i)
  for (let i = 16; i < 64; i++) {
    const [near, far] = [words[i - 15]!, words[i - 2]!]
    const s0 = rotated(near, 7) ^ rotated(near, 18) ^ (near >>> 3)
    const s1 = rotated(far, 17) ^ rotated(far, 19) ^ (far >>> 10)
    words[i] = words[i - 16]! + s0 + words[i - 7]! + s1
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight
  for (let i = 0; i < 64; i++) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const one = (h + s1 + (g ^ (e & (f ^ g))) + constants[i]! + words[i]!) | 0
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const two = (s0 + ((a & b) | (c & (a | b)))) | 0
    h = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  const last = [a, b, c, d, e, f, g, h]
  for (let i = 0; i < 8; i++) state[i] = state[i]! + last[i]!
}

/** To whole blocks of 64 bytes: the text, one bit, zeros, and the number of the text's bits. */
const padded = (text: Uint8Array): DataView => {
  const bytes = new Uint8Array((((text.length + 8) >>> 6) + 1) * 64)
  bytes.set(text)
  bytes[text.length] = 0x80
  const view = new DataView(bytes.buffer)
  view.setUint32(bytes.length - 8, Math.floor(text.length / 0x20000000))
  view.setUint32(bytes.length - 4, text.length << 3)
  return view
}
