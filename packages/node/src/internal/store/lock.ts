/**
 * A lock between processes, as a file.
 *
 * Owns: one file, which is there while somebody holds the lock.
 * May not touch: what the lock protects.
 *
 * The file says who holds it, and its holder touches it now and then. It is taken over when its process is dead, or when
 * nobody has touched it for a long time: also a process that lives may hang, or be another one with the same number. Who
 * waits counts looks, and not time, because a machine may sleep while nobody can touch anything.
 *
 * | the file                                     | who waits                                |
 * |----------------------------------------------|------------------------------------------|
 * | is not there                                 | makes it, and holds the lock             |
 * | names a process of this machine that is dead | takes it over                            |
 * | was not touched for `stalledAfter` looks     | takes it over                            |
 * | anything else                                | looks again, up to `wait`                |
 *
 * Two that take over at once both replace the file; the last one holds the lock, which each sees after a short rest.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import { readFileSync, readlinkSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs"
import { open, readFile, stat, unlink, utimes } from "node:fs/promises"
import { hostname } from "node:os"
import { dirname, join } from "node:path"
import * as Steady from "../steady.js"
import { temporaryName } from "./fileName.js"

/** The code of an error of ours: others held the lock for all the time that was given. */
export const stillHeld = "ESTILLHELD"

export interface Options {
  /** How long to wait for others. */
  readonly wait: Duration.DurationInput
}

const lookEvery = 200
const touchEvery = "2 seconds"
const stalledAfter = 75
const rest = "100 millis"

/**
 * Holds the lock until the scope closes. Waiting can be interrupted. Fails with an error of the file system, or with one
 * whose code is `stillHeld`.
 */
export const acquire = (path: string, options: Options): Effect.Effect<void, NodeJS.ErrnoException, Scope.Scope> =>
  Effect.suspend(() => {
    const mine = `${JSON.stringify({ pid: process.pid, machine: machine(), id: randomUUID() })}\n`
    return Effect.uninterruptibleMask((restore) =>
      Effect.onError(waiting(path, mine, Duration.toMillis(options.wait), restore), () => release(path, mine)).pipe(
        Effect.zipRight(Effect.addFinalizer(() => release(path, mine))),
        Effect.zipRight(Effect.forkScoped(Effect.interruptible(touching(path, mine)))),
        Effect.asVoid
      )
    )
  })

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const waiting = (path: string, mine: string, wait: number, restore: Restore) =>
  Effect.gen(function*() {
    const end = (yield* Steady.now) + wait
    let seen: Seen | undefined
    let looks = 0
    for (let turn = 0; !(yield* attempt(() => create(path, mine))); turn++) {
      const now = yield* attempt(() => look(path))
      looks = isSame(seen, now) ? looks + 1 : 0
      seen = now
      if (now !== undefined && (isDead(now) || looks >= stalledAfter)) {
        if (yield* Effect.try({ try: () => replace(path, now, mine), catch: asError })) {
          yield* restore(Effect.sleep(rest))
          if (yield* attempt(() => isMine(path, mine))) return
        }
      }
      const left = end - (yield* Steady.now)
      if (left <= 0) return yield* Effect.fail(heldFor(wait, seen))
      yield* restore(Effect.sleep(Math.min(left, lookEvery, 10 * 2 ** Math.min(turn, 8))))
    }
  })

const heldFor = (wait: number, seen: Seen | undefined): NodeJS.ErrnoException => {
  const pid = parse(seen?.text ?? "")?.pid
  const holder = pid === undefined ? "another program" : `process ${pid}`
  return Object.assign(new Error(`${holder} has held this lock for ${wait} ms`), { code: stillHeld })
}

interface Seen {
  readonly text: string
  readonly touchedAt: number
}

const isSame = (before: Seen | undefined, now: Seen | undefined): boolean =>
  before?.text === now?.text && before?.touchedAt === now?.touchedAt

const create = async (path: string, text: string): Promise<boolean> => {
  const file = await open(path, "wx", 0o600).catch((error: unknown) => {
    if (codeOf(error) === "EEXIST") return undefined
    throw error
  })
  if (file === undefined) return false
  try {
    await file.writeFile(text)
  } catch (error) {
    await unlink(path).catch(() => {})
    throw error
  } finally {
    await file.close()
  }
  return true
}

const look = async (path: string): Promise<Seen | undefined> => {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)])
    return { text, touchedAt: mtimeMs }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  }
}

/** Without a pause between the last look and the replacement, so that others have no time to do the same. */
const replace = (path: string, stale: Seen, mine: string): boolean => {
  const temporary = join(dirname(path), temporaryName())
  writeFileSync(temporary, mine, { mode: 0o600, flag: "wx" })
  try {
    if (isSame({ text: readFileSync(path, "utf8"), touchedAt: statSync(path).mtimeMs }, stale)) {
      renameSync(temporary, path)
      return true
    }
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error
  }
  unlinkSync(temporary)
  return false
}

const isMine = async (path: string, mine: string): Promise<boolean> => (await look(path))?.text === mine

const release = (path: string, mine: string): Effect.Effect<void> =>
  Effect.ignore(attempt(async () => {
    if (await isMine(path, mine)) await unlink(path)
  }))

/** Ends when the lock was taken from us. */
const touching = (path: string, mine: string): Effect.Effect<void> =>
  Effect.sleep(touchEvery).pipe(
    Effect.zipRight(attempt(async () => {
      const ours = await isMine(path, mine)
      // The time of the file system, not of the program: others only see that it changes.
      if (ours) await utimes(path, new Date(), new Date())
      return ours
    })),
    Effect.repeat({ while: (ours) => ours }),
    Effect.ignore
  )

/** Numbers of processes mean something on one machine, and there in one namespace, only. */
const machine = (): string => {
  try {
    return `${hostname()} ${process.platform === "linux" ? readlinkSync("/proc/self/ns/pid") : process.platform}`
  } catch {
    return hostname()
  }
}

const isDead = (seen: Seen): boolean => {
  const holder = parse(seen.text)
  if (holder === undefined || holder.machine !== machine()) return false
  try {
    process.kill(holder.pid, 0)
    return false
  } catch (error) {
    return codeOf(error) === "ESRCH"
  }
}

const parse = (text: string): { readonly pid: number; readonly machine: string } | undefined => {
  try {
    const { machine, pid } = JSON.parse(text) as { readonly pid?: unknown; readonly machine?: unknown }
    return typeof pid === "number" && Number.isSafeInteger(pid) && pid > 0 && typeof machine === "string"
      ? { pid, machine }
      : undefined
  } catch {
    return undefined
  }
}

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, NodeJS.ErrnoException> =>
  Effect.tryPromise({ try: run, catch: asError })

const asError = (error: unknown): NodeJS.ErrnoException => error as NodeJS.ErrnoException

const codeOf = (error: unknown): string | undefined => asError(error).code
