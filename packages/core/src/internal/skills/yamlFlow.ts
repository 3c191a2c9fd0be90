/**
 * Lists and maps in brackets: `[a, b]`, `{ a: 1 }`. They may go over several lines, each text in them may not.
 */
import type { Node } from "./yaml.js"
import { quotedEnd, type Source, unescaped, Unreadable } from "./yamlText.js"

/** The value, and what is left of its last line. */
export const flowOf = (
  text: string,
  parent: number,
  depth: number,
  maxDepth: number,
  source: Source
): { readonly node: Node; readonly rest: string } => {
  const flow = new Flow(text, parent, maxDepth, source)
  const node = flow.value(depth)
  return { node, rest: flow.rest }
}

class Flow {
  private at = 0

  constructor(
    private text: string,
    private readonly parent: number,
    private readonly maxDepth: number,
    private readonly source: Source
  ) {}

  get rest(): string {
    return this.text.slice(this.at)
  }

  value(depth: number): Node {
    if (depth > this.maxDepth) throw new Unreadable("is nested too deeply")
    switch (this.text[this.at]) {
      case "[":
        return this.list(depth)
      case "{":
        return this.map(depth)
      default:
        return this.scalar()
    }
  }

  private list(depth: number): Node {
    const items: Array<Node> = []
    this.at++
    while (this.next() !== "]") {
      items.push(this.value(depth + 1))
      this.separator("]")
    }
    this.at++
    return { kind: "list", items }
  }

  private map(depth: number): Node {
    const fields = new Map<string, Node>()
    this.at++
    while (this.next() !== "}") {
      const key = this.scalar()
      if (!("text" in key) || key.text === "" || key.text === "<<") throw new Unreadable("a field without a name")
      if (fields.has(key.text)) throw new Unreadable("a field that is there twice")
      fields.set(key.text, this.valueOfField(depth))
      this.separator("}")
    }
    this.at++
    return { kind: "map", fields }
  }

  private valueOfField(depth: number): Node {
    if (this.next() !== ":") return { kind: "plain", text: "" }
    this.at++
    const next = this.next()
    return next === "," || next === "}" ? { kind: "plain", text: "" } : this.value(depth + 1)
  }

  private separator(end: string): void {
    const next = this.next()
    if (next === ",") this.at++
    else if (next !== end) throw new Unreadable("a list or map in brackets is not understood")
  }

  private scalar(): Node {
    const quote = this.text[this.at]
    if (quote === "\"" || quote === "'") {
      const end = quotedEnd(this.text, quote, this.at + 1)
      if (end === undefined) throw new Unreadable("a text in brackets does not end on its line")
      const text = unescaped(this.text.slice(this.at + 1, end), quote)
      this.at = end + 1
      return { kind: "quoted", text }
    }
    const plain = /(?:[^\s,[\]{}:#]|:(?![\s,[\]{}]|$)|(?<=\S)#|[ \t]+(?![\s,[\]{}#:]|$))*/y
    plain.lastIndex = this.at
    const text = plain.exec(this.text)![0]
    if (text === "" || /^(?:[&*!|>%@`]|[-?:](?:\s|$))/.test(text)) {
      throw new Unreadable("begins with a character that has another meaning in YAML")
    }
    this.at += text.length
    return { kind: "plain", text }
  }

  /** The next character that says something, on this line or a later one. */
  private next(): string {
    for (;;) {
      while (this.text[this.at] === " " || this.text[this.at] === "\t") this.at++
      const next = this.text[this.at]
      if (next !== undefined && (next !== "#" || !/[ \t]/.test(this.text[this.at - 1] ?? " "))) return next
      this.text = this.source.pull(this.parent)
      this.at = 0
    }
  }
}
