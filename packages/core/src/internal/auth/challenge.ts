/**
 * Reads `WWW-Authenticate`: which schemes a server offers, with which parameters (RFC 9110, 11.6.1).
 *
 * Owns: that a header of any content is read once, from left to right, and gives a bounded answer.
 * May not touch: the meaning of a parameter.
 */

export interface Challenge {
  /** In lower case. */
  readonly scheme: string
  /** By names in lower case; of two with one name, the first. */
  readonly params: ReadonlyMap<string, string>
}

const longestHeader = 16 * 1024
const mostChallenges = 16
const mostParams = 32

const isTokenCharacter = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a) ||
  "!#$%&'*+-.^_`|~".includes(String.fromCharCode(code))

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09

/** What can't be read is skipped up to the next comma. */
export const parse = (header: string | undefined): ReadonlyArray<Challenge> => {
  if (header === undefined) return []
  const text = header.slice(0, longestHeader)
  const found: Array<{ readonly scheme: string; readonly params: Map<string, string> }> = []
  let at = 0

  const skip = (is: (code: number) => boolean): void => {
    while (at < text.length && is(text.charCodeAt(at))) at++
  }
  const token = (): string => {
    const from = at
    skip(isTokenCharacter)
    return text.slice(from, at)
  }
  /** After the opening quote. Nothing where the closing one is missing. */
  const quoted = (): string | undefined => {
    let value = ""
    for (let from = at; at < text.length; at++) {
      const character = text[at]
      if (character === "\"") {
        value += text.slice(from, at++)
        return value
      }
      if (character === "\\" && at + 1 < text.length) {
        value += text.slice(from, at)
        from = ++at
      }
    }
    return undefined
  }
  /** To behind the next comma that is outside of quotes. */
  const skipItem = (): void => {
    while (at < text.length && text[at] !== ",") {
      if (text[at++] === "\"") quoted()
    }
    at++
  }
  /** After a name and "=". */
  const value = (): string | undefined => {
    skip(isSpace)
    if (text[at] !== "\"") return token() || undefined
    at++
    return quoted()
  }

  while (at < text.length && found.length <= mostChallenges) {
    skip((code) => isSpace(code) || code === 0x2c)
    const name = token()
    if (name === "") {
      skipItem()
      continue
    }
    skip(isSpace)
    if (text[at] === "=" && found.length > 0) {
      at++
      const read = value()
      const { params } = found[found.length - 1]!
      const key = name.toLowerCase()
      if (read !== undefined && !params.has(key) && params.size < mostParams) params.set(key, read)
      skipItem()
      continue
    }
    const params = new Map<string, string>()
    found.push({ scheme: name.toLowerCase(), params })
    if (at >= text.length || text[at] === ",") continue
    // A parameter, or a token68, which no scheme has that we know.
    const before = at
    const first = token()
    skip(isSpace)
    if (first !== "" && text[at] === "=" && text[at + 1] !== "=" && at + 1 < text.length) {
      at++
      const read = value()
      if (read !== undefined) params.set(first.toLowerCase(), read)
    } else {
      at = before
    }
    skipItem()
  }
  return found.slice(0, mostChallenges)
}

/** What a server demands that is ours to answer. */
export interface Demand {
  /** Of both schemes; what both name is as the first one has it. */
  readonly params: ReadonlyMap<string, string>
  readonly bearer: boolean
  /** Tokens that are bound to a key (RFC 9449). */
  readonly dpop: boolean
  /** What it says of the proof that was sent. */
  readonly proof: "nonce" | "refused" | undefined
}

/** Nothing where it demands nothing that we know. With `proves: false`, we know of no tokens that are bound to a key. */
export const demand = (challenges: ReadonlyArray<Challenge>, proves = true): Demand | undefined => {
  const [bearer, dpop] = ["bearer", "dpop"].map((scheme) => challenges.find((_) => _.scheme === scheme))
  const ours = challenges.filter((_) => _ === bearer || (proves && _ === dpop))
  if (ours.length === 0) return undefined
  const params = new Map<string, string>()
  for (const challenge of ours) {
    for (const [name, value] of challenge.params) if (!params.has(name)) params.set(name, value)
  }
  const error = proves ? dpop?.params.get("error") : undefined
  return {
    params,
    bearer: bearer !== undefined,
    dpop: proves && dpop !== undefined,
    proof: error === "use_dpop_nonce" ? "nonce" : error === "invalid_dpop_proof" ? "refused" : undefined
  }
}
