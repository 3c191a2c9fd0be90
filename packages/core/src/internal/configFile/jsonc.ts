/**
 * JSON as people write it by hand: with comments, trailing commas and a byte order mark.
 *
 * Owns: what such a text means, where its parts are, and where it is broken.
 * May not touch: what the values are for. No problem shows any of the text; it may hold a secret.
 *
 * One pass, without exceptions: at the first thing that is wrong it jumps to the end, and whoever waits there returns. Texts
 * and numbers are left to `JSON.parse`, so that they mean what they mean in JSON.
 */

/** How deeply values may be nested. */
const maxDepth = 64

export interface Broken {
  readonly offset: number
  readonly problem: string
}

export interface Duplicate {
  readonly path: ReadonlyArray<string>
  readonly first: number
  readonly offset: number
}

export interface Place {
  readonly line: number
  readonly column: number
}

export type Path = ReadonlyArray<string | number>

/** A text and what it means. `root` is nothing where it is broken. */
export class Document {
  private lines: ReadonlyArray<number> | undefined

  constructor(
    readonly text: string,
    readonly root: unknown,
    readonly broken: Broken | undefined,
    /** Names that are there twice in one object. The later one counts, as in JSON. */
    readonly duplicates: ReadonlyArray<Duplicate>,
    private readonly keys: WeakMap<object, Map<string, number>>,
    private readonly numbers: WeakMap<object, Map<string | number, string>>
  ) {}

  /** Where the name is that is last in the path, or the last one of it that is there. */
  offsetOf(path: Path): number | undefined {
    let value: unknown = this.root
    let found: number | undefined
    for (const key of path) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) break
      found = this.keys.get(value)?.get(String(key)) ?? found
      value = (value as Record<string | number, unknown>)[key]
    }
    return found
  }

  /** A number as it is written: `1.50`, or one with more digits than a number can hold. */
  numberAt(container: object, key: string | number, value: number): string {
    return this.numbers.get(container)?.get(key) ?? String(value)
  }

  placeOf(offset: number): Place {
    const lines = this.lines ??= lineStarts(this.text)
    let [low, high] = [0, lines.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (lines[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - lines[low]! + 1 }
  }
}

const lineStarts = (text: string): ReadonlyArray<number> => {
  const starts = [0]
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1)
  return starts
}

export const parse = (text: string): Document => new Parser(text.startsWith("\ufeff") ? text.slice(1) : text).document()

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const word = /[A-Za-z_$][\w$]*/y
const hex4 = /[0-9a-fA-F]{4}/y
const words: ReadonlyMap<string, unknown> = new Map<string, unknown>([["true", true], ["false", false], ["null", null]])

class Parser {
  private at = 0
  private broken: Broken | undefined
  private readonly path: Array<string> = []
  private readonly duplicates: Array<Duplicate> = []
  private readonly keys = new WeakMap<object, Map<string, number>>()
  /** Those that are written otherwise than they would be shown. */
  private readonly numbers = new WeakMap<object, Map<string | number, string>>()

  constructor(private readonly text: string) {}

  document(): Document {
    this.skip()
    const root = this.at === this.text.length && this.broken === undefined
      ? this.fail(0, `is empty: write { "mcpServers": {} }`)
      : this.value(undefined, "")
    this.skip()
    if (this.at < this.text.length) this.fail(this.at, "there is something after the end of the configuration")
    return new Document(
      this.text,
      this.broken === undefined ? root : undefined,
      this.broken,
      this.duplicates,
      this.keys,
      this.numbers
    )
  }

  /** The first failure is the one to tell. */
  private fail(offset: number, problem: string): undefined {
    this.broken ??= { offset, problem }
    this.at = this.text.length
    return undefined
  }

  private value(container: object | undefined, key: string | number): unknown {
    this.skip()
    switch (this.text[this.at]) {
      case "{":
        return this.nested(this.object)
      case "[":
        return this.nested(this.list)
      case "\"":
        return this.string()
      default:
        return this.scalar(container, key)
    }
  }

  private depth = 0

  private nested(read: (this: Parser) => unknown): unknown {
    if (this.depth === maxDepth) return this.fail(this.at, `is nested more than ${maxDepth} times`)
    this.depth++
    const value = read.call(this)
    this.depth--
    return value
  }

  private object(): unknown {
    const start = this.at++
    const object: Record<string, unknown> = {}
    const keys = new Map<string, number>()
    this.keys.set(object, keys)
    for (;;) {
      this.skip()
      if (this.takes("}")) return object
      const offset = this.at
      if (this.text[offset] !== "\"") return this.noName(start)
      const key = this.string()
      if (key === undefined) return undefined
      this.skip()
      if (!this.takes(":")) return this.fail(this.at, `a ":" is missing after a name`)
      const first = keys.get(key)
      if (first !== undefined) this.duplicates.push({ path: [...this.path, key], first, offset })
      keys.set(key, offset)
      this.path.push(key)
      const value = this.value(object, key)
      this.path.pop()
      if (key === "__proto__") {
        Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
      } else object[key] = value
      if (!this.goesOn(start, "}")) return object
    }
  }

  private list(): unknown {
    const start = this.at++
    const list: Array<unknown> = []
    for (;;) {
      this.skip()
      if (this.takes("]")) return list
      list.push(this.value(list, list.length))
      if (!this.goesOn(start, "]")) return list
    }
  }

  /** Whether another item may follow. Otherwise the end was read, or something is wrong. */
  private goesOn(start: number, end: "}" | "]"): boolean {
    const after = this.at
    this.skip()
    if (this.takes(",")) return true
    if (this.takes(end)) return false
    const next = this.text[this.at]
    if (next === undefined) this.unclosed(start, end)
    else if (/["{[\w-]/.test(next)) this.fail(after, "a comma is missing here")
    else this.fail(this.at, `a comma or "${end}" is missing here`)
    return false
  }

  private unclosed(start: number, end: "}" | "]"): undefined {
    const line = lineStarts(this.text.slice(0, start)).length
    return this.fail(
      this.text.length,
      `ends too early: the "${end === "}" ? "{" : "["}" of line ${line} has no "${end}"`
    )
  }

  private noName(start: number): undefined {
    return this.at === this.text.length ? this.unclosed(start, "}") : this.fail(
      this.at,
      this.text[this.at] === "," ? "there is a comma too many" : "a name in double quotes is missing here"
    )
  }

  private string(): string | undefined {
    const start = this.at
    let at = start + 1
    let isEscaped = false
    for (;; at++) {
      const code = this.text.charCodeAt(at)
      if (code === 0x22) break
      if (Number.isNaN(code) || code === 0x0a || code === 0x0d) {
        return this.fail(start, `the text that begins here has no second " on its line`)
      }
      if (code < 0x20) {
        return this.fail(at, "a text can't hold this control character: write it as an escape such as \\t")
      }
      if (code !== 0x5c) continue
      isEscaped = true
      const length = this.escapeAt(at)
      if (length === 0) return this.fail(at, "a backslash in a text is written twice; in a path a / will do")
      at += length - 1
    }
    this.at = at + 1
    return isEscaped ? JSON.parse(this.text.slice(start, this.at)) as string : this.text.slice(start + 1, at)
  }

  /** How long the escape is that begins here; 0 for none. */
  private escapeAt(at: number): number {
    const next = this.text[at + 1]
    if (next === undefined) return 0
    if (next !== "u") return "\"\\/bfnrt".includes(next) ? 2 : 0
    hex4.lastIndex = at + 2
    return hex4.test(this.text) ? 6 : 0
  }

  private scalar(container: object | undefined, key: string | number): unknown {
    const start = this.at
    const digits = this.match(number)
    if (digits !== undefined) {
      const value = JSON.parse(digits) as number
      if (container !== undefined && String(value) !== digits) this.note(container, key, digits)
      return this.isWordAt(this.at) ? this.fail(start, "a text must stand in double quotes") : value
    }
    const name = this.match(word)
    if (name !== undefined && words.has(name)) return words.get(name)
    return this.fail(start, noValue(this.text[start], name))
  }

  private note(container: object, key: string | number, digits: string): void {
    const known = this.numbers.get(container)
    if (known === undefined) this.numbers.set(container, new Map([[key, digits]]))
    else known.set(key, digits)
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    if (found !== undefined) this.at += found.length
    return found
  }

  private isWordAt(at: number): boolean {
    return /[\w$.+-]/.test(this.text[at] ?? "")
  }

  private takes(character: string): boolean {
    if (this.text[this.at] !== character) return false
    this.at++
    return true
  }

  /** Space and comments. */
  private skip(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) this.at++
      else if (code !== 0x2f || !this.skipComment()) return
    }
  }

  private skipComment(): boolean {
    const kind = this.text[this.at + 1]
    if (kind === "/") {
      const end = this.text.indexOf("\n", this.at)
      this.at = end === -1 ? this.text.length : end
      return true
    }
    if (kind !== "*") return false
    const end = this.text.indexOf("*/", this.at + 2)
    if (end === -1) this.fail(this.at, "the comment that begins here has no */")
    else this.at = end + 2
    return true
  }
}

const noValue = (character: string | undefined, name: string | undefined): string => {
  if (character === undefined) return "ends where a value is expected"
  if (character === "'") return `a text stands in double quotes ("), not in single ones`
  if (/[\u2018-\u201f\u00ab\u00bb]/.test(character)) return `a text stands in straight double quotes (")`
  if (/\s|\ufeff|\u200b/.test(character)) return "there is a character here that only looks like a space"
  if (character === ",") return "there is a comma too many"
  if (name !== undefined && /^(true|false|null|none|undefined)$/i.test(name)) {
    return "must be true, false or null, in small letters, or a text in double quotes"
  }
  return name === undefined ? "a value is missing here" : "a text must stand in double quotes"
}
