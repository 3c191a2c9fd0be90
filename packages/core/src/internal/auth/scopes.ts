/**
 * Which scopes to ask for.
 *
 * Owns: that choice, and the bounds of what a server may make us ask for.
 * May not touch: requests.
 */

const mostScopes = 64
const longest = 256
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/
const offline = "offline_access"

type Scopes = ReadonlyArray<string>

const clean = (scopes: Iterable<unknown>): Scopes => {
  const kept = new Set<string>()
  for (const scope of scopes) {
    if (kept.size >= mostScopes) break
    if (typeof scope === "string" && scope.length <= longest && scopeToken.test(scope)) kept.add(scope)
  }
  return [...kept]
}

/** A list in a text; nothing where it names none. */
export const ofText = (text: string | undefined): Scopes | undefined => {
  const scopes = text === undefined ? [] : clean(text.slice(0, mostScopes * longest).split(" "))
  return scopes.length === 0 ? undefined : scopes
}

/** A list in a document; nothing where it names none. */
export const ofList = (list: unknown): Scopes | undefined => {
  const scopes = Array.isArray(list) ? clean(list) : []
  return scopes.length === 0 ? undefined : scopes
}

export const union = (...lists: ReadonlyArray<Scopes | undefined>): Scopes => clean(lists.flatMap((_) => _ ?? []))

export const includes = (all: Scopes, some: Scopes): boolean => some.every((_) => all.includes(_))

/**
 * As configured, else as the server has just asked, else as it says in general, else none at all. A token that can be
 * renewed is asked for only where the authorization server knows the word.
 */
export const choose = (options: {
  readonly configured: Scopes | undefined
  readonly challenge: Scopes | undefined
  readonly resource: Scopes | undefined
  /** What earlier tokens were asked for, where more is wanted. */
  readonly before: Scopes | undefined
  readonly supported: Scopes | undefined
}): Scopes => {
  const chosen = options.before === undefined
    ? options.configured ?? options.challenge ?? options.resource ?? []
    : union(options.before, options.configured, options.challenge)
  if (!(options.supported ?? []).includes(offline)) return chosen.filter((_) => _ !== offline)
  return chosen.length === 0 ? chosen : union(chosen, [offline])
}
