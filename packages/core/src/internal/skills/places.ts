/**
 * Where the files of a skill are: their URIs, and their paths inside of it.
 *
 * Owns: what a URI of a skill and of its files may look like, and how a path is found in it. A URI is only compared, never
 * resolved.
 */

const main = "SKILL.md"

const most = { uri: 2048, path: 1024 }

/** What no URI needs, and what a path that is shown or written somewhere may not have. */
// eslint-disable-next-line no-control-regex -- it is control characters that are looked for
const unfit = /[\u0000-\u001f\u007f-\u009f\\]|[\ud800-\udfff]/u

export interface Place {
  /** What the URI of each file begins with. */
  readonly root: string
  /** The last segment: what the skill has to be called. */
  readonly name: string
}

/** From the URI of its `SKILL.md`: `skill://acme/refunds/SKILL.md`. The scheme is the server's own matter. */
export const placeOf = (uri: string): Place | undefined => {
  if (uri.length > most.uri || unfit.test(uri) || !uri.endsWith(`/${main}`)) return undefined
  const root = uri.slice(0, -main.length)
  const start = /^[a-z][a-z0-9+.-]*:(?:\/\/)?\/?/i.exec(root)
  const segments = start === null ? undefined : segmentsOf(root.slice(start[0].length, -1))
  return segments === undefined ? undefined : { root, name: segments[segments.length - 1]! }
}

/** Of a file, relative to its skill and without percent-encoding. Nothing where it is not inside of the skill. */
export const pathOf = ({ root }: Place, uri: string): string | undefined =>
  uri.startsWith(root) && uri.length <= root.length + most.path && !unfit.test(uri)
    ? segmentsOf(uri.slice(root.length))?.join("/")
    : undefined

/** Each is a name: none is empty, leads up, or holds a separator once it is decoded. */
const segmentsOf = (encoded: string): ReadonlyArray<string> | undefined => {
  if (/[?#]/.test(encoded)) return undefined
  const segments = encoded.split("/").map(decoded)
  return segments.every((_) => _ !== undefined && isName(_)) ? segments as ReadonlyArray<string> : undefined
}

const isName = (segment: string): boolean =>
  segment !== "" && segment !== "." && segment !== ".." && !segment.includes("/") && !unfit.test(segment)

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** A path as it stands in a text: `./references/../references/FORMS.md`. Nothing where it leads out of the skill. */
const normalized = (path: string): string | undefined => {
  const segments: Array<string> = []
  for (const segment of path.split("/")) {
    if (segment === "..") {
      if (segments.pop() === undefined) return undefined
    } else if (segment !== "" && segment !== ".") segments.push(segment)
  }
  return path.startsWith("/") ? undefined : segments.join("/")
}

/** The file that somebody means by a path or a URI. */
export const find = <A extends { readonly uri: string; readonly path: string }>(
  files: ReadonlyArray<A>,
  asked: string
): A | undefined => {
  if (asked.length > most.uri) return undefined
  const path = normalized(asked)
  const plain = files.find((_) => _.uri === asked || _.path === path)
  if (plain !== undefined) return plain
  const links = decoded(asked)
  const linked = links === undefined ? undefined : normalized(links)
  return linked === undefined ? undefined : files.find((_) => _.path === linked)
}
