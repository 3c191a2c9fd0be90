/**
 * Bytes that arrive in pieces.
 *
 * Owns: joining them at linear cost and turning them into text.
 * May not touch: what they mean.
 */

const keepMark = new TextDecoder("utf-8", { ignoreBOM: true })
const dropMark = new TextDecoder()

/** A part of a text: a byte order mark in it is a character. */
export const decodePart = (bytes: Uint8Array): string => keepMark.decode(bytes)

/** A whole text: a byte order mark at its start is none of it. */
export const decodeText = (bytes: Uint8Array): string => dropMark.decode(bytes)

/** The first piece is kept as it came. Only when there are more, they are copied, into a buffer that doubles. */
export class Bytes {
  private bytes: Uint8Array = nothing
  private owned = false
  length = 0

  append(piece: Uint8Array): void {
    if (piece.length === 0) return
    if (this.length === 0 && !this.owned) {
      this.bytes = piece
      this.length = piece.length
      return
    }
    const total = this.length + piece.length
    if (!this.owned || total > this.bytes.length) {
      const grown = new Uint8Array(Math.max(total, 2 * this.length))
      grown.set(this.bytes.subarray(0, this.length))
      this.bytes = grown
      this.owned = true
    }
    this.bytes.set(piece, this.length)
    this.length = total
  }

  /** What has arrived; valid until the next piece. */
  view(): Uint8Array {
    return this.bytes.length === this.length ? this.bytes : this.bytes.subarray(0, this.length)
  }

  clear(): void {
    this.bytes = nothing
    this.owned = false
    this.length = 0
  }
}

const nothing = new Uint8Array(0)
