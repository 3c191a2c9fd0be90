/**
 * Which servers a predicate means.
 *
 * Owns: what is compared with a pattern.
 */
import type { Predicate } from "../../ConfigFile.js"
import * as NameMatcher from "../toolset/nameMatcher.js"

export const named = (pattern: string): Predicate => {
  const isNamed = NameMatcher.glob(pattern)
  return (entry) => isNamed(entry.name)
}

export const url = (pattern: string): Predicate => {
  const isLike = NameMatcher.glob(pattern)
  return (entry) => entry.url !== undefined && (isLike(entry.url) || isLike(normalized(entry.url)))
}

/** Scheme and host in lower case, and the path that an empty one means. */
const normalized = (text: string): string => {
  try {
    return new URL(text).href
  } catch {
    return text
  }
}
