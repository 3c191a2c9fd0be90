/**
 * What both styles of YAML share: quoted texts, and where keys end.
 */

/** Never leaves the reader. */
export class Unreadable {
  constructor(readonly problem: string) {}
}

/** Where the lines come from, for what goes over several of them. */
export interface Source {
  /** The next line, which must be indented further than this. */
  readonly pull: (parent: number) => string
}

/** A colon with nothing close behind it. */
export const isKeyEnd = (text: string, at: number): boolean =>
  text[at] === ":" && (at + 1 === text.length || text[at + 1] === " " || text[at + 1] === "\t")

/** Where the quotation mark is that ends this text; nothing if it goes on in the next line. */
export const quotedEnd = (text: string, quote: string, from = 0): number | undefined => {
  for (let at = from; at < text.length; at++) {
    if (quote === "\"" && text[at] === "\\") at++
    else if (text[at] === quote) {
      if (quote === "\"" || text[at + 1] !== quote) return at
      at++
    }
  }
  return undefined
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["0", "\0"],
  ["a", "\u0007"],
  ["b", "\b"],
  ["t", "\t"],
  ["n", "\n"],
  ["v", "\v"],
  ["f", "\f"],
  ["r", "\r"],
  ["e", "\u001b"],
  [" ", " "],
  ["\t", "\t"],
  ["\"", "\""],
  ["/", "/"],
  ["\\", "\\"],
  ["N", "\u0085"],
  ["_", "\u00a0"],
  ["L", "\u2028"],
  ["P", "\u2029"]
])

/** The text between two quotation marks. */
export const unescaped = (text: string, quote: string): string =>
  quote === "'"
    ? text.replaceAll("''", "'")
    : text.replaceAll(
      /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]?))/g,
      (_, two?: string, four?: string, eight?: string, one?: string) => {
        const code = two ?? four ?? eight
        const meant = code === undefined ? escapes.get(one ?? "") : characterOf(Number.parseInt(code, 16))
        if (meant === undefined) throw new Unreadable("an escape that YAML does not know")
        return meant
      }
    )

const characterOf = (code: number): string | undefined =>
  code > 0x10ffff ? undefined : code > 0xffff ? String.fromCodePoint(code) : String.fromCharCode(code)
