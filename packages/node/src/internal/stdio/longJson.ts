/**
 * Long lines whose weight is in a few long texts: an image, a file, a page in base64.
 *
 * Owns: the value of such a line. `JSON.parse` looks at every character of a text, twice as long as reading it takes; where
 * a line is plain ASCII without a backslash, a text ends at the next quote, and finding that is the processor's own speed.
 * So the long texts are cut out, the rest is parsed, and they are put back. Anything unusual goes to `JSON.parse` whole.
 *
 * The one difference: a control character inside a long text, which JSON forbids, is let through.
 */
import { type Buffer, isAscii } from "node:buffer"

const quote = 0x22
const backslash = 0x5c
/** From this length on a text is worth cutting out. */
const longText = 16 * 1024
/** After so many texts it is not that kind of line, and the rest is left as it is. */
const mostTexts = 256
const longestRest = 256 * 1024
const deepest = 256
const mark = "@mcp-runtime/cut/"

interface Cut {
  readonly rest: string
  readonly texts: ReadonlyArray<string>
}

/** @internal */
export const parseLong = (line: Buffer): unknown => {
  const plain = isAscii(line)
  const cut = plain && !line.includes(backslash) ? cutLongTexts(line) : undefined
  const value = cut === undefined ? undefined : putBack(cut)
  return value === undefined ? JSON.parse(line.toString(plain ? "latin1" : "utf8")) : value
}

const cutLongTexts = (line: Buffer): Cut | undefined => {
  const texts: Array<string> = []
  let rest = ""
  let kept = 0
  let open = line.indexOf(quote)
  for (let seen = 0; open !== -1 && seen < mostTexts; seen++) {
    const close = line.indexOf(quote, open + 1)
    if (close === -1) return undefined
    if (close - open > longText) {
      rest += line.toString("latin1", kept, open + 1) + mark + texts.length
      texts.push(line.toString("latin1", open + 1, close))
      kept = close
    }
    open = line.indexOf(quote, close + 1)
  }
  if (texts.length === 0 || line.length - kept + rest.length > longestRest) return undefined
  rest += line.toString("latin1", kept)
  // The mark must be ours alone.
  return rest.split(mark).length - 1 === texts.length ? { rest, texts } : undefined
}

const putBack = ({ rest, texts }: Cut): unknown => {
  let missing = texts.length
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") {
      if (!value.startsWith(mark)) return value
      missing--
      return texts[Number(value.slice(mark.length))]
    }
    if (typeof value !== "object" || value === null || depth === 0) return value
    const container = value as Record<string, unknown>
    for (const key of Object.keys(container)) {
      const before = container[key]
      const after = walk(before, depth - 1)
      if (after !== before) container[key] = after
    }
    return value
  }
  const value = walk(JSON.parse(rest), deepest)
  // A text that was not found is the name of a field, or lies too deep.
  return missing === 0 ? value : undefined
}
