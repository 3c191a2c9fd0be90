/**
 * The requests that wait for their answer or their turn, by id.
 *
 * Owns: where each is found. Ids are counted up, so that most have a place of their own; who finds it taken goes to a map, and
 * so does an id that is a text.
 * May not touch: what becomes of a request.
 *
 * Not only a map: where requests come one after the other, each makes new tables in it, and each table holds the next one. With
 * the first that V8 takes for long-lived all later ones are: 150 bytes per request.
 */
import type * as McpProtocol from "../McpProtocol.js"

/** A power of two. */
const placeCount = 64

export class InFlight<A extends { readonly id: McpProtocol.RequestId }> {
  private readonly places: Array<A | undefined> = Array.from({ length: placeCount }, () => undefined)
  private readonly others = new Map<unknown, A>()
  private count = 0

  get size(): number {
    return this.count
  }

  get(id: unknown): A | undefined {
    const inPlace = typeof id === "number" ? this.places[placeOf(id)] : undefined
    return inPlace?.id === id ? inPlace : this.others.get(id)
  }

  add(request: A): void {
    if (typeof request.id === "number" && this.places[placeOf(request.id)] === undefined) {
      this.places[placeOf(request.id)] = request
    } else this.others.set(request.id, request)
    this.count++
  }

  /** Whether it was there. */
  delete(request: A): boolean {
    const { id } = request
    if (typeof id === "number" && this.places[placeOf(id)] === request) this.places[placeOf(id)] = undefined
    else if (!this.others.delete(id)) return false
    this.count--
    return true
  }

  /** All of them, in no order. */
  all(): Array<A> {
    if (this.count === 0) return []
    return [...this.places.filter((request) => request !== undefined), ...this.others.values()]
  }

  clear(): void {
    this.places.fill(undefined)
    this.others.clear()
    this.count = 0
  }
}

const placeOf = (id: number): number => id & (placeCount - 1)
