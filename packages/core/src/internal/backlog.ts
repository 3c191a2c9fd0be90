/**
 * What waits for a slow reader.
 *
 * Owns: its order and its bounds, in number and in size: the oldest make room. The newest is kept however large it is.
 * May not touch: who reads it.
 */

export interface Bounds<A> {
  readonly count: number
  /** Of all that waits together. */
  readonly size: number
  /** One that is larger than the bound need not be measured to its end. Total. */
  readonly sizeOf: (value: A) => number
}

/** An array would move all others each time that the oldest leaves. */
interface Entry<A> {
  readonly value: A
  readonly size: number
  next: Entry<A> | undefined
}

export class Backlog<A> {
  private oldest: Entry<A> | undefined = undefined
  private newest: Entry<A> | undefined = undefined
  private count = 0
  private size = 0

  constructor(private readonly bounds: Bounds<A>) {}

  get isEmpty(): boolean {
    return this.count === 0
  }

  /** How many have lost their place to it. */
  add(value: A): number {
    const size = this.bounds.sizeOf(value)
    const lost = this.makeRoom(size)
    const entry: Entry<A> = { value, size, next: undefined }
    if (this.newest === undefined) this.oldest = entry
    else this.newest.next = entry
    this.newest = entry
    this.count++
    this.size += size
    return lost
  }

  /** The oldest. */
  take(): A | undefined {
    const entry = this.oldest
    if (entry === undefined) return undefined
    this.oldest = entry.next
    if (this.oldest === undefined) this.newest = undefined
    this.count--
    this.size -= entry.size
    return entry.value
  }

  /** The oldest first. */
  takeAll(): Array<A> {
    const all: Array<A> = []
    for (let entry = this.oldest; entry !== undefined; entry = entry.next) all.push(entry.value)
    this.clear()
    return all
  }

  clear(): void {
    this.oldest = undefined
    this.newest = undefined
    this.count = 0
    this.size = 0
  }

  private makeRoom(size: number): number {
    const { count, size: most } = this.bounds
    let lost = 0
    for (; this.count > 0 && (this.count >= count || this.size + size > most); lost++) this.take()
    return lost
  }
}
