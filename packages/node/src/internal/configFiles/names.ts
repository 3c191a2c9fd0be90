/**
 * On which names in which directories it depends what a path leads to.
 *
 * Owns: following a path, through symbolic links, as far as it goes.
 * May not touch: what is at its end.
 *
 * Watching a file itself would follow the file when it is renamed, and lose the one that takes its place. So names are
 * watched: of the file, of each link on the way, of the directory where the way ends, and where something is missing, of
 * the first thing that is missing.
 */
import { lstat, readlink } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, normalize, parse, sep } from "node:path"

export type Names = ReadonlyMap<string, ReadonlySet<string>>

/** More than systems follow. */
const mostLinks = 40

export const namesOf = async (paths: ReadonlyArray<string>): Promise<Names> => {
  const names = new Map<string, Set<string>>()
  const add = (path: string) => {
    const directory = dirname(path)
    if (directory === path) return
    const known = names.get(directory)
    if (known === undefined) names.set(directory, new Set([basename(path)]))
    else known.add(basename(path))
  }
  for (const path of paths) await follow(path, add)
  return names
}

const follow = async (path: string, add: (path: string) => void): Promise<void> => {
  let directory = parse(path).root
  let rest = partsOf(path)
  for (let links = 0; rest.length > 0;) {
    const [name, ...others] = rest as [string, ...ReadonlyArray<string>]
    const here = join(directory, name)
    const status = await lstat(here).catch(() => undefined)
    if (status?.isSymbolicLink() === true && links++ < mostLinks) {
      add(here)
      const target = await readlink(here).catch(() => "")
      if (isAbsolute(target)) directory = parse(target).root
      rest = [...partsOf(target), ...others]
      continue
    }
    if (others.length > 0 && status?.isDirectory() === true) {
      directory = here
      rest = others
      continue
    }
    add(here)
    add(dirname(here))
    return
  }
}

const partsOf = (path: string): ReadonlyArray<string> =>
  normalize(path.slice(parse(path).root.length)).split(sep).filter((_) => _ !== "" && _ !== ".")

export const isSame = (a: Names, b: Names): boolean =>
  a.size === b.size &&
  [...a].every(([directory, names]) => {
    const others = b.get(directory)
    return others !== undefined && others.size === names.size && [...names].every((_) => others.has(_))
  })
