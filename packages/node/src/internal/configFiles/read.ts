/**
 * Reading one file that a user has named, whatever is there.
 *
 * Owns: that it ends soon, takes little memory, and says in words what is wrong.
 * May not touch: what the text means.
 */
import * as Effect from "effect/Effect"
import { isUtf8 } from "node:buffer"
import { constants, type Stats } from "node:fs"
import { type FileHandle, lstat, open, stat } from "node:fs/promises"

export type Read =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Missing" }
  /** `isThere` says whether there is a file at all, as far as we are allowed to know. */
  | { readonly _tag: "Unreadable"; readonly problem: string; readonly isThere: boolean }

const missing: Read = { _tag: "Missing" }

const unreadable = (problem: string, isThere = true): Read => ({ _tag: "Unreadable", problem, isThere })

/** Larger than any configuration that was written by hand. */
export const maxBytes = 1024 * 1024

/** A file system that is not answering is left alone. */
const deadline = "5 seconds"

export const read = (path: string): Effect.Effect<Read> =>
  Effect.promise(() => readFile(path)).pipe(
    Effect.timeoutTo({
      duration: deadline,
      onSuccess: (read) => read,
      onTimeout: () => unreadable(`could not be read within ${deadline}`)
    })
  )

const readFile = async (path: string): Promise<Read> => {
  try {
    // Opening a device may do something; opening a named pipe that takes the place of a file would wait for its writer.
    const there = notAFile(await stat(path))
    if (there !== undefined) return unreadable(there)
    const { O_NOCTTY = 0, O_NONBLOCK = 0, O_RDONLY } = constants
    const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
    try {
      const opened = notAFile(await file.stat())
      return opened === undefined ? textOf(await bytesOf(file)) : unreadable(opened)
    } finally {
      await file.close()
    }
  } catch (error) {
    return refused(path, (error as NodeJS.ErrnoException).code)
  }
}

const notAFile = (status: Stats): string | undefined =>
  status.isFile()
    ? undefined
    : status.isDirectory()
    ? "is a directory, not a file"
    : status.isFIFO()
    ? "is a named pipe, not a file"
    : "is a device or a socket, not a file"

/** Up to the bound and one byte, whatever size the file says it has. */
const bytesOf = async (file: FileHandle): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for (let length = 0; length <= maxBytes;) {
    const buffer = Buffer.allocUnsafe(Math.min(64 * 1024, maxBytes + 1 - length))
    const { bytesRead } = await file.read(buffer, 0, buffer.length)
    if (bytesRead === 0) break
    chunks.push(buffer.subarray(0, bytesRead))
    length += bytesRead
  }
  return Buffer.concat(chunks)
}

const textOf = (bytes: Buffer): Read => {
  if (bytes.length > maxBytes) return unreadable("is larger than 1 MiB, which is no configuration")
  if (isUtf8(bytes)) return { _tag: "Text", text: bytes.toString("utf8") }
  const isUtf16 = bytes.length > 1 && (bytes.readUInt16LE() === 0xfeff || bytes.readUInt16BE() === 0xfeff)
  return unreadable(isUtf16 ? "is UTF-16 text: save it as UTF-8" : "is not UTF-8 text: save it as UTF-8")
}

const refused = async (path: string, code: string | undefined): Promise<Read> => {
  switch (code) {
    case "ENOENT":
      return await isSomething(path)
        ? unreadable("is a symbolic link to a file that does not exist")
        : missing
    case "ENOTDIR":
      return missing
    case "EACCES":
    case "EPERM":
      return unreadable("can't be read: permission denied", await isSomething(path))
    case "ELOOP":
      return unreadable("can't be read: its symbolic links lead round in a circle")
    default:
      return unreadable(`can't be read${code === undefined ? "" : ` (${code})`}`)
  }
}

const isSomething = (path: string): Promise<boolean> => lstat(path).then(() => true, () => false)
