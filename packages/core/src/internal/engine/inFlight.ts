/**
 * The requests that wait for their answer or their turn, by id.
 *
 * Owns: where each is found. Ids are counted up, so that most have a place of their own; who finds it taken goes to a map.
 * May not touch: what becomes of a request.
 *
 * Not only a map: where requests come one after the other, each makes new tables in it, and each table holds the next one. With
 * the first that V8 takes for long-lived all later ones are: 150 bytes per request.
 */
import type { Pending } from "./pending.js"

/** A power of two. */
const placeCount = 64

export class InFlight {
  private readonly places: Array<Pending | undefined> = Array.from({ length: placeCount }, () => undefined)
  private readonly others = new Map<number, Pending>()
  private count = 0

  get size(): number {
    return this.count
  }

  get(id: unknown): Pending | undefined {
    if (typeof id !== "number") return undefined
    const pending = this.places[id & (placeCount - 1)]
    return pending?.id === id ? pending : this.others.get(id)
  }

  add(pending: Pending): void {
    const place = pending.id & (placeCount - 1)
    if (this.places[place] === undefined) this.places[place] = pending
    else this.others.set(pending.id, pending)
    this.count++
  }

  /** Whether it was there. */
  delete(pending: Pending): boolean {
    const place = pending.id & (placeCount - 1)
    if (this.places[place] === pending) this.places[place] = undefined
    else if (!this.others.delete(pending.id)) return false
    this.count--
    return true
  }

  /** All of them, in the order in which they came. */
  all(): ReadonlyArray<Pending> {
    if (this.count === 0) return []
    const inPlaces = this.places.filter((pending) => pending !== undefined)
    return [...inPlaces, ...this.others.values()].sort((a, b) => a.id - b.id)
  }

  clear(): void {
    this.places.fill(undefined)
    this.others.clear()
    this.count = 0
  }
}
