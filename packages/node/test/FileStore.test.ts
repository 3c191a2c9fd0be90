import { KeyValueStore } from "@effect/platform"
import { type PlatformError, SystemError } from "@effect/platform/Error"
import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpConfig, type McpProtocol, McpTransport } from "@mcp-runtime/core"
import { FileStore, NodeMcp } from "@mcp-runtime/node"
import { Effect, Either, FastCheck, Logger, LogLevel, Option } from "effect"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { entryName, isEntryName, isTemporaryName, temporaryName } from "../src/internal/store/fileName.js"
import { cacheOf } from "../src/internal/store/userDirectory.js"
import { directory } from "./internal/connections.js"
import { until } from "./internal/processes.js"
import { contentOf, problemOf, server } from "./internal/storeContent.js"

const hostScript = fileURLToPath(new URL("./internal/storeHost.ts", import.meta.url))

const tool = (name: string): McpProtocol.Tool => ({ name, inputSchema: { type: "object" } })

const backdate = (path: string, millis: number) => {
  const then = new Date(Date.now() - millis)
  utimesSync(path, then, then)
}

const hour = 60 * 60 * 1000

const failure = <A>(effect: Effect.Effect<A, PlatformError>) =>
  Effect.map(Effect.flip(Effect.asVoid(effect)), (error) => {
    assert(error instanceof SystemError)
    return error.reason
  })

describe("FileStore", () => {
  it.scoped("is a KeyValueStore: texts and bytes are kept, replaced, counted and removed", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const store = FileStore.make(join(path, "a", "b"))
      assert.isTrue(Option.isNone(yield* store.get("x")))
      assert.isTrue(yield* store.isEmpty)
      yield* store.remove("x")
      yield* store.clear
      assert.isFalse(existsSync(join(path, "a")))

      yield* store.set("x", "one")
      yield* store.set("x", "zwei \u{1f600}")
      yield* store.set("y", Uint8Array.of(0, 255, 128))
      assert.deepStrictEqual(yield* store.get("x"), Option.some("zwei \u{1f600}"))
      assert.deepStrictEqual(Option.map(yield* store.getUint8Array("y"), (_) => [..._]), Option.some([0, 255, 128]))
      assert.strictEqual(yield* store.size, 2)
      assert.deepStrictEqual(yield* store.modify("x", (_) => _.slice(0, 4)), Option.some("zwei"))
      const again = FileStore.make(join(path, "a", "b"))
      assert.deepStrictEqual(yield* again.get("x"), Option.some("zwei"))
      yield* again.remove("x")
      assert.isFalse(yield* store.has("x"))
      yield* store.clear
      assert.strictEqual(yield* store.size, 0)
    }))

  it.scoped("files and directories are the user's alone, and no temporary file stays", () =>
    Effect.gen(function*() {
      const path = join(yield* directory, "cache", "own")
      const store = FileStore.make(path)
      yield* store.set("x", "1")
      yield* store.set("x", "2")
      assert.deepStrictEqual(readdirSync(path), [entryName("x")])
      assert.strictEqual(statSync(path).mode & 0o777, 0o700)
      assert.strictEqual(statSync(join(path, "..")).mode & 0o777, 0o700)
      assert.strictEqual(statSync(join(path, entryName("x"))).mode & 0o777, 0o600)
    }))

  it.scoped("what is not ours is neither counted nor removed, nor written through", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const store = FileStore.make(path)
      writeFileSync(join(path, "mine.txt"), "mine")
      writeFileSync(join(path, "other"), "other")
      symlinkSync(join(path, "other"), join(path, entryName("x")))
      yield* store.set("x", "1")
      assert.strictEqual(readFileSync(join(path, "other"), "utf8"), "other")
      assert.strictEqual(yield* store.size, 1)
      yield* store.clear
      assert.deepStrictEqual(readdirSync(path).sort(), ["mine.txt", "other"])
    }))

  it.live("leftovers of dead writers are removed after an hour, entries when they expire, and nothing else", () =>
    Effect.scoped(Effect.gen(function*() {
      const path = yield* directory
      const old = [temporaryName(), temporaryName()]
      const young = temporaryName()
      for (const name of [...old, young, "tmp-notes", "mine", entryName("old"), entryName("new")]) {
        writeFileSync(join(path, name), "")
      }
      mkdirSync(join(path, temporaryName()))
      for (const name of readdirSync(path)) if (name !== young) backdate(join(path, name), 2 * hour)
      backdate(join(path, young), hour / 2)
      backdate(join(path, entryName("old")), 25 * hour)
      const before = readdirSync(path)
      yield* FileStore.make(path).set("x", "1")
      const kept = before.filter((_) => !old.includes(_))
      assert.deepStrictEqual(readdirSync(path).sort(), [...kept, entryName("x")].sort())
      yield* FileStore.make(path, { expireAfter: "1 day" }).set("x", "1")
      assert.deepStrictEqual(
        readdirSync(path).sort(),
        [...kept.filter((_) => _ !== entryName("old")), entryName("x")].sort()
      )
    })))

  it.scoped("what is there and is no entry fails, and hangs nobody: a directory, a named pipe, a file too large", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const store = FileStore.make(path)
      mkdirSync(join(path, entryName("directory")))
      execFileSync("mkfifo", [join(path, entryName("pipe"))])
      writeFileSync(join(path, entryName("large")), "")
      truncateSync(join(path, entryName("large")), 256 * 1024 * 1024 + 1)
      for (const key of ["directory", "pipe", "large"]) {
        assert.strictEqual(yield* failure(store.get(key)), "InvalidData")
      }
      yield* store.set("pipe", "1")
      yield* store.set("large", "2")
      assert.deepStrictEqual(yield* store.get("pipe"), Option.some("1"))
      assert.deepStrictEqual(yield* store.get("large"), Option.some("2"))
      yield* failure(store.set("directory", "3"))
      assert.lengthOf(readdirSync(path), 3)
    }))

  it.scoped("hostile co-tenant: an entry that another user has left, or could have written, is none, and is replaced", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const store = FileStore.make(path)
      yield* store.set("open", "1")
      chmodSync(join(path, entryName("open")), 0o622)
      assert.strictEqual(yield* failure(store.get("open")), "InvalidData")
      yield* store.set("open", "2")
      assert.deepStrictEqual(yield* store.get("open"), Option.some("2"))
      // Only root can give a file away.
      if (process.getuid?.() !== 0) return
      yield* store.set("foreign", "1")
      chownSync(join(path, entryName("foreign")), 65534, 65534)
      assert.strictEqual(yield* failure(store.get("foreign")), "InvalidData")
      yield* store.set("foreign", "2")
      assert.deepStrictEqual(yield* store.get("foreign"), Option.some("2"))
    }))

  it.scoped("hostile co-tenant: a link in the place of an entry is not read through, and is replaced, not written through", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const store = FileStore.make(path)
      yield* store.set("mine", "1")
      const elsewhere = join(yield* directory, "chosen.json")
      writeFileSync(elsewhere, "chosen by another", { mode: 0o600 })
      for (const target of [elsewhere, entryName("mine"), "nowhere"]) {
        rmSync(join(path, entryName("link")), { force: true })
        symlinkSync(target, join(path, entryName("link")))
        assert.strictEqual(yield* failure(store.get("link")), "InvalidData", target)
      }
      yield* store.set("link", "2")
      assert.deepStrictEqual(yield* store.get("link"), Option.some("2"))
      assert.deepStrictEqual(yield* store.get("mine"), Option.some("1"))
      assert.strictEqual(readFileSync(elsewhere, "utf8"), "chosen by another")
      assert.deepStrictEqual(readdirSync(path).sort(), [entryName("link"), entryName("mine")].sort())
    }))

  it.scoped("a directory that can't be made or written is an error that says so", () =>
    Effect.gen(function*() {
      const path = yield* directory
      writeFileSync(join(path, "file"), "")
      const inFile = FileStore.make(join(path, "file", "store"))
      assert.strictEqual(yield* failure(inFile.set("x", "1")), "BadResource")
      const inProc = FileStore.make("/proc/mcp-runtime-test")
      assert.isTrue(Option.isNone(yield* inProc.get("x")))
      yield* failure(inProc.set("x", "1"))
    }))
})

describe("names of files", () => {
  it("different keys have different names, also where case is ignored; none is long or leads elsewhere", () => {
    const key = FastCheck.oneof(
      FastCheck.string({ unit: "binary", maxLength: 300 }),
      FastCheck.stringMatching(/^[aA.%/\\_-]{0,6}$/),
      FastCheck.constantFrom("", ".", "..", "../x", "/etc/passwd", "con", "CON", "a\0b", "\ud800", "\udfff", "\ufffd")
    )
    FastCheck.assert(
      FastCheck.property(key, key, (a, b) => {
        const name = entryName(a)
        assert.isTrue(isEntryName(name) && !isTemporaryName(name), name)
        assert.isAtMost(Buffer.byteLength(name), 200)
        assert.strictEqual(basename(name), name)
        assert.strictEqual(name, name.toLowerCase())
        assert.strictEqual(a === b, entryName(b) === name)
      }),
      { numRuns: 2000 }
    )
    const long = "a".repeat(10_000)
    assert.notStrictEqual(entryName(long), entryName(`${long}b`))
    assert.isFalse(isEntryName(temporaryName()))
    assert.isTrue(isTemporaryName(temporaryName()))
  })

  it.scoped("any key can be used", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const store = FileStore.make(path)
      const keys = ["", ".", "..", "../../x", "/x", "A", "a", "nul", "\0", "\ud800", "x".repeat(5000)]
      yield* Effect.forEach(keys, (key) => store.set(key, `of ${key.length} ${key === "A"}`))
      for (const key of keys) {
        assert.deepStrictEqual(yield* store.get(key), Option.some(`of ${key.length} ${key === "A"}`))
      }
      assert.lengthOf(readdirSync(path), keys.length)
    }))
})

describe("FileStore.cacheDirectory", () => {
  it("is where each system keeps such things", () => {
    const of = (platform: NodeJS.Platform, env: Record<string, string>, home: string) =>
      Option.getOrUndefined(cacheOf(platform, env, home))
    assert.strictEqual(of("linux", {}, "/home/a"), "/home/a/.cache/mcp-runtime")
    assert.strictEqual(of("linux", { XDG_CACHE_HOME: "/c" }, "/home/a"), "/c/mcp-runtime")
    assert.strictEqual(of("linux", { XDG_CACHE_HOME: "c" }, "/home/a"), "/home/a/.cache/mcp-runtime")
    assert.strictEqual(of("linux", { XDG_CACHE_HOME: "" }, "/home/a"), "/home/a/.cache/mcp-runtime")
    assert.isUndefined(of("linux", {}, ""))
    assert.strictEqual(of("darwin", { XDG_CACHE_HOME: "/c" }, "/Users/a"), "/Users/a/Library/Caches/mcp-runtime")
    assert.strictEqual(of("win32", { LOCALAPPDATA: "C:\\L" }, "C:\\U"), "C:\\L\\mcp-runtime\\Cache")
    assert.strictEqual(of("win32", {}, "C:\\U"), "C:\\U\\AppData\\Local\\mcp-runtime\\Cache")
  })
})

interface Host {
  readonly child: ChildProcess
  readonly output: () => string
}

const startHost = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync((): Host => {
      const child = spawn(
        process.execPath,
        ["--import", "tsx", "--conditions=@mcp-runtime/source", hostScript, ...args],
        { stdio: ["pipe", "pipe", "inherit"] }
      )
      let output = ""
      child.stdout!.on("data", (chunk) => output += String(chunk))
      child.stdin!.on("error", () => {})
      return { child, output: () => output }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

const reported = ({ child, output }: Host) =>
  Effect.map(until("the process has ended", () => child.exitCode !== null), () => {
    assert.strictEqual(child.exitCode, 0, output())
    return JSON.parse(output().trim().split("\n").at(-1)!) as { readonly problem?: string }
  })

describe("several processes", () => {
  it.live(
    "write one entry at once, and one is killed: every read is a whole entry",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const path = yield* directory
        const { of } = yield* Effect.provide(CatalogStore.CatalogStore, NodeMcp.layerCatalog(path))
        const storage = of(yield* McpConfig.decode(server))
        yield* storage.save("tools", contentOf(0, 0))
        const writers = yield* Effect.forEach(["1", "2"], (writer) => startHost("write", path, writer))
        const readers = yield* Effect.forEach(["1"], (reader) => startHost("read", path, reader))
        const hosts = [...writers, ...readers]
        // Three processes compile all of the library, on a machine that may be busy.
        yield* until("all are ready", () => hosts.every((_) => _.output().includes("ready")), "90 seconds")
        for (const { child } of hosts) child.stdin!.write("go\n")
        const seen = new Set<string>()
        let reads = 0
        while (reads < 200 || seen.size < 2) {
          const stored = yield* storage.load("tools")
          assert(stored !== undefined, `nothing at read ${reads}`)
          assert.isUndefined(problemOf(stored.items))
          seen.add(stored.items[0]!.name.split("/")[0]!)
          reads++
          if (reads === 100) writers[0]!.child.kill("SIGKILL")
          assert.isBelow(reads, 100_000)
        }
        const survivors = hosts.slice(1)
        yield* until("they have written and read, too", () => survivors.every((_) => _.output().includes("busy")))
        for (const { child } of hosts) child.stdin!.end()
        for (const host of survivors) assert.isUndefined((yield* reported(host)).problem)
        assert.isUndefined(problemOf((yield* storage.load("tools"))!.items))
        const left = readdirSync(path).filter((_) => !isEntryName(_))
        assert.isAtMost(left.length, 1)
        assert.isTrue(left.every(isTemporaryName))
      })),
    180_000
  )
})

describe("NodeMcp", () => {
  const saveAndLoad = Effect.gen(function*() {
    const { of } = yield* CatalogStore.CatalogStore
    const storage = of(yield* McpConfig.decode(server))
    yield* storage.save("tools", [tool("a")])
    return yield* storage.load("tools")
  })

  it.live("layer has transports, and lists in the user's cache directory; nothing is touched before they are used", () =>
    Effect.scoped(Effect.gen(function*() {
      const path = yield* directory
      const before = process.env.XDG_CACHE_HOME
      yield* Effect.acquireRelease(
        Effect.sync(() => process.env.XDG_CACHE_HOME = path),
        () =>
          Effect.sync(() => {
            if (before === undefined) delete process.env.XDG_CACHE_HOME
            else process.env.XDG_CACHE_HOME = before
          })
      )
      yield* Effect.provide(Effect.zipRight(McpTransport.McpTransport, CatalogStore.CatalogStore), NodeMcp.layer)
      assert.deepStrictEqual(readdirSync(path), [])
      assert.lengthOf((yield* Effect.provide(saveAndLoad, NodeMcp.layer))!.items, 1)
      assert.deepStrictEqual(readdirSync(path), ["mcp-runtime"])
    })))

  it.live("a directory that can't be used, for whatever reason, is as if nothing were stored", () =>
    Effect.scoped(Effect.gen(function*() {
      const path = yield* directory
      writeFileSync(join(path, "file"), "")
      const closed = join(path, "closed")
      mkdirSync(closed)
      chmodSync(closed, 0o500)
      const lines: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => lines.push(`${logLevel.label} ${message}`))
      const places = [
        join(path, "file"),
        join(path, "file", "below"),
        "/proc/mcp-runtime-test",
        `/dev/null/${randomUUID()}`
      ]
      // Root may write everywhere.
      if (process.getuid?.() !== 0) places.push(closed)
      for (const place of places) {
        const stored = yield* Effect.provide(saveAndLoad, NodeMcp.layerCatalog(place)).pipe(
          Logger.withMinimumLogLevel(LogLevel.Debug),
          Effect.provide(Logger.replace(Logger.defaultLogger, logger))
        )
        assert.isUndefined(stored)
      }
      assert.isAtLeast(lines.length, places.length)
      for (const line of lines) assert.match(line, /^DEBUG .*could not be (stored|read): \w+$/)
    })))

  it.live("torn entries, as a loss of power may leave them, are as if nothing were stored", () =>
    Effect.scoped(Effect.gen(function*() {
      const path = yield* directory
      const { of } = yield* Effect.provide(CatalogStore.CatalogStore, NodeMcp.layerCatalog(path))
      const storage = of(yield* McpConfig.decode(server))
      yield* storage.save("tools", contentOf(0, 1))
      const [name] = readdirSync(path)
      const whole = readFileSync(join(path, name!))
      for (const size of [0, 1, whole.length / 2, whole.length - 1]) {
        writeFileSync(join(path, name!), whole.subarray(0, size))
        assert.isUndefined(yield* storage.load("tools"))
      }
      writeFileSync(join(path, name!), Buffer.concat([whole.subarray(0, 100), Buffer.alloc(whole.length - 100)]))
      assert.isUndefined(yield* storage.load("tools"))
      yield* storage.save("tools", contentOf(0, 1))
      assert.deepStrictEqual(readFileSync(join(path, name!)).length, whole.length)
    })))

  it.live("no secret is in the name or the text of any file", () =>
    Effect.scoped(Effect.gen(function*() {
      const path = yield* directory
      const { of } = yield* Effect.provide(CatalogStore.CatalogStore, NodeMcp.layerCatalog(path))
      const secret = `SECRET${randomUUID()}`
      const http = {
        name: "b",
        url: `https://${secret}:${secret}@mcp.test/?key=${secret}`,
        headers: { Authorization: secret },
        tls: { key: secret, passphrase: secret },
        proxy: `http://${secret}:${secret}@proxy.test`,
        requestHeaders: Effect.succeed({ a: secret })
      }
      const configs: ReadonlyArray<McpConfig.ServerConfigInput> = [
        { name: "a", transport: "stdio", command: "c", env: { TOKEN: secret } },
        { ...http, transport: "http" },
        { ...http, transport: "sse" }
      ]
      for (const input of configs) yield* of(yield* McpConfig.decode(input)).save("tools", [tool("a")])
      assert.lengthOf(readdirSync(path), configs.length)
      for (const name of readdirSync(path)) {
        assert.notInclude(`${name} ${readFileSync(join(path, name), "utf8")}`.toLowerCase(), secret.toLowerCase())
      }
    })))

  it.effect("as a layer of the platform's service", () =>
    Effect.scoped(Effect.gen(function*() {
      const path = yield* directory
      const use = Effect.flatMap(
        KeyValueStore.KeyValueStore,
        (store) => Effect.zipRight(store.set("x", "1"), store.get("x"))
      )
      const got = yield* Effect.either(Effect.provide(use, FileStore.layer(path)))
      assert.deepStrictEqual(got, Either.right(Option.some("1")))
      rmSync(path, { recursive: true })
      mkdirSync(path)
    })))
})
