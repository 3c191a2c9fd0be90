/**
 * Patterns that the runtime's own regular expressions can be trusted with.
 *
 * Owns: the proof. Such a pattern is one row of characters and classes without groups or alternatives. Either it starts with
 * `^` and has at most one part whose length can vary, so that a match is tried at one place and taken back along one part; or
 * it has no such part, so that a try at any place reads no more than its own length. So a text of `n` characters costs no
 * more than `n` times the length of the pattern.
 */
import type { Tree } from "./parse.js"

const maxSize = 64

/** The length of a pattern that is harmless, and nothing of any other. */
export const sizeIfHarmless = (tree: Tree): number | undefined => {
  const items = tree._tag === "Sequence" ? tree.items : [tree]
  const isAnchored = items[0]?._tag === "Edge" && items[0].kind === "start"
  let size = 1
  let varying = 0
  for (const item of items) {
    if (item._tag === "Repeat" && item.item._tag === "Chars") {
      size += item.max === Infinity ? item.min + 1 : item.max
      if (item.min !== item.max) varying++
    } else if (item._tag === "Chars" || item._tag === "Edge") size++
    else return undefined
  }
  return varying <= (isAnchored ? 1 : 0) && size <= maxSize ? size : undefined
}
