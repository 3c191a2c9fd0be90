/**
 * A set for what comes and goes all the time, few of it at once.
 *
 * Owns: where each is. To find one takes a look at all that are there: right for tens and hundreds.
 * May not touch: what it holds.
 *
 * Not a `Set`: where its members come one after the other, each makes new tables in it, and each table holds the next one. With
 * the first that V8 takes for long-lived all later ones are, and what they hold.
 */

/** So many slots are kept when they are all empty. */
const kept = 64

export class Slots<A extends object> {
  private readonly slots: Array<A | undefined> = []
  private count = 0

  get size(): number {
    return this.count
  }

  /** Whoever is there already is not added again by its owner. */
  add(item: A): void {
    const free = this.count === this.slots.length ? -1 : this.slots.indexOf(undefined)
    if (free === -1) this.slots.push(item)
    else this.slots[free] = item
    this.count++
  }

  /** Whether it was there. */
  delete(item: A): boolean {
    const at = this.slots.indexOf(item)
    if (at === -1) return false
    this.slots[at] = undefined
    this.count--
    if (this.count === 0 && this.slots.length > kept) this.slots.length = 0
    return true
  }

  /** All of them, in no order, as they are now. */
  all(): Array<A> {
    return this.count === 0 ? [] : this.slots.filter((item) => item !== undefined)
  }
}
