/**
 * Files of a user and a project in a directory of their own, and what is said of them.
 */
import type * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as ConfigFiles from "@mcp-runtime/node/ConfigFiles"
import { Effect, Queue, Stream, TestServices } from "effect"
import type { Scope } from "effect"
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { directory } from "./connections.js"

export interface Home {
  readonly root: string
  readonly project: string
  /** The user's file. */
  readonly user: string
  readonly options: ConfigFiles.Options
}

/** A project and a home, both empty. */
export const home: Effect.Effect<Home, never, Scope.Scope> = Effect.map(directory, (root) => {
  const project = join(root, "work", "project")
  mkdirSync(project, { recursive: true })
  mkdirSync(join(root, "home"))
  return {
    root,
    project,
    user: join(root, "home", ".config", "mcp-runtime", "mcp.json"),
    options: { cwd: project, environment: { HOME: join(root, "home") } }
  }
})

export type Servers = { readonly [name: string]: unknown }

export const textOf = (servers: Servers): string => JSON.stringify({ mcpServers: servers }, null, 2)

/** Servers that nobody connects. */
export const remote = (...names: ReadonlyArray<string>): Servers =>
  Object.fromEntries(names.map((name) => [name, { type: "http", url: `http://127.0.0.1:9/${name}` }]))

export const write = (path: string, servers: Servers | string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof servers === "string" ? servers : textOf(servers))
}

/** As editors do. */
export const replace = (path: string, servers: Servers | string): void => {
  write(`${path}.new`, servers)
  renameSync(`${path}.new`, path)
}

export const namesIn = ({ entries }: ConfigFile.Loaded): ReadonlyArray<string> => entries.map((_) => _.name)

export const problemsIn = ({ problems }: ConfigFile.Loaded): ReadonlyArray<string> =>
  problems.map((_) => `${_.severity} ${_.path}: ${_.problem}`)

export interface Followed {
  /** The next that is said. */
  readonly next: Effect.Effect<ConfigFile.Loaded>
  /** The next of which this holds, and all that were said until then. */
  readonly until: (
    holds: (loaded: ConfigFile.Loaded) => boolean
  ) => Effect.Effect<ReadonlyArray<ConfigFile.Loaded>>
}

/** What is said first has been taken already. */
export const follow = (options: ConfigFiles.Options): Effect.Effect<Followed, never, Scope.Scope> =>
  Effect.gen(function*() {
    const said = yield* Queue.unbounded<ConfigFile.Loaded>()
    yield* Effect.forkScoped(Stream.runForEach(ConfigFiles.changes(options), (_) => Queue.offer(said, _)))
    // In real time, whatever clock rules the rest.
    const next = Effect.timeoutFail(Queue.take(said), {
      duration: "20 seconds",
      onTimeout: () => new Error("nothing was said")
    }).pipe(Effect.orDie, TestServices.provideLive)
    yield* next
    return {
      next,
      until: (holds) =>
        Effect.gen(function*() {
          const all: Array<ConfigFile.Loaded> = []
          while (true) {
            const loaded = yield* next
            all.push(loaded)
            if (holds(loaded)) return all
          }
        })
    }
  })
