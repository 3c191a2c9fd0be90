/** Following configuration files: whatever becomes of them is noticed, once, and nothing else is. */
import { assert, describe, it } from "@effect/vitest"
import * as ConfigFiles from "@mcp-runtime/node/ConfigFiles"
import { LeakCheck } from "@mcp-runtime/testing"
import { Clock, Effect, Exit, Fiber, Scope, Stream, TestClock, TestServices } from "effect"
import { execFile } from "node:child_process"
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import { follow, home, namesIn, problemsIn, remote, replace, textOf, write } from "./internal/configFiles.js"

const says = (...names: ReadonlyArray<string>) => (loaded: Parameters<typeof namesIn>[0]) =>
  namesIn(loaded).join() === names.join()

const editor = `
  const fs = require("node:fs")
  const [path, name] = process.argv.slice(1)
  for (let i = 0; i < 25; i++) {
    const url = "http://127.0.0.1:9/"
    fs.writeFileSync(path + name, JSON.stringify({ mcpServers: { [name + " " + i]: { url } } }))
    fs.renameSync(path + name, path)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8)
  }
`

/** Another process that edits the file, until it has ended. */
const editing = (path: string, name: string) =>
  Effect.async<void>((resume) => {
    execFile(process.execPath, ["-e", editor, path, name], (error) => {
      resume(error === null ? Effect.void : Effect.die(error))
    })
  })

describe("changes", () => {
  it.live("a file is edited, replaced, deleted, and made again", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const path = join(project, ".mcp.json")
      write(path, remote("a"))
      const followed = yield* follow(options)
      write(path, remote("a", "b"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["a", "b"])
      // More than once: what is watched must not be the file that was renamed away.
      for (const name of ["c", "d", "e"]) {
        replace(path, remote(name))
        assert.deepStrictEqual(namesIn(yield* followed.next), [name])
      }
      unlinkSync(path)
      assert.deepStrictEqual(namesIn(yield* followed.next), [])
      write(path, remote("f"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["f"])
      renameSync(path, `${path}.old`)
      assert.deepStrictEqual(namesIn(yield* followed.next), [])
      renameSync(`${path}.old`, path)
      assert.deepStrictEqual(namesIn(yield* followed.next), ["f"])
    })))

  it.live("of the project's files, another one takes the place", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, "mcp.json"), remote("second"))
      const followed = yield* follow(options)
      write(join(project, ".mcp.json"), remote("first"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["first"])
      write(join(project, ".cursor/mcp.json"), remote("last"))
      unlinkSync(join(project, ".mcp.json"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["second"])
      unlinkSync(join(project, "mcp.json"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["last"])
    })))

  it.live("a directory that is made later, and another that takes its place", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, user } = yield* home
      const followed = yield* follow(options)
      for (const name of ["a", "b", "c"]) {
        write(user, remote(name))
        assert.deepStrictEqual(namesIn(yield* followed.next), [name])
        write(user, remote(name, "more"))
        assert.deepStrictEqual(namesIn(yield* followed.next), [name, "more"])
        rmSync(dirname(dirname(user)), { recursive: true })
        assert.deepStrictEqual(namesIn(yield* followed.next), [])
      }
      write(user, remote("d"))
      yield* followed.next
      renameSync(dirname(user), `${dirname(user)}.old`)
      write(user, remote("e"))
      assert.include(namesIn((yield* followed.until(says("e"))).at(-1)!), "e")
      write(user, remote("f"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["f"])
    })))

  it.live("a directory that something holds, as its working directory, is deleted and made again", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const before = process.cwd()
      yield* Effect.addFinalizer(() => Effect.sync(() => process.chdir(before)))
      process.chdir(project)
      const followed = yield* follow(options)
      for (const name of ["a", "b"]) {
        rmSync(project, { recursive: true })
        write(join(project, "mcp.json"), remote(name))
        yield* followed.until(says(name))
        write(join(project, "mcp.json"), remote(name, "more"))
        assert.deepStrictEqual(namesIn(yield* followed.next), [name, "more"])
      }
    })))

  it.live("behind links: of the file, of its directory, and of what they lead to", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project, root } = yield* home
      // As a release that is switched, with a mounted volume in it.
      for (const release of ["1", "2"]) write(join(root, "releases", release, "data/mcp.json"), remote(release))
      symlinkSync("releases/1", join(root, "current"))
      symlinkSync("../../current/data/mcp.json", join(project, ".mcp.json"))
      const followed = yield* follow(options)
      write(join(root, "releases/1/data/mcp.json"), remote("1", "edited"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["1", "edited"])
      symlinkSync("releases/2", join(root, "next"))
      renameSync(join(root, "next"), join(root, "current"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["2"])
      replace(join(root, "releases/2/data/mcp.json"), remote("2", "replaced"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["2", "replaced"])
      unlinkSync(join(project, ".mcp.json"))
      write(join(project, ".mcp.json"), remote("no link"))
      yield* followed.until(says("no link"))
      write(join(root, "releases/2/data/mcp.json"), remote("nobody looks"))
      write(join(project, ".mcp.json"), remote("still no link"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["still no link"])
    })))

  it.live("a circle of links, and a link to nothing, until there is a file", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project, user } = yield* home
      const path = join(project, ".mcp.json")
      symlinkSync(path, `${path}.back`)
      symlinkSync(`${path}.back`, path)
      mkdirSync(dirname(user), { recursive: true })
      symlinkSync("later/mcp.json", user)
      const followed = yield* follow(options)
      write(join(dirname(user), "later/mcp.json"), remote("later"))
      yield* followed.until(says("later"))
      replace(path, remote("a"))
      const loaded = yield* followed.next
      assert.deepStrictEqual([namesIn(loaded), loaded.problems], [["a", "later"], []])
    })))

  it.live("what is the same is not said again: touched, rewritten, other files, a link in its place", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project, root } = yield* home
      const path = join(project, ".mcp.json")
      write(path, remote("a"))
      const followed = yield* follow(options)
      for (let i = 0; i < 5; i++) {
        utimesSync(path, i, i)
        write(path, remote("a"))
        replace(path, remote("a"))
        write(join(project, "package.json"), "{}")
        write(join(project, "mcp.json"), remote("of no interest"))
      }
      write(join(root, "elsewhere.json"), remote("a"))
      unlinkSync(path)
      symlinkSync(join(root, "elsewhere.json"), path)
      write(join(root, "elsewhere.json"), remote("a", "b"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["a", "b"])
    })))

  it.live("a half-written file keeps its servers, and is reported; the other files are followed on", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project, user } = yield* home
      const path = join(project, ".mcp.json")
      write(path, remote("a", "b"))
      write(user, remote("user"))
      const followed = yield* follow(options)
      const next = textOf(remote("a", "b", "c"))
      const isBroken = (text: string) =>
        Effect.gen(function*() {
          write(path, text)
          const loaded = yield* followed.next
          assert.deepStrictEqual(namesIn(loaded).slice(0, 2), ["a", "b"])
          assert.deepStrictEqual(loaded.problems.map((_) => [_.path, _.severity]), [[path, "error"]])
          assert.match(loaded.problems[0]!.problem, / \(its last good version stays in use\)$/)
        })
      yield* isBroken(next.slice(0, 40))
      yield* isBroken("")
      write(user, remote("user", "more"))
      const other = yield* followed.next
      assert.deepStrictEqual(namesIn(other), ["a", "b", "user", "more"])
      assert.lengthOf(other.problems, 1)
      yield* isBroken("{ \"mcpServers\": 1 }")
      yield* isBroken(" ".repeat(1024 * 1024 + 1))
      unlinkSync(path)
      mkdirSync(path)
      const asDirectory = yield* followed.until((_) => _.problems[0]?.problem.includes("is a directory") === true)
      assert.deepStrictEqual(namesIn(asDirectory.at(-1)!), ["a", "b", "user", "more"])
      rmSync(path, { recursive: true })
      write(path, next)
      const whole = yield* followed.next
      assert.deepStrictEqual([namesIn(whole), whole.problems], [["a", "b", "c", "user", "more"], []])
      write(path, textOf({}))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["user", "more"])
    })))

  it.live("a file with a mistake that takes the place of another leaves the other in use", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const [first, second] = [join(project, ".mcp.json"), join(project, "mcp.json")]
      write(second, remote("second"))
      const followed = yield* follow(options)
      write(first, "{")
      const broken = yield* followed.next
      assert.deepStrictEqual(namesIn(broken), ["second"])
      assert.include(problemsIn(broken)[0], `(${second} stays in use)`)
      write(first, remote("first"))
      assert.deepStrictEqual(namesIn(yield* followed.next), ["first"])
    })))

  it.live("two follow the same files; when one ends, the other goes on", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const path = join(project, ".mcp.json")
      const ending = yield* Scope.make()
      const one = yield* Scope.extend(follow(options), ending)
      const other = yield* follow(options)
      write(path, remote("a"))
      assert.deepStrictEqual(namesIn(yield* one.next), ["a"])
      assert.deepStrictEqual(namesIn(yield* other.next), ["a"])
      yield* Scope.close(ending, Exit.void)
      write(path, remote("b"))
      assert.deepStrictEqual(namesIn(yield* other.next), ["b"])
    })))

  it.live("two editors at once, each replacing the file 25 times: nothing half is seen, and the last is what stays", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { options, project } = yield* home
      const path = join(project, ".mcp.json")
      write(path, remote("start"))
      const followed = yield* follow(options)
      yield* Effect.forEach(["one", "two"], (editor) => editing(path, editor), { concurrency: "unbounded" })
      const last: string = Object.keys(JSON.parse(readFileSync(path, "utf8")).mcpServers)[0]!
      // What was last may have been said already while both were at it.
      write(path, remote(last, "end"))
      const said = yield* followed.until(says(last, "end"))
      assert.deepStrictEqual(said.flatMap((_) => _.problems), [])
      for (const { entries: [first] } of said) assert.match(first!.name, /^(one|two) \d+$/)
    })))

  it.live("interruption closes every watcher, wherever it strikes", () =>
    LeakCheck.noLeaks(
      Effect.gen(function*() {
        const { options, project } = yield* home
        const path = join(project, ".mcp.json")
        for (let turns = 0; turns < 40; turns++) {
          write(path, remote(`${turns}`))
          const fiber = yield* Effect.fork(Stream.runDrain(ConfigFiles.changes(options)))
          for (let i = 0; i < turns; i++) {
            yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
            if (i === 20) write(path, remote("changed"))
          }
          yield* Fiber.interrupt(fiber)
        }
      }).pipe(Effect.scoped)
    ))
})

const turn = TestServices.provideLive(Effect.sleep(1))

const asleep = Effect.gen(function*() {
  const now = yield* Clock.currentTimeMillis
  return [...yield* TestClock.sleeps()].map((_) => _ - now)
})

/** Moves on what waits for quiet, and nothing that waits for longer. */
const step = Effect.gen(function*() {
  if ((yield* asleep).includes(50)) yield* TestClock.adjust(50)
  yield* turn
})

/** Waits, in real time, until something sleeps for so long. */
const awaitSleep = (millis: number) =>
  Effect.gen(function*() {
    for (let i = 0; i < 10_000; i++) {
      if ((yield* asleep).includes(millis)) return
      yield* step
    }
    assert.fail(`nothing sleeps for ${millis} ms, but ${(yield* asleep).join()}`)
  })

/** Waits while the time goes on as far as that. */
const stepping = <A>(effect: Effect.Effect<A>) => Effect.raceFirst(effect, Effect.forever(step))

describe("changes, by the clock", () => {
  it.scoped("a file that an editor renames away and writes anew was never gone", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      const path = join(project, ".mcp.json")
      write(path, remote("a"))
      const followed = yield* follow(options)
      yield* awaitSleep(15_000)
      renameSync(path, `${path}~`)
      yield* awaitSleep(500)
      writeFileSync(path, textOf(remote("a", "b")))
      assert.deepStrictEqual(namesIn(yield* stepping(followed.next)), ["a", "b"])
    }))

  it.scoped("a file that does not come back is gone half a second later", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      const path = join(project, ".mcp.json")
      write(path, remote("a"))
      const followed = yield* follow(options)
      yield* awaitSleep(15_000)
      unlinkSync(path)
      yield* awaitSleep(500)
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(namesIn(yield* followed.next), [])
    }))

  it.scoped("while writes go on, nothing is said, and then the last", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, ".mcp.json"), remote("start"))
      const followed = yield* follow(options)
      yield* awaitSleep(15_000)
      for (let i = 1; i <= 50; i++) {
        write(join(project, ".mcp.json"), remote(`${i}`))
        yield* turn
      }
      assert.deepStrictEqual(namesIn(yield* stepping(followed.next)), ["50"])
    }))

  it.scoped("a look that sees the same says nothing", () =>
    Effect.gen(function*() {
      const { options, project, user } = yield* home
      write(join(project, ".mcp.json"), remote("a"))
      write(user, "not JSON")
      const followed = yield* follow({ ...options, explicit: ["missing.json", project] })
      for (let i = 0; i < 3; i++) {
        yield* awaitSleep(15_000)
        yield* TestClock.adjust("15 seconds")
      }
      yield* awaitSleep(15_000)
      write(join(project, ".mcp.json"), remote("b"))
      assert.deepStrictEqual(namesIn(yield* stepping(followed.next)), ["b"])
    }))

  it.scoped("what no event tells is seen after 15 seconds", () =>
    Effect.gen(function*() {
      const { options, project, root } = yield* home
      const cwd = join(project, "deep", "down")
      write(join(cwd, ".mcp.json"), remote("a"))
      const followed = yield* follow({ ...options, cwd, user: false })
      yield* awaitSleep(15_000)
      // An ancestor of the parent is not watched.
      renameSync(join(root, "work"), join(root, "other"))
      write(join(cwd, ".mcp.json"), remote("b"))
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(namesIn(yield* followed.next), ["b"])
      yield* awaitSleep(15_000)
      write(join(cwd, ".mcp.json"), remote("c"))
      assert.deepStrictEqual(namesIn(yield* stepping(followed.next)), ["c"])
    }))
})
