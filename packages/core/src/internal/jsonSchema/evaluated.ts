/**
 * Which properties and items of one value some part of a schema has looked at, for `unevaluatedProperties` and
 * `unevaluatedItems`.
 *
 * Owns: that, and whether it is known for certain.
 */
import { Unknown, Valid, type Verdict } from "./verdict.js"

export class Evaluated {
  /** Whether there are ways of which it is unknown if they count: what is not in here may be evaluated all the same. */
  isUncertain = false
  private properties: Set<string> | "all" = new Set()
  private items: Set<number> | "all" = new Set()
  private prefix = 0

  addProperty(key: string): void {
    if (this.properties !== "all") this.properties.add(key)
  }

  addAllProperties(): void {
    this.properties = "all"
  }

  hasProperty(key: string): boolean {
    return this.properties === "all" || this.properties.has(key)
  }

  addItem(index: number): void {
    if (this.items !== "all") this.items.add(index)
  }

  /** The items before this one. */
  addPrefix(length: number): void {
    this.prefix = Math.max(this.prefix, length)
  }

  addAllItems(): void {
    this.items = "all"
  }

  hasItem(index: number): boolean {
    return index < this.prefix || this.items === "all" || this.items.has(index)
  }

  /** Adds what a way for the same value has evaluated. Answers how much work that was. */
  add(other: Evaluated, verdict: Verdict): number {
    if (verdict === Unknown) this.isUncertain = true
    if (verdict !== Valid) return 0
    this.isUncertain ||= other.isUncertain
    this.prefix = Math.max(this.prefix, other.prefix)
    if (other.items === "all") this.items = "all"
    else for (const item of other.items) this.addItem(item)
    if (other.properties === "all") this.properties = "all"
    else for (const key of other.properties) this.addProperty(key)
    return 2 * (sizeOf(other.items) + sizeOf(other.properties))
  }
}

const sizeOf = (set: Set<unknown> | "all"): number => set === "all" ? 0 : set.size
