/**
 * What a server sends as bytes (images, audio, binary resources), as files.
 *
 * Owns: where the files are, their names, and who may read them. No part of a path comes from a server: the extension is
 * one of a list, by the type. A file that is there is never written over.
 * May not touch: texts.
 */
import * as Effect from "effect/Effect"
import { Buffer } from "node:buffer"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import { failed, type Failure } from "../exit.js"
import { oneLine } from "./text.js"

export interface SavedFile {
  /** Which block of the content it is, from 0. */
  readonly index: number
  readonly path: string
  readonly mimeType: string
  readonly bytes: number
}

export interface Saver {
  readonly save: (
    index: number,
    file: { readonly data: string | Buffer; readonly mimeType: string }
  ) => Effect.Effect<SavedFile, Failure>
}

const extensions: ReadonlyMap<string, string> = new Map([
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["image/jpg", "jpg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
  ["image/svg+xml", "svg"],
  ["image/bmp", "bmp"],
  ["image/tiff", "tiff"],
  ["image/avif", "avif"],
  ["image/x-icon", "ico"],
  ["audio/wav", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"],
  ["audio/ogg", "ogg"],
  ["audio/flac", "flac"],
  ["audio/aac", "aac"],
  ["audio/mp4", "m4a"],
  ["audio/webm", "weba"],
  ["video/mp4", "mp4"],
  ["video/webm", "webm"],
  ["application/pdf", "pdf"],
  ["application/zip", "zip"],
  ["application/gzip", "gz"],
  ["application/json", "json"],
  ["text/plain", "txt"],
  ["text/html", "html"],
  ["text/markdown", "md"],
  ["text/css", "css"],
  ["text/csv", "csv"]
])

/** The extension of a type, without its parameters. */
export const extensionOf = (mimeType: string): string =>
  extensions.get(mimeType.split(";", 1)[0]!.trim().toLowerCase()) ?? "bin"

/** A name that every file system takes and that is no path. */
export const safeName = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+/, "").slice(0, 64).replace(/-+$/, "") || "content"

/** How many files of one name may be there already. */
const most = 10_000

/**
 * Files in a directory, or else in a new one among the temporary files, which is made when there is something to save. They
 * stay when the command ends.
 */
export const saver = (name: string, directory: string | undefined): Saver => {
  const place = directory === undefined
    ? Effect.tryPromise(() => fs.mkdtemp(path.join(os.tmpdir(), "mcp-runtime-")))
    : Effect.tryPromise(async () => {
      const absolute = path.resolve(directory)
      await fs.mkdir(absolute, { recursive: true, mode: 0o700 })
      return absolute
    })
  const stem = safeName(name)
  let made: string | undefined
  return {
    save: (index, { data, mimeType }) =>
      Effect.gen(function*() {
        made ??= yield* place
        const bytes = typeof data === "string" ? Buffer.from(data, "base64") : data
        const file = yield* create(made, stem, extensionOf(mimeType), bytes)
        return { index, path: file, mimeType: oneLine(mimeType.slice(0, 128)), bytes: bytes.length }
      }).pipe(Effect.catchAll((error) => Effect.fail(notSaved(error, directory))))
  }
}

const create = (directory: string, stem: string, extension: string, bytes: Buffer) =>
  Effect.tryPromise(async () => {
    for (let number = 1; number <= most; number++) {
      const file = path.join(directory, `${stem}-${number}.${extension}`)
      try {
        await fs.writeFile(file, bytes, { mode: 0o600, flag: "wx" })
        return file
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
      }
    }
    throw new Error("there are too many files of this name")
  })

const notSaved = (error: { readonly error?: unknown }, directory: string | undefined): Failure => {
  const { code, message } = error.error as NodeJS.ErrnoException
  return failed(
    `What the server sent could not be saved in ${oneLine(directory ?? os.tmpdir())}: ${code ?? oneLine(message)}`,
    ["Choose a directory that can be written to: --out <directory>", "Or take it as JSON: --json"],
    "NotSaved",
    "yes"
  )
}
