/**
 * Reads the text of a pattern: ECMAScript's regular expressions with the `u` flag, as JSON Schema asks.
 *
 * Owns: the grammar, and what of it is refused: references back to what a group has matched, which no automaton can follow,
 * and whatever ECMAScript refuses. What the `u` flag refuses though it can mean one thing only, such as `\-` or `[\w-.]`,
 * is let through, since many schemas are written without thinking of it.
 * May not touch: how a pattern is matched.
 */
import * as CharSet from "./charSet.js"

/** A pattern as a tree. What groups capture is of no interest: a schema only asks whether a text matches. */
export type Tree =
  | { readonly _tag: "Chars"; readonly set: CharSet.CharSet }
  | { readonly _tag: "Sequence"; readonly items: ReadonlyArray<Tree> }
  | { readonly _tag: "Choice"; readonly items: ReadonlyArray<Tree> }
  | { readonly _tag: "Repeat"; readonly item: Tree; readonly min: number; readonly max: number }
  | { readonly _tag: "Edge"; readonly kind: EdgeKind }
  | { readonly _tag: "Look"; readonly item: Tree; readonly isBehind: boolean; readonly isNegated: boolean }

export type EdgeKind = "start" | "end" | "word" | "notWord"

/** Why a pattern can't be read. Thrown inside this folder, never out of it. */
export class Refused {
  constructor(readonly reason: string) {}
}

export const parse = (source: string): Tree => new Parser(source).whole()

const maxGroupDepth = 64
const maxTests = 16

const edge = (kind: EdgeKind): Tree => ({ _tag: "Edge", kind })

const controls: ReadonlyMap<string, number> = new Map([["t", 9], ["n", 10], ["v", 11], ["f", 12], ["r", 13]])

class Parser {
  private at = 0
  private depth = 0

  constructor(private readonly source: string) {}

  whole(): Tree {
    const tree = this.choice()
    if (this.at < this.source.length) throw new Refused("a bracket is closed that was not opened")
    return tree
  }

  private choice(): Tree {
    if (++this.depth > maxGroupDepth) throw new Refused("groups are nested too deeply")
    const items = [this.sequence()]
    while (this.take("|")) items.push(this.sequence())
    this.depth--
    return items.length === 1 ? items[0]! : { _tag: "Choice", items }
  }

  private sequence(): Tree {
    const items: Array<Tree> = []
    while (this.at < this.source.length && !this.sees("|") && !this.sees(")")) items.push(this.term())
    return items.length === 1 ? items[0]! : { _tag: "Sequence", items }
  }

  private term(): Tree {
    if (this.take("^")) return edge("start")
    if (this.take("$")) return edge("end")
    if (this.take("\\b")) return edge("word")
    if (this.take("\\B")) return edge("notWord")
    if (this.take("(")) return this.group()
    return this.quantified(this.atom())
  }

  private group(): Tree {
    if (this.take("?=")) return this.look(false, false)
    if (this.take("?!")) return this.look(false, true)
    if (this.take("?<=")) return this.look(true, false)
    if (this.take("?<!")) return this.look(true, true)
    if (this.take("?<")) this.name()
    else if (!this.take("?:") && this.sees("?")) throw new Refused("a kind of group is unknown")
    return this.quantified(this.groupBody())
  }

  private look(isBehind: boolean, isNegated: boolean): Tree {
    return { _tag: "Look", item: this.groupBody(), isBehind, isNegated }
  }

  private groupBody(): Tree {
    const item = this.choice()
    if (!this.take(")")) throw new Refused("a group is not closed")
    return item
  }

  private name(): void {
    const start = this.at
    while (/[\w$]/.test(this.peek())) this.at++
    if (this.at === start || !this.take(">")) throw new Refused("the name of a group can't be read")
  }

  private quantified(item: Tree): Tree {
    const times = this.quantifier()
    if (times === none) return item
    this.take("?")
    return { _tag: "Repeat", item, min: times[0], max: times[1] }
  }

  private quantifier(): readonly [min: number, max: number] {
    if (this.take("*")) return [0, Infinity]
    if (this.take("+")) return [1, Infinity]
    if (this.take("?")) return [0, 1]
    return this.sees("{") ? this.counted() : none
  }

  private counted(): readonly [min: number, max: number] {
    let end = this.at + 1
    while (/[\d,]/.test(this.source.charAt(end))) end++
    const text = this.source.slice(this.at + 1, end)
    // Not a quantifier, so that it is the character.
    if (this.source.charAt(end) !== "}" || text === "") return none
    const [from, to, more] = text.split(",")
    // Elsewhere `{,5}` means up to five; in ECMAScript it is a text.
    if (from === undefined || from === "" || more !== undefined) throw new Refused("a quantifier can't be read")
    this.at = end + 1
    const min = Number(from)
    const max = to === undefined ? min : to === "" ? Infinity : Number(to)
    if (min > max) throw new Refused("a quantifier asks for more than it allows")
    return [min, max]
  }

  private atom(): Tree {
    if (this.take(".")) return chars(CharSet.anyButLineEnds, false)
    if (this.take("[")) return this.charClass()
    if (this.quantifier() !== none) throw new Refused("a quantifier has nothing to repeat")
    return chars(this.member(false), false)
  }

  private charClass(): Tree {
    const isNegated = this.take("^")
    const ranges: Array<readonly [number, number]> = []
    const tests: Array<RegExp> = []
    while (!this.take("]")) {
      if (this.at >= this.source.length) throw new Refused("a class of characters is not closed")
      const first = this.member(true)
      const isRange = this.sees("-") && this.source.charAt(this.at + 1) !== "]"
      if (isRange) this.at++
      const last = isRange ? this.member(true) : first
      const [from, to] = [codeOf(first), codeOf(last)]
      if (isRange && from !== undefined && to !== undefined) {
        if (to < from) throw new Refused("a range of characters ends before it starts")
        ranges.push([from, to])
        continue
      }
      ranges.push(...first.ranges, ...last.ranges)
      tests.push(...first.tests, ...last.tests)
      if (isRange) ranges.push(dash)
      if (tests.length > maxTests) throw new Refused("a class of characters names too many properties")
    }
    return chars({ ranges, tests }, isNegated)
  }

  /** One character, or what stands for several. */
  private member(isInClass: boolean): CharSet.Members {
    if (this.take("\\")) return this.escape(isInClass)
    const code = this.source.codePointAt(this.at)
    if (code === undefined) throw new Refused("a class of characters is not closed")
    this.at += code > 0xFFFF ? 2 : 1
    return one(code)
  }

  private escape(isInClass: boolean): CharSet.Members {
    const letter = this.peek()
    if (letter === "") throw new Refused("it ends with a backslash")
    this.at++
    const several = CharSet.escapes.get(letter)
    if (several !== undefined) return several
    const control = controls.get(letter)
    if (control !== undefined) return one(control)
    switch (letter) {
      case "p":
      case "P":
        return this.property(letter)
      case "b":
        if (isInClass) return one(8)
        break
      case "0":
        if (!/\d/.test(this.peek())) return one(0)
        break
      case "c":
        return one(this.controlLetter())
      case "x":
        return one(this.hex(2))
      case "u":
        return one(this.unicode())
    }
    if (/[1-9]|k/.test(letter)) throw new Refused("it refers back to what a group has matched")
    if (/[\w\u0080-\uFFFF]/.test(letter) && letter !== "_") throw new Refused(`\\${letter} has no meaning`)
    return one(letter.charCodeAt(0))
  }

  private property(letter: "p" | "P"): CharSet.Members {
    const end = this.source.indexOf("}", this.at)
    const members = this.sees("{") && end > this.at && end - this.at < 80
      ? CharSet.ofProperty(letter, this.source.slice(this.at + 1, end))
      : undefined
    if (members === undefined) throw new Refused("a property of characters is unknown")
    this.at = end + 1
    return members
  }

  private controlLetter(): number {
    const letter = this.peek()
    if (!/[A-Za-z]/.test(letter)) throw new Refused("\\c needs a letter")
    this.at++
    return letter.charCodeAt(0) % 32
  }

  private unicode(): number {
    if (this.take("{")) {
      const end = this.source.indexOf("}", this.at)
      const text = end < 0 || end - this.at > 32 ? "" : this.source.slice(this.at, end)
      const code = /^[0-9A-Fa-f]+$/.test(text) ? Number.parseInt(text, 16) : Infinity
      if (code > 0x10FFFF) throw new Refused("\\u{...} names no character")
      this.at = end + 1
      return code
    }
    const first = this.hex(4)
    const isPair = first >= 0xD800 && first <= 0xDBFF && /^\\u[dD][c-fC-F][0-9A-Fa-f]{2}/.test(
      this.source.slice(this.at, this.at + 6)
    )
    if (!isPair) return first
    this.at += 2
    return (first - 0xD800) * 0x400 + this.hex(4) - 0xDC00 + 0x10000
  }

  private hex(length: number): number {
    const text = this.source.slice(this.at, this.at + length)
    if (text.length < length || !/^[0-9A-Fa-f]+$/.test(text)) {
      throw new Refused("the number of a character can't be read")
    }
    this.at += length
    return Number.parseInt(text, 16)
  }

  private peek(): string {
    return this.source.charAt(this.at)
  }

  private sees(text: string): boolean {
    return this.source.startsWith(text, this.at)
  }

  private take(text: string): boolean {
    if (!this.sees(text)) return false
    this.at += text.length
    return true
  }
}

/** The one that is told apart by identity. */
const none: readonly [number, number] = [1, 1]

const dash: readonly [number, number] = [45, 45]

const one = (code: number): CharSet.Members => CharSet.ofRanges([code, code])

const codeOf = (members: CharSet.Members): number | undefined =>
  members.tests.length === 0 && members.ranges.length === 1 && members.ranges[0]![0] === members.ranges[0]![1]
    ? members.ranges[0]![0]
    : undefined

const chars = (members: CharSet.Members, isNegated: boolean): Tree => ({
  _tag: "Chars",
  set: new CharSet.CharSet(members, isNegated)
})
