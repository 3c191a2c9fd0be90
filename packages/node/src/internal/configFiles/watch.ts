/**
 * Being told when names in directories change.
 *
 * Owns: the watchers of the system, and closing them.
 * May not touch: which names matter.
 *
 * It is a help, not a promise: network file systems tell nothing, systems have limits, and a directory that can't be watched
 * is no error here. Who needs to be sure looks again now and then.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { type FSWatcher, statSync, watch } from "node:fs"
import { basename } from "node:path"
import type { Names } from "./names.js"

export interface Watch {
  /** Watches these names, and no others any more. */
  readonly aim: (names: Names) => Effect.Effect<void>
  /** Waits until one of them has changed since this was waited for last. */
  readonly changed: Effect.Effect<void>
  /** Forgets changes until now, and gives whether there were any. */
  readonly forget: Effect.Effect<boolean>
}

interface Watcher {
  readonly handle: FSWatcher
  /** Another directory may have taken the place of the one that is watched. */
  readonly identity: string
  names: ReadonlySet<string>
  isSound: boolean
}

export const make: Effect.Effect<Watch, never, Scope.Scope> = Effect.gen(function*() {
  const signal = yield* Queue.dropping<void>(1)
  const watchers = yield* Effect.acquireRelease(
    Effect.sync(() => new Watchers(() => void signal.unsafeOffer(undefined))),
    (_) => Effect.sync(() => _.close())
  )
  return {
    aim: (names) => Effect.sync(() => watchers.aim(names)),
    changed: Queue.take(signal),
    forget: Effect.map(Queue.takeAll(signal), (_) => _.length > 0)
  }
})

class Watchers {
  private watchers: ReadonlyMap<string, Watcher> = new Map()

  constructor(private readonly changed: () => void) {}

  aim(names: Names): void {
    const next = new Map<string, Watcher>()
    for (const [directory, inIt] of names) {
      const folded = new Set([...inIt].map(fold))
      const identity = identityOf(directory)
      const old = this.watchers.get(directory)
      if (old !== undefined && old.isSound && old.identity === identity) {
        old.names = folded
        next.set(directory, old)
        continue
      }
      const watcher = this.open(directory, folded, identity)
      if (watcher !== undefined) next.set(directory, watcher)
    }
    const old = this.watchers
    this.watchers = next
    for (const [directory, watcher] of old) if (next.get(directory) !== watcher) watcher.handle.close()
  }

  private open(directory: string, names: ReadonlySet<string>, identity: string): Watcher | undefined {
    const itself = fold(basename(directory))
    try {
      const handle = watch(directory, (_event, name) => {
        const folded = name === null ? itself : fold(name)
        // The last that is told about a directory which is deleted or moved away is its own name.
        if (folded === itself) watcher.isSound = false
        if (folded === itself || watcher.names.has(folded)) this.changed()
      })
      const watcher: Watcher = { handle, names, identity, isSound: true }
      handle.on("error", () => {
        watcher.isSound = false
        this.changed()
      })
      return watcher
    } catch {
      return undefined
    }
  }

  close(): void {
    for (const { handle } of this.watchers.values()) handle.close()
    this.watchers = new Map()
  }
}

/** Some file systems know a name in another spelling. To be told too often costs nothing. */
const fold = (name: string): string => name.normalize("NFC").toLowerCase()

/** Numbers are used again after a directory was deleted, but not with the same time of birth. */
const identityOf = (directory: string): string => {
  try {
    const { birthtimeNs, dev, ino } = statSync(directory, { bigint: true })
    return `${dev}:${ino}:${birthtimeNs}`
  } catch {
    return "none"
  }
}
