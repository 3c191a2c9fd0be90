/**
 * What was compiled lately, by the text of the schema.
 *
 * Owns: how much is kept. By the whole text rather than a hash of it: a server that finds two texts with one hash could
 * have its schema take the place of another's.
 */
import type { Compiled } from "./compiler.js"

export class Cache {
  private readonly entries = new Map<string, Compiled>()
  private size = 0

  constructor(private readonly maxEntries: number, private readonly maxSize: number) {}

  get(text: string, make: () => Compiled): Compiled {
    const known = this.entries.get(text)
    if (known !== undefined) {
      this.entries.delete(text)
      this.entries.set(text, known)
      return known
    }
    const made = make()
    this.entries.set(text, made)
    this.size += sizeOf(text, made)
    for (const [oldest, compiled] of this.entries) {
      if (this.entries.size <= this.maxEntries && this.size <= this.maxSize) break
      this.entries.delete(oldest)
      this.size -= sizeOf(oldest, compiled)
    }
    return made
  }
}

const sizeOf = (text: string, compiled: Compiled): number => 2 * text.length + compiled.size
