/**
 * The files of a store.
 *
 * Owns: reading an entry as a whole, replacing it at once, and removing what was left behind.
 * May not touch: files with other names, and anything that is not a file.
 */
import * as Option from "effect/Option"
import { constants, type Stats } from "node:fs"
import { lstat, mkdir, open, readdir, rename, unlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { entryName, isEntryName, isTemporaryName, temporaryName } from "./fileName.js"

/**
 * The code of an error of ours: what is there is no file, a link, larger than any entry, or what another user could have
 * written.
 */
export const notAnEntry = "ENOTANENTRY"

/** An entry is read at once. */
const maxBytes = 256 * 1024 * 1024

/** After this time nobody is writing a temporary file any more. */
const abandonedAfter = 60 * 60 * 1000

export const read = async (directory: string, key: string): Promise<Option.Option<Buffer>> => {
  try {
    const file = await open(join(directory, entryName(key)), reading)
    try {
      const status = await file.stat()
      if (!status.isFile() || status.size > maxBytes || !isOurs(status)) {
        throw Object.assign(new Error("not an entry"), { code: notAnEntry })
      }
      return Option.some(await file.readFile())
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) return Option.none()
    throw isLink(error) ? Object.assign(new Error("not an entry"), { code: notAnEntry }) : error
  }
}

/** Opening a named pipe would wait for its writer; a link may have been left by another user, and lead to a file of ours. */
const reading = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)

/** FreeBSD says EMLINK. */
const isLink = (error: unknown): boolean => codeOf(error) === "ELOOP" || codeOf(error) === "EMLINK"

/** In a directory that is open to others, one of them could leave an entry for us. Windows has no such owners and modes. */
const isOurs = ({ mode, uid }: Stats): boolean =>
  process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)

export const write = async (
  directory: string,
  key: string,
  value: string | Uint8Array,
  durable = false
): Promise<void> => {
  const temporary = join(directory, temporaryName())
  try {
    await create(directory, temporary, value, durable)
    await rename(temporary, join(directory, entryName(key)))
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
}

const create = async (
  directory: string,
  path: string,
  value: string | Uint8Array,
  durable: boolean
): Promise<void> => {
  const openNew = () => open(path, "wx", 0o600)
  const file = await openNew().catch(async (error: unknown) => {
    if (!isMissing(error)) throw error
    await makeDirectory(directory)
    return openNew()
  })
  try {
    await file.writeFile(value)
    if (durable) await file.sync()
  } finally {
    await file.close()
  }
}

/** Node's own `recursive` never ends, and spins, where a directory is there and nothing can be in it, as in /proc. */
export const makeDirectory = async (path: string): Promise<void> => {
  try {
    await makeOne(path)
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error
    await makeDirectory(dirname(path))
    await makeOne(path)
  }
}

const makeOne = async (path: string): Promise<void> => {
  try {
    await mkdir(path, 0o700)
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
  }
}

export const remove = async (directory: string, key: string): Promise<void> => {
  await removeFile(join(directory, entryName(key)))
}

export const clear = async (directory: string): Promise<void> => {
  for (const name of await names(directory)) if (isEntryName(name)) await removeFile(join(directory, name))
}

export const count = async (directory: string): Promise<number> => (await names(directory)).filter(isEntryName).length

/** Removes temporary files of writers that have died, and entries that nobody has written for a long time. */
export const sweep = async (directory: string, now: number, expireAfter: number): Promise<void> => {
  for (const name of await names(directory)) {
    const after = isTemporaryName(name) ? abandonedAfter : isEntryName(name) ? expireAfter : Infinity
    if (after === Infinity) continue
    const path = join(directory, name)
    const status = await lstat(path).catch(() => undefined)
    if (status?.isFile() === true && now - status.mtimeMs > after) await unlink(path).catch(() => {})
  }
}

const names = async (directory: string): Promise<ReadonlyArray<string>> => {
  try {
    return await readdir(directory)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

const removeFile = async (path: string): Promise<void> => {
  try {
    await unlink(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

const isMissing = (error: unknown): boolean => codeOf(error) === "ENOENT"
