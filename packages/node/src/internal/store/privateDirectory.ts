/**
 * A directory that is its user's alone.
 *
 * Owns: making it so, and refusing one that is not. It does not change the mode of a directory that somebody else has
 * made: the path may be a wrong one, and who else relies on it is not known here.
 */
import { stat } from "node:fs/promises"
import { makeDirectory } from "./files.js"

/** The code of an error of ours: other users may look into the directory, or put something there. */
export const openToOthers = "EOPENTOOTHERS"

/** Makes the directory where it is missing, and fails where it belongs to others too. */
export const ensure = async (directory: string): Promise<void> => {
  if (await check(directory)) return
  await makeDirectory(directory)
  await check(directory)
}

/** Whether it is there. Fails where it belongs to others too. */
export const check = async (directory: string): Promise<boolean> => {
  const status = await stat(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined
    throw error
  })
  if (status === undefined) return false
  if (!status.isDirectory()) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" })
  // Windows has no such modes: what is in the directory of a user is that user's.
  if (process.getuid === undefined) return true
  if (status.uid !== process.getuid()) throw refused(`it belongs to another user (number ${status.uid})`)
  const mode = status.mode & 0o777
  if ((mode & 0o077) !== 0) {
    throw refused(`it is open to other users (mode ${mode.toString(8)}). Run "chmod 700" on it, or choose another one`)
  }
  return true
}

const refused = (why: string): Error =>
  Object.assign(new Error(`no secret is kept here: ${why}`), { code: openToOthers })
