/**
 * A command in one text, as words: quotes and backslashes as in a shell, and nothing else of a shell.
 */
import * as Either from "effect/Either"

export const split = (text: string): Either.Either<ReadonlyArray<string>, string> => {
  const words: Array<string> = []
  let word: string | undefined
  let quote: string | undefined
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (quote === "'" ? character !== "'" : character !== "\\" && character !== quote && quote !== undefined) {
      word = (word ?? "") + character
    } else if (character === quote) {
      quote = undefined
    } else if (character === "\\") {
      const next = text[++at]
      if (next === undefined) return Either.left("it ends with a backslash")
      word = (word ?? "") + next
    } else if (quote === undefined && (character === "'" || character === "\"")) {
      quote = character
      word ??= ""
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      word = (word ?? "") + character
    }
  }
  if (quote !== undefined) return Either.left(`a quote (${quote}) is not closed`)
  if (word !== undefined) words.push(word)
  return words.length === 0 ? Either.left("it is empty") : Either.right(words)
}
