/**
 * Errors of the file system, as those of `@effect/platform`.
 */
import * as PlatformError from "@effect/platform/Error"
import * as Effect from "effect/Effect"
import { notAnEntry } from "./files.js"
import { stillHeld } from "./lock.js"
import { openToOthers } from "./privateDirectory.js"

export const attempt = <A>(
  method: string,
  path: string,
  run: () => Promise<A>
): Effect.Effect<A, PlatformError.PlatformError> =>
  Effect.tryPromise({ try: run, catch: (error) => systemError(method, path, error as NodeJS.ErrnoException) })

export const systemError = (method: string, path: string, error: NodeJS.ErrnoException): PlatformError.SystemError => {
  const { code, syscall } = error
  const description = code === openToOthers || code === stillHeld ? error.message : code
  return new PlatformError.SystemError({
    module: "KeyValueStore",
    method,
    reason: reasons.get(code ?? "") ?? "Unknown",
    pathOrDescriptor: path,
    ...(description !== undefined && { description }),
    ...(syscall !== undefined && { syscall }),
    cause: error
  })
}

const reasons: ReadonlyMap<string, PlatformError.SystemErrorReason> = new Map<string, PlatformError.SystemErrorReason>([
  ["EACCES", "PermissionDenied"],
  ["EPERM", "PermissionDenied"],
  ["EROFS", "PermissionDenied"],
  ["EEXIST", "AlreadyExists"],
  ["ENOENT", "NotFound"],
  ["ENOTDIR", "BadResource"],
  ["EISDIR", "BadResource"],
  ["ELOOP", "BadResource"],
  ["EBUSY", "Busy"],
  ["ETIMEDOUT", "TimedOut"],
  [notAnEntry, "InvalidData"],
  [openToOthers, "PermissionDenied"],
  [stillHeld, "TimedOut"]
])
