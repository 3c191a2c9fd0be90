/**
 * A small, strict reader of YAML, as far as the head of a `SKILL.md` needs it.
 *
 * Owns: nested maps and lists in both styles, texts in all five, comments.
 * May not touch: what a plain text stands for. Anchors, aliases, tags, merge keys, directives and several documents are
 * refused, and so is whatever two readers could understand differently: what can't be read can't be compared.
 *
 * It goes through its lines once. Its depth is bounded, so that no text can exhaust the stack.
 */
import * as Either from "effect/Either"
import { flowOf } from "./yamlFlow.js"
import { isKeyEnd, quotedEnd, type Source, unescaped, Unreadable } from "./yamlText.js"

/** `plain` may be a number, a truth value or nothing; `block` may have lost or got the end of its last line. */
export type Node =
  | { readonly kind: "plain" | "quoted" | "block"; readonly text: string }
  | { readonly kind: "list"; readonly items: ReadonlyArray<Node> }
  | { readonly kind: "map"; readonly fields: ReadonlyMap<string, Node> }

const maxDepth = 32

const nothing: Node = { kind: "plain", text: "" }

export const read = (text: string): Either.Either<Node, string> => {
  const reader = new Reader(text.split(/\r\n?|\n/))
  try {
    return Either.right(reader.document())
  } catch (error) {
    if (error instanceof Unreadable) return Either.left(`line ${reader.line}: ${error.problem}`)
    throw error
  }
}

class Reader implements Source {
  private at = 0

  constructor(private readonly lines: Array<string>) {}

  get line(): number {
    return Math.min(this.at + 1, this.lines.length)
  }

  document(): Node {
    for (const [at, line] of this.lines.entries()) {
      this.at = at
      // eslint-disable-next-line no-control-regex -- it is control characters that are looked for
      if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]|[\ud800-\udfff]/u.test(line)) {
        throw new Unreadable("a character that does not belong in a text")
      }
      if (/^(?:---|\.\.\.)(?:\s|$)|^%/.test(line)) throw new Unreadable("a directive, or another document")
    }
    this.at = 0
    const node = this.block(0, 0)
    if (this.next() >= 0) throw new Unreadable("is indented in another way than what it belongs to")
    return node
  }

  pull(parent: number): string {
    this.at++
    const line = this.lines[this.at]
    if (line === undefined) throw new Unreadable("a text or a list does not end")
    if (!isBlank(line) && indentOf(line) <= parent) throw new Unreadable("is not indented more than what it belongs to")
    return line
  }

  /** Goes to the next line that says something, and tells how far it is indented; -1 at the end. */
  private next(): number {
    for (; this.at < this.lines.length; this.at++) {
      const line = this.lines[this.at]!
      const indent = indentOf(line)
      if (indent === line.length || line[indent] === "#") continue
      if (line[indent] === "\t") {
        if (isBlank(line)) continue
        throw new Unreadable("is indented with a tab")
      }
      return indent
    }
    return -1
  }

  private content(indent: number): string {
    return this.lines[this.at]!.slice(indent)
  }

  private block(least: number, depth: number): Node {
    if (depth > maxDepth) throw new Unreadable("is nested too deeply")
    const indent = this.next()
    if (indent < least) return nothing
    const content = this.content(indent)
    if (isItem(content)) return this.list(indent, depth)
    return keyOf(content) === undefined ? this.value(content, least - 1, depth) : this.map(indent, depth)
  }

  private map(indent: number, depth: number): Node {
    const fields = new Map<string, Node>()
    while (this.next() === indent) {
      const content = this.content(indent)
      const found = isItem(content) ? undefined : keyOf(content)
      if (found === undefined) throw new Unreadable("is not a field with a value")
      if (fields.has(found.key)) throw new Unreadable("a field that is there twice")
      fields.set(found.key, this.valueOf(found.rest, indent, depth))
    }
    this.ended(indent)
    return { kind: "map", fields }
  }

  /** Behind a colon: on the same line, or below. A list below may stand as far left as its field. */
  private valueOf(rest: string, indent: number, depth: number): Node {
    if (!isOver(rest)) return this.value(rest, indent, depth)
    this.at++
    const below = this.next()
    if (below === indent && isItem(this.content(below))) return this.list(below, depth + 1)
    return below > indent ? this.block(indent + 1, depth + 1) : nothing
  }

  private list(indent: number, depth: number): Node {
    if (depth > maxDepth) throw new Unreadable("is nested too deeply")
    const items: Array<Node> = []
    while (this.next() === indent && isItem(this.content(indent))) {
      const behind = this.content(indent).slice(1)
      const rest = behind.trimStart()
      if (isOver(rest)) {
        this.at++
        items.push(this.next() > indent ? this.block(indent + 1, depth + 1) : nothing)
      } else if (isItem(rest) || keyOf(rest) !== undefined) {
        if (behind.slice(0, -rest.length).includes("\t")) throw new Unreadable("is indented with a tab")
        const column = indent + 1 + behind.length - rest.length
        this.lines[this.at] = " ".repeat(column) + rest
        items.push(this.block(column, depth + 1))
      } else items.push(this.value(rest, indent, depth))
    }
    this.ended(indent)
    return { kind: "list", items }
  }

  private ended(indent: number): void {
    if (this.next() > indent) throw new Unreadable("is indented in another way than what it belongs to")
  }

  /** What begins on this line behind a key, a dash or nothing, and is not a map or a list of lines. */
  private value(rest: string, parent: number, depth: number): Node {
    switch (rest[0]) {
      case "'":
      case "\"":
        return this.quoted(rest, parent)
      case "|":
      case ">":
        return this.scalar(rest, parent)
      case "[":
      case "{": {
        const { node, rest: behind } = flowOf(rest, parent, depth, maxDepth, this)
        return this.lastOfLine(behind, node)
      }
      default:
        return this.plain(rest, parent)
    }
  }

  private lastOfLine(rest: string, node: Node): Node {
    if (!isBlank(rest) && !/^[ \t]+#/.test(rest)) throw new Unreadable("something is behind the end of a value")
    this.at++
    return node
  }

  private quoted(rest: string, parent: number): Node {
    const quote = rest[0]!
    const folded = new Folded()
    for (let text = rest.slice(1), first = true;; text = this.pull(parent), first = false) {
      const end = quotedEnd(text, quote)
      const piece = end === undefined ? text : text.slice(0, end)
      const inner = first ? piece : piece.replace(/^[ \t]+/, "")
      if (end !== undefined) {
        folded.add(inner, true)
        return this.lastOfLine(text.slice(end + 1), { kind: "quoted", text: unescaped(folded.text, quote) })
      }
      const trimmed = inner.trimEnd()
      const continues = quote === "\"" && trimmed.length === inner.length && /(?<!\\)(?:\\\\)*\\$/.test(trimmed)
      folded.add(continues ? trimmed.slice(0, -1) : trimmed, first)
      if (continues) folded.join()
    }
  }

  private plain(rest: string, parent: number): Node {
    if (/^(?:[,\]}&*!%@`#]|[-?:](?:\s|$))/.test(rest)) {
      throw new Unreadable("begins with a character that has another meaning in YAML")
    }
    const folded = new Folded()
    const [text, commented] = plainPart(rest)
    folded.add(text, true)
    this.at++
    for (let ended = commented; !ended && this.at < this.lines.length; this.at++) {
      const line = this.lines[this.at]!
      if (isBlank(line)) folded.add("", false)
      else {
        const content = line.trimStart()
        if (indentOf(line) <= parent || content.startsWith("#")) break
        const [more, last] = plainPart(content)
        folded.add(more, false)
        ended = last
      }
    }
    return { kind: "plain", text: folded.text }
  }

  /** `|` keeps its lines, `>` folds them. */
  private scalar(header: string, parent: number): Node {
    const found = /^([|>])(?:([+-])([1-9])?|([1-9])([+-])?)?[ \t]*(?:(?<=[ \t])#.*)?$/.exec(header)
    if (found === null) throw new Unreadable("the beginning of a text is not understood")
    const digit = found[3] ?? found[4]
    const lines: Array<string> = []
    let longest = 0
    let column = digit === undefined ? undefined : Math.max(parent, 0) + Number(digit)
    for (this.at++; this.at < this.lines.length; this.at++) {
      const line = this.lines[this.at]!
      const indent = indentOf(line)
      if (indent < line.length) {
        if (indent <= parent) break
        if (column === undefined && longest > indent) {
          throw new Unreadable("an empty line that is indented further than its text")
        }
        column ??= indent
        if (indent < column) break
      } else longest = Math.max(longest, indent)
      lines.push(column === undefined ? "" : line.slice(column))
    }
    return { kind: "block", text: joined(lines, found[1] === ">", found[2] ?? found[5] ?? "") }
  }
}

/** The lines of a text: a break between two of them is a space, and each empty one between them is a break. */
class Folded {
  text = ""
  private breaks = 0
  private glued = true

  add(line: string, always: boolean): void {
    if (line === "" && !always) this.breaks++
    else {
      if (this.breaks > 0) this.text += "\n".repeat(this.breaks)
      else if (!this.glued) this.text += " "
      this.text += line
      this.breaks = 0
      this.glued = false
    }
  }

  /** The next line follows without a space. */
  join(): void {
    this.glued = true
  }
}

const joined = (lines: Array<string>, folds: boolean, chomping: string): string => {
  let end = lines.length
  while (end > 0 && lines[end - 1] === "") end--
  const after = chomping === "+" ? "\n".repeat(lines.length - end) : ""
  if (end === 0) return after
  const text = folds ? foldedLines(lines.slice(0, end)) : lines.slice(0, end).join("\n")
  return chomping === "-" ? text : `${text}\n${after}`
}

/** Lines that are indented further keep their breaks, and those around them. */
const foldedLines = (lines: ReadonlyArray<string>): string => {
  let text = ""
  let breaks = 0
  let before: string | undefined
  for (const line of lines) {
    if (line === "") {
      breaks++
      continue
    }
    const further = before !== undefined && (isFurther(before) || isFurther(line)) ? 1 : 0
    text += before !== undefined && breaks + further === 0 ? " " : "\n".repeat(breaks + further)
    text += line
    breaks = 0
    before = line
  }
  return text
}

const isFurther = (line: string): boolean => line.startsWith(" ") || line.startsWith("\t")

const indentOf = (line: string): number => {
  let indent = 0
  while (line[indent] === " ") indent++
  return indent
}

const isBlank = (line: string): boolean => line.trim() === ""

const isItem = (content: string): boolean => content === "-" || content.startsWith("- ")

/** Nothing is left of the line but a comment. */
const isOver = (rest: string): boolean => rest === "" || rest[0] === "#"

/** Up to a comment, and whether there is one. */
const plainPart = (rest: string): readonly [string, boolean] => {
  const comment = /[ \t]#/.exec(rest)
  const text = (comment === null ? rest : rest.slice(0, comment.index)).trimEnd()
  if (/:(?:[ \t]|$)/.test(text)) throw new Unreadable("a text with a colon in it needs quotation marks")
  return [text, comment !== null]
}

/** Of a line that begins a field of a map. */
const keyOf = (content: string): { readonly key: string; readonly rest: string } | undefined => {
  const first = content[0]!
  if (/[[\]{}&*!|>%@`#,]/.test(first)) return undefined
  if (first === "\"" || first === "'") {
    const end = quotedEnd(content.slice(1), first)
    if (end === undefined) return undefined
    const behind = content.slice(end + 2).trimStart()
    return isKeyEnd(behind, 0)
      ? { key: unescaped(content.slice(1, end + 1), first), rest: behind.slice(1).trim() }
      : undefined
  }
  if (/^[-?](?:\s|$)/.test(content)) return undefined
  const comment = content.search(/[ \t]#/)
  for (let at = content.indexOf(":"); at >= 0; at = content.indexOf(":", at + 1)) {
    if (comment >= 0 && at > comment) return undefined
    if (!isKeyEnd(content, at)) continue
    const key = content.slice(0, at).trimEnd()
    if (key === "" || key === "<<") throw new Unreadable("a field without a name, or one that is merged")
    return { key, rest: content.slice(at + 1).trim() }
  }
  return undefined
}
