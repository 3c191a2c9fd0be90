/**
 * A message as a text that can be shown.
 *
 * Owns: that it is bounded in length and in work, whatever the message is, and that it has no secret.
 * May not touch: the message.
 */
import * as Secrets from "../secrets.js"

interface Rendered {
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

  constructor(private readonly secrets: ReadonlyArray<string>, private readonly max: number) {}

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
        return this.writeText(value)
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
      if (!first) this.add(",")
      if (!this.writeText(key) || !this.add(":") || !this.write(item, depth + 1)) return false
      first = false
    }
    return this.add("}")
  }

  /** Of a long text no more is looked at than may show. */
  private writeText(text: string): boolean {
    const room = this.max - this.text.length
    if (text.length <= room) return this.add(JSON.stringify(Secrets.without(text, this.secrets)))
    const shown = Secrets.beginningOf(text, this.secrets, room)
    return this.add(JSON.stringify(shown).slice(0, -1)) && this.give()
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
