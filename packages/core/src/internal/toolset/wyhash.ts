/**
 * Wyhash (its final version 4), which is what `Bun.hash` computes, and so what oh-my-pi puts into long names.
 *
 * Owns: the hash of a text.
 * May not touch: anything that must be safe from forgery.
 */

const encoder = new TextEncoder()

const all = (1n << 64n) - 1n

const secret = [0xa0761d6478bd642fn, 0xe7037ed1a0b428dbn, 0x8ebc6af09c88c6e3n, 0x589965cc75374cc3n] as const

const folded = (a: bigint, b: bigint): bigint => {
  const product = a * b
  return (product & all) ^ (product >> 64n)
}

/** Of the text's UTF-8. */
export const wyhash = (text: string, seed = 0n): bigint => {
  const bytes = encoder.encode(text)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const four = (at: number): bigint => BigInt(view.getUint32(at, true))
  const eight = (at: number): bigint => view.getBigUint64(at, true)
  const { length } = bytes
  let [a, b] = [0n, 0n]
  let state = seed ^ folded(seed ^ secret[0], secret[1])
  if (length > 16) {
    let at = 0
    if (length >= 48) {
      let [second, third] = [state, state]
      for (; at + 48 < length; at += 48) {
        state = folded(eight(at) ^ secret[1], eight(at + 8) ^ state)
        second = folded(eight(at + 16) ^ secret[2], eight(at + 24) ^ second)
        third = folded(eight(at + 32) ^ secret[3], eight(at + 40) ^ third)
      }
      state ^= second ^ third
    }
    for (; at + 16 < length; at += 16) state = folded(eight(at) ^ secret[1], eight(at + 8) ^ state)
    a = eight(length - 16)
    b = eight(length - 8)
  } else if (length >= 4) {
    const quarter = (length >> 3) << 2
    a = (four(0) << 32n) | four(quarter)
    b = (four(length - 4) << 32n) | four(length - 4 - quarter)
  } else if (length > 0) {
    a = BigInt((bytes[0]! << 16) | (bytes[length >> 1]! << 8) | bytes[length - 1]!)
  }
  const product = (a ^ secret[1]) * (b ^ state)
  return folded((product & all) ^ secret[0] ^ BigInt(length), (product >> 64n) ^ secret[1])
}
