/**
 * What the ways of naming have in common.
 *
 * Owns: which names models' APIs take, how a text becomes part of one, and who gets a name that several want.
 * May not touch: catalogues and connections; it sees names only.
 *
 * Servers choose names: each expression here takes time in proportion to the text, and nothing is looked up in an object.
 */

/** The length that the strictest of the models' APIs allows. */
export const maxLength = 64

const valid = /^[A-Za-z0-9_-]{1,64}$/

export const isValid = (name: string): boolean => valid.test(name)

/** Without `_` and `-` at its ends. */
export const trimmed = (text: string): string => {
  let start = 0
  while (start < text.length && isFiller(text.charCodeAt(start))) start++
  return trimmedEnd(text.slice(start))
}

export const trimmedEnd = (text: string): string => {
  let end = text.length
  while (end > 0 && isFiller(text.charCodeAt(end - 1))) end--
  return text.slice(0, end)
}

const isFiller = (code: number): boolean => code === 0x5f || code === 0x2d

/**
 * One name for each, all different, none reserved. A name that one alone wants is its own. One that several want goes to
 * the first of them by `key`, and by place where the keys are equal; the others try `again(index, 1)`, `again(index, 2)`,
 * and so on. So the order of what is given decides between equal keys only.
 */
export const settle = (
  wanted: ReadonlyArray<string>,
  reserved: ReadonlySet<string>,
  key: (index: number) => string,
  again: (index: number, attempt: number) => string
): ReadonlyArray<string> => {
  const taken = new Map<string, number>()
  const contested = new Set<number>()
  for (let index = 0; index < wanted.length; index++) {
    const name = wanted[index]!
    const other = taken.get(name)
    if (other === undefined) taken.set(name, index)
    else contested.add(other).add(index)
    if (reserved.has(name)) contested.add(index)
  }
  if (contested.size === 0) return wanted
  const names = [...wanted]
  const claims = Array.from(contested, (index) => {
    const own = key(index)
    return { index, key: own, hashed: own.replace(/[\ud800-\udfff]/gu, "\ufffd"), name: wanted[index]! }
  }).sort((a, b) =>
    compare(a.name, b.name) || compare(a.hashed, b.hashed) || compare(a.key, b.key) || a.index - b.index
  )
  let previous: (typeof claims)[number] | undefined
  let attempt = 0
  for (const claim of claims) {
    // Attempts of keys that are hashed alike are the same names: without this, a tool that is listed n times would cost n * n.
    if (previous?.name !== claim.name || previous.hashed !== claim.hashed) attempt = 0
    if (previous?.name === claim.name || reserved.has(claim.name)) {
      let name: string
      do name = again(claim.index, ++attempt)
      while (taken.has(name) || reserved.has(name))
      taken.set(name, claim.index)
      names[claim.index] = name
    }
    previous = claim
  }
  return names
}

/** By UTF-16 code units: the same on every machine. */
export const compare = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0
