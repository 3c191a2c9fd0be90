/**
 * A message as a text that can be shown.
 *
 * Owns: that it is bounded in length and in work, whatever the message is, and that it has no secret.
 * May not touch: the message.
 */
import * as Secrets from "../secrets.js"

export interface Rendered {
  readonly text: string
  /** Whether something was left out. */
  readonly cut: boolean
}

const deepest = 32

/** JSON, as far as `max` characters go. Synchronous and total: also for what an application has given to be sent. */
export const render = (value: unknown, secrets: ReadonlyArray<string>, max: number): Rendered => {
  const writer = new Writer(secrets, max)
  try {
    writer.write(value, 0)
  } catch {
    writer.leaveOut()
  }
  return writer.rendered
}

class Writer {
  private text = ""
  private cut = false
  private readonly longest: number

  constructor(private readonly secrets: ReadonlyArray<string>, private readonly max: number) {
    this.longest = secrets.reduce((longest, secret) => Math.max(longest, secret.length), 0)
  }

  get rendered(): Rendered {
    return { text: this.text, cut: this.cut }
  }

  leaveOut(): void {
    if (this.cut) return
    this.cut = true
    this.text += "..."
  }

  /** Whether there is room for more. */
  write(value: unknown, depth: number): boolean {
    if (this.cut) return false
    switch (typeof value) {
      case "string":
        return this.add(this.quoted(value))
      case "object":
        return value === null ? this.add("null") : depth >= deepest ? this.give() : this.writeAll(value, depth)
      case "number":
        return this.add(Number.isFinite(value) ? Secrets.without(String(value), this.secrets) : "null")
      case "boolean":
        return this.add(String(value))
      default:
        return this.add("null")
    }
  }

  private writeAll(value: object, depth: number): boolean {
    if (Array.isArray(value)) {
      this.add("[")
      for (let i = 0; i < value.length; i++) {
        if ((i > 0 && !this.add(",")) || !this.write(value[i], depth + 1)) return false
      }
      return this.add("]")
    }
    this.add("{")
    let first = true
    for (const key in value) {
      const item = (value as Record<string, unknown>)[key]
      if (item === undefined || !Object.hasOwn(value, key)) continue
      if (!this.add(`${first ? "" : ","}${this.quoted(key)}:`) || !this.write(item, depth + 1)) return false
      first = false
    }
    return this.add("}")
  }

  /** A secret that the bound would cut is whole in what is looked at. */
  private quoted(text: string): string {
    const room = this.max - this.text.length + 1
    if (text.length <= room) return JSON.stringify(Secrets.without(text, this.secrets))
    const looked = Secrets.without(text.slice(0, room + this.longest), this.secrets)
    return JSON.stringify(looked.slice(0, room))
  }

  private add(text: string): boolean {
    if (this.cut) return false
    const room = this.max - this.text.length
    if (text.length <= room) {
      this.text += text
      return true
    }
    this.text += text.slice(0, room)
    return this.give()
  }

  private give(): boolean {
    this.leaveOut()
    return false
  }
}
