import { KeyValueStore } from "@effect/platform"
import { SystemError } from "@effect/platform/Error"
import { assert, describe, it } from "@effect/vitest"
import { type Catalog, CatalogStore, type McpConfig, McpError, type McpProtocol } from "@mcp-runtime/core"
import {
  Deferred,
  Duration,
  Effect,
  Either,
  Exit,
  FastCheck,
  Fiber,
  HashMap,
  Layer,
  Logger,
  LogLevel,
  Option,
  Redacted,
  Scope,
  TestClock
} from "effect"
import { Writes } from "../src/internal/catalog/writes.js"
import { config, http, otherServers, stdio } from "./otherServers.js"

const kinds = ["tools", "prompts", "resources", "templates"] as const

const tool = (name: string): McpProtocol.Tool => ({ name, inputSchema: { type: "object" } })

const keyOf = CatalogStore.keyOf
const entryKey = (server: McpConfig.ServerConfig, kind: Catalog.Kind) =>
  Effect.map(keyOf(server), (hash) => `mcp-catalog.v1.${hash}.${kind}`)

const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))

/** A store whose contents can be seen and changed, and whose steps can be replaced. */
const memory = (over: Partial<KeyValueStore.KeyValueStore> = {}) => {
  const entries = new Map<string, string>()
  const store = KeyValueStore.make({
    get: (key) => Effect.sync(() => Option.fromNullable(entries.get(key))),
    getUint8Array: () => Effect.succeedNone,
    set: (key, value) => Effect.sync(() => void entries.set(key, String(value))),
    remove: (key) => Effect.sync(() => void entries.delete(key)),
    clear: Effect.sync(() => entries.clear()),
    size: Effect.sync(() => entries.size),
    ...over
  })
  return { entries, layer: Layer.succeed(KeyValueStore.KeyValueStore, store) }
}

/** The lists of one server in this store. The end of the layer is not waited for: it would wait for the clock. */
const storageOver = (
  store: { readonly layer: Layer.Layer<KeyValueStore.KeyValueStore> },
  server: McpConfig.ServerConfig = stdio()
) =>
  Effect.gen(function*() {
    const context = yield* Layer.buildWithScope(
      Layer.provide(CatalogStore.layer(), store.layer),
      yield* Scope.make()
    )
    const { of } = yield* Effect.provide(CatalogStore.CatalogStore, context)
    return of(server)
  })

const names = (stored: Catalog.Stored<McpProtocol.Tool> | undefined) => stored?.items.map((_) => _.name)

describe("CatalogStore.keyOf", () => {
  it.effect("the same server has the same key, whatever the order of its fields and names", () =>
    Effect.gen(function*() {
      const one = yield* keyOf(
        config({ name: "a", transport: "stdio", command: "c", env: { A: "1", B: "2" }, inheritEnv: ["X", "Y"] })
      )
      const other = yield* keyOf(
        config({ inheritEnv: ["Y", "X", "X"], env: { B: "2", A: "1" }, command: "c", transport: "stdio", name: "a" })
      )
      assert.strictEqual(one, other)
      assert.match(one!, /^[0-9a-f]{64}$/)
      const spelled = yield* Effect.forEach(
        [["A", "B"], ["b", "a"]],
        ([x, y]) =>
          keyOf(http({ url: `https://MCP.test:443/a?${y}&${x}#f`.toLowerCase(), headers: { [x!]: "1", [y!]: "2" } }))
      )
      assert.strictEqual(spelled[0], spelled[1])
    }))

  it.effect("two servers of one name and different configurations have different keys", () =>
    Effect.gen(function*() {
      const keys = yield* Effect.forEach(otherServers, (_) => keyOf(_))
      assert.strictEqual(new Set(keys).size, otherServers.length)
      assert.notInclude(keys, undefined)
    }))

  it.effect("a process has another key in each directory that it may be started in, unless its own is a whole path", () =>
    Effect.gen(function*() {
      const relative = [
        stdio(),
        stdio({ cwd: "sub" }),
        stdio({ cwd: "." }),
        stdio({ cwd: "${DIRECTORY}", expand: true }),
        // Not with `expand`: a name.
        stdio({ cwd: "${userHome}" }),
        stdio({ cwd: "C:/a" })
      ]
      for (const server of relative) {
        const keys = yield* Effect.forEach(["/one", "/two", undefined], (directory) => keyOf(server, { directory }))
        assert.strictEqual(new Set(keys).size, 3, JSON.stringify(server))
        assert.strictEqual(yield* keyOf(server, { directory: "/one" }), keys[0])
      }
      const whole = [
        stdio({ cwd: "/a" }),
        stdio({ cwd: "${userHome}/a", expand: true }),
        stdio({ cwd: "${workspaceFolder}", expand: { workspaceFolder: "/a" } }),
        http()
      ]
      for (const server of whole) {
        const keys = yield* Effect.forEach(["/one", "/two"], (directory) => keyOf(server, { directory }))
        assert.strictEqual(keys[0], keys[1], JSON.stringify(server))
      }
      const onWindows = (server: McpConfig.ServerConfig) =>
        Effect.forEach(["C:\\one", "C:\\two"], (directory) => keyOf(server, { directory }))
      for (const cwd of ["C:\\a", "d:/a", "\\\\share\\a"]) {
        const [one, two] = yield* onWindows(stdio({ cwd }))
        assert.strictEqual(one, two, cwd)
      }
      const [one, two] = yield* onWindows(stdio({ cwd: "\\a" }))
      assert.notStrictEqual(one, two)
    }))

  it.effect("a store that is told where processes start keeps the lists of each directory apart", () =>
    Effect.gen(function*() {
      const store = memory()
      const inDirectory = (directory: Effect.Effect<string>) =>
        Effect.gen(function*() {
          const layer = Layer.provide(CatalogStore.layer({ directory }), store.layer)
          const { of } = yield* Effect.provide(
            CatalogStore.CatalogStore,
            yield* Layer.buildWithScope(layer, yield* Scope.make())
          )
          return of(stdio())
        })
      const strange = yield* inDirectory(Effect.succeed("/tmp/strange"))
      yield* strange.save("tools", [tool("hostile")])
      const own = yield* inDirectory(Effect.succeed("/home/ada/own"))
      assert.isUndefined(yield* own.load("tools"))
      assert.deepStrictEqual(names(yield* strange.load("tools")), ["hostile"])
      // A directory that is gone.
      const nowhere = yield* inDirectory(Effect.die(new Error("ENOENT")))
      yield* nowhere.save("tools", [tool("hostile")])
      assert.isUndefined(yield* nowhere.load("tools"))
      assert.strictEqual(store.entries.size, 1)
    }))

  it.effect("what does not change what a server offers is no part of it", () =>
    Effect.gen(function*() {
      const common = {
        timeouts: { request: "5 minutes" },
        limits: { items: 3 },
        logLevel: "error",
        enabled: false,
        concurrency: "serial",
        lifetime: { idle: "1 second" },
        trusted: true,
        keepAlive: { every: "1 second" }
      } as const
      assert.strictEqual(yield* keyOf(stdio()), yield* keyOf(stdio({ ...common, shutdown: { afterEof: "1 second" } })))
      assert.strictEqual(
        yield* keyOf(http()),
        yield* keyOf(
          http({ ...common, maxConnections: 1, recovery: "isolated", tls: { verify: true, key: "k", cert: "c" } })
        )
      )
    }))

  it.effect("a server in this process has none, nor has anything without Web Crypto or a usable URL", () =>
    Effect.gen(function*() {
      const server = () => ({ connect: () => Promise.resolve() })
      assert.isUndefined(yield* keyOf(config({ name: "a", transport: "inMemory", server })))
      assert.isUndefined(yield* keyOf({ name: "a", transport: "http", url: "nowhere" }))
      const original = Object.getOwnPropertyDescriptor(globalThis, "crypto")!
      const broken = [
        undefined,
        {},
        { subtle: { digest: () => Promise.reject(new Error("no")) } },
        { subtle: { digest: () => Promise.resolve(undefined) } }
      ]
      yield* Effect.forEach(broken, (value) =>
        Effect.acquireUseRelease(
          Effect.sync(() => Object.defineProperty(globalThis, "crypto", { configurable: true, value })),
          () => Effect.map(keyOf(stdio()), assert.isUndefined),
          () => Effect.sync(() => Object.defineProperty(globalThis, "crypto", original))
        ))
    }))
})

describe("secrets", () => {
  const secret = FastCheck.stringMatching(/^[A-Za-z0-9]{12,40}$/).map((_) => `SECRET${_}`)

  const withSecrets = (s: string): ReadonlyArray<McpConfig.ServerConfig> => [
    stdio({ args: ["--all"], env: { TOKEN: s, OTHER: Redacted.make(s) } }),
    ...(["http", "sse", "auto"] as const).map((transport) =>
      http({
        transport,
        url: `https://user${s}:${s}@mcp.test/a?key=${s}&other=${s}#${s}`,
        headers: { Authorization: `Bearer ${s}`, "X-Key": Redacted.make(s) },
        requestHeaders: Effect.succeed({ [s]: s }),
        tls: { key: s, passphrase: s, cert: s, ca: ["public"] },
        proxy: `http://${s}:${s}@proxy.test:1`
      })
    )
  ]

  it.effect("no secret is in a key, an entry or a line of the log, and a rotated one keeps the key", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(secret, secret, async (one, other) => {
          const lines: Array<string> = []
          const logger = Logger.make(({ annotations, cause, message }) =>
            lines.push(JSON.stringify([message, cause, [...annotations]]))
          )
          const refused = new SystemError({ module: "KeyValueStore", method: "get", reason: "Busy", description: one })
          await Effect.runPromise(
            Effect.gen(function*() {
              for (const [i, server] of withSecrets(one).entries()) {
                assert.strictEqual(yield* keyOf(server), yield* keyOf(withSecrets(other)[i]!))
                const store = memory()
                const storage = yield* storageOver(store, server)
                yield* Effect.forEach(kinds, (kind) => storage.save(kind, [{ ...tool("x"), uri: "x:" }] as never))
                const text = JSON.stringify([...store.entries])
                assert.include(text, `\\"kind\\":\\"tools\\"`)
                assert.notInclude(text, one)
                assert.notInclude(text, "Bearer")
                const failing = memory({ get: () => Effect.fail(refused), set: () => Effect.die(new Error(one)) })
                const unable = yield* storageOver(failing, server)
                yield* unable.load("tools")
                yield* unable.save("tools", [tool("x")])
              }
            }).pipe(
              Logger.withMinimumLogLevel(LogLevel.Debug),
              Effect.provide(Logger.replace(Logger.defaultLogger, logger))
            )
          )
          assert.isAbove(lines.length, 0)
          assert.notInclude(lines.join("\n"), one)
        }),
        { numRuns: 25 }
      )
    ))
})

describe("entries", () => {
  it.effect("each kind is stored apart, and comes back whole and frozen, in another program", () =>
    Effect.gen(function*() {
      const store = memory()
      const items = {
        tools: [{ ...tool("read"), outputSchema: { type: "object" }, _meta: { a: [1, { b: null }] } }, tool("write")],
        prompts: [{ name: "ask", arguments: [{ name: "a", required: true }] }],
        resources: [{ uri: "file:///a", name: "a", size: 3 }],
        templates: [{ uriTemplate: "file:///{a}", name: "t" }]
      }
      const first = yield* storageOver(store)
      yield* TestClock.setTime(5000)
      yield* Effect.forEach(kinds, (kind) => first.save(kind, items[kind] as never))
      yield* TestClock.setTime(9000)
      const second = yield* storageOver(store)
      for (const kind of kinds) {
        const stored = yield* second.load(kind)
        assert.deepStrictEqual(stored, { items: items[kind], dropped: [], listedAt: 5000 } as never)
        assert.isTrue(isDeepFrozen(stored))
      }
      const other = yield* storageOver(store, stdio({ args: ["other"] }))
      assert.isUndefined(yield* other.load("tools"))
      for (const key of store.entries.keys()) {
        assert.match(key, /^mcp-catalog\.v1\.[0-9a-f]{64}\.(tools|prompts|resources|templates)$/)
      }
    }))

  it.effect("an empty list is never stored: saving one removes the entry", () =>
    Effect.gen(function*() {
      const store = memory()
      const storage = yield* storageOver(store)
      yield* storage.save("tools", [])
      assert.strictEqual(store.entries.size, 0)
      yield* storage.save("tools", [tool("a")])
      yield* storage.save("prompts", [{ name: "p" }])
      yield* storage.save("tools", [])
      assert.isUndefined(yield* storage.load("tools"))
      assert.lengthOf((yield* storage.load("prompts"))!.items, 1)
      assert.strictEqual(store.entries.size, 1)
    }))

  it.effect("a list with a number that JSON has no text for is not stored: it would come back as another one (found by the fuzz)", () =>
    Effect.gen(function*() {
      const store = memory()
      const storage = yield* storageOver(store)
      const limited = (maximum: unknown): McpProtocol.Tool =>
        ({ ...tool("a"), inputSchema: { type: "object", properties: { n: { maximum, default: null } } } }) as never
      const items = [limited(7)]
      yield* storage.save("tools", items)
      assert.deepStrictEqual((yield* storage.load("tools"))?.items, items)
      for (const text of ["1e999", "-1e999"]) {
        yield* storage.save("tools", [tool("b"), limited(JSON.parse(text))])
        assert.isUndefined(yield* storage.load("tools"))
      }
    }))

  it.effect("too old, at the exact moment; from the future, but for a small skew", () =>
    Effect.gen(function*() {
      const storage = yield* storageOver(memory())
      const day = Duration.toMillis("1 day")
      yield* TestClock.setTime(day)
      yield* storage.save("tools", [tool("a")])
      yield* TestClock.setTime(31 * day)
      assert.deepStrictEqual(names(yield* storage.load("tools")), ["a"])
      yield* TestClock.setTime(31 * day + 1)
      assert.isUndefined(yield* storage.load("tools"))
      yield* TestClock.setTime(day - 5 * 60_000)
      assert.deepStrictEqual(names(yield* storage.load("tools")), ["a"])
      yield* TestClock.setTime(day - 5 * 60_000 - 1)
      assert.isUndefined(yield* storage.load("tools"))
    }))

  it.effect("what is not exactly an entry of this list is ignored, and replaced by the next save", () =>
    Effect.gen(function*() {
      const store = memory()
      const storage = yield* storageOver(store)
      yield* storage.save("prompts", [{ name: "p" }])
      yield* storage.save("tools", [tool("a")])
      const other = memory()
      yield* (yield* storageOver(other, http())).save("tools", [tool("foreign")])
      const key = yield* entryKey(stdio(), "tools")
      const good = store.entries.get(key)!
      const entry = JSON.parse(good) as Record<string, unknown>
      const changed = (over: object) => JSON.stringify({ ...entry, ...over })
      const bad: ReadonlyArray<readonly [string, unknown]> = [
        ["empty", ""],
        ["no JSON", "{"],
        ["no object", "[]"],
        ["null", "null"],
        ["a number", "1"],
        ["of another server", [...other.entries.values()][0]],
        ["of another kind", store.entries.get(yield* entryKey(stdio(), "prompts"))],
        ["kind", changed({ kind: "prompts" })],
        ["key", changed({ key: "mcp-catalog.v1.x.tools" })],
        ["no key", changed({ key: undefined })],
        ["version", changed({ version: 2 })],
        ["version as text", changed({ version: "1" })],
        ["no version", changed({ version: undefined })],
        ["time as text", changed({ listedAt: "0" })],
        ["no time", changed({ listedAt: null })],
        ["time without end", good.replace(`"listedAt":0`, `"listedAt":-1e999`)],
        ["no items", changed({ items: undefined })],
        ["items of another shape", changed({ items: { length: 1, 0: tool("a") } })],
        ["empty items", changed({ items: [] })],
        ["only bad items", changed({ items: [1, null, {}, { name: "" }, { name: "a" }, []] })],
        ["hidden in a prototype", `{"__proto__":${good}}`],
        ["no text at all", 1]
      ]
      for (const [what, text] of bad) {
        store.entries.set(key, text as string)
        assert.isUndefined(yield* storage.load("tools"), what)
        yield* storage.save("tools", [tool("b")])
        assert.deepStrictEqual(names(yield* storage.load("tools")), ["b"], what)
      }
    }))

  it.effect("a bad item costs only itself, and names that objects have do no harm", () =>
    Effect.gen(function*() {
      const store = memory()
      const storage = yield* storageOver(store)
      const key = yield* entryKey(stdio(), "tools")
      const deep = `${"[".repeat(300)}${"]".repeat(300)}`
      const items = [
        `{"name":"good","inputSchema":{}}`,
        `{"name":"unschooled"}`,
        `{"name":"deep","inputSchema":{"a":${deep}}}`,
        `{"name":"__proto__","inputSchema":{"__proto__":{"polluted":true}},"__proto__":{"name":"x","title":"x"}}`,
        `{"__proto__":{"name":"inherited","inputSchema":{}}}`,
        `{"name":"constructor","inputSchema":{"constructor":{"prototype":{}}},"title":3}`
      ]
      store.entries.set(key, `{"version":1,"key":"${key}","kind":"tools","listedAt":0,"items":[${items.join()}]}`)
      const stored = yield* storage.load("tools")
      assert.deepStrictEqual(names(stored), ["good", "__proto__", "constructor"])
      assert.deepStrictEqual(stored!.dropped.map(({ index, name }) => [index, name]), [
        [1, "unschooled"],
        [2, undefined],
        [4, undefined]
      ])
      assert.isTrue(isDeepFrozen(stored))
      assert.isUndefined(({} as { polluted?: boolean }).polluted)
      yield* storage.save("tools", stored!.items)
      const again = yield* storage.load("tools")
      assert.strictEqual(JSON.stringify(again!.items), JSON.stringify(stored!.items))
    }))

  it.effect("any text: nothing, or whole items of an entry that is ours", () =>
    Effect.promise(async () => {
      const store = memory()
      const storage = await Effect.runPromise(storageOver(store))
      const key = await Effect.runPromise(entryKey(stdio(), "tools"))
      await Effect.runPromise(storage.save("tools", [{ ...tool("a"), title: "A" }, tool("b")]))
      const good = store.entries.get(key)!
      const at = FastCheck.nat(good.length)
      const mutated = FastCheck.oneof(
        FastCheck.json(),
        FastCheck.string({ unit: "binary" }),
        at.map((end) => good.slice(0, end)),
        FastCheck.tuple(at, at).map(([a, b]) => good.slice(0, a) + good.slice(b)),
        FastCheck.tuple(at, FastCheck.string({ minLength: 1, maxLength: 3 }))
          .map(([a, text]) => good.slice(0, a) + text + good.slice(a + text.length)),
        FastCheck.jsonValue().map((items) => JSON.stringify({ ...JSON.parse(good), items })),
        FastCheck.array(FastCheck.jsonValue()).map((items) => JSON.stringify({ ...JSON.parse(good), items }))
      )
      await FastCheck.assert(
        FastCheck.asyncProperty(mutated, async (text) => {
          store.entries.set(key, text)
          const stored = await Effect.runPromise(storage.load("tools"))
          if (stored === undefined) return
          assert.isAbove(stored.items.length, 0)
          assert.isTrue(isDeepFrozen(stored))
          for (const { inputSchema, name } of stored.items) {
            assert.isTrue(typeof name === "string" && name !== "" && typeof inputSchema === "object")
          }
        }),
        { numRuns: 1000 }
      )
    }))

  it.effect(
    "what is too large or can't be written is not stored, and what was stored before is gone",
    () =>
      Effect.gen(function*() {
        const store = memory()
        const storage = yield* storageOver(store)
        const half = { ...tool("large"), description: "x".repeat(33 * 1024 * 1024) }
        const cyclic: Record<string, unknown> = { name: "cyclic" }
        cyclic.inputSchema = cyclic
        const lists = [
          Array.from({ length: 100_001 }, () => tool("a")),
          [half, half],
          [cyclic as never],
          [{ ...tool("big"), _meta: { n: 1n } }]
        ]
        for (const list of lists) {
          yield* storage.save("tools", [tool("before")])
          assert.strictEqual(store.entries.size, 1)
          yield* storage.save("tools", list)
          assert.strictEqual(store.entries.size, 0)
        }
        yield* storage.save("tools", lists[0]!.slice(1))
        assert.lengthOf((yield* storage.load("tools"))!.items, 100_000)
        const key = yield* entryKey(stdio(), "tools")
        const text = store.entries.get(key)!
        const [first] = text.split(`"items":[`)
        store.entries.set(key, `${first}"items":[${`{"name":"a","inputSchema":{}},`.repeat(100_000)}{}]}`)
        assert.isUndefined(yield* storage.load("tools"))
        store.entries.set(key, `${first}"items":[{"name":"a","inputSchema":{}}]}${" ".repeat(64 * 1024 * 1024)}`)
        assert.isUndefined(yield* storage.load("tools"))
      }),
    60_000
  )
})

describe("a store that does not work", () => {
  const never = { interruptible: Effect.never, uninterruptible: Effect.uninterruptible(Effect.never) }

  for (const [kind, hanging] of Object.entries(never)) {
    it.effect(`one that hangs, ${kind}, hangs nobody: 1 second to load, 5 to save`, () =>
      Effect.gen(function*() {
        const asked = yield* Deferred.make<void>()
        const hang = Effect.zipRight(Deferred.succeed(asked, undefined), hanging)
        const loading = yield* storageOver(memory({ get: () => hang }))
        const load = yield* Effect.fork(Effect.uninterruptible(loading.load("tools")))
        yield* Deferred.await(asked)
        yield* TestClock.adjust(999)
        assert.isTrue(Option.isNone(yield* Fiber.poll(load)))
        yield* TestClock.adjust(1)
        assert.isUndefined(yield* Fiber.join(load))

        const askedToo = yield* Deferred.make<void>()
        const saving = yield* storageOver(
          memory({ set: () => Effect.zipRight(Deferred.succeed(askedToo, undefined), hanging) })
        )
        const save = yield* Effect.fork(saving.save("tools", [tool("a")]))
        yield* Deferred.await(askedToo)
        yield* TestClock.adjust(4999)
        assert.isTrue(Option.isNone(yield* Fiber.poll(save)))
        yield* TestClock.adjust(1)
        yield* Fiber.join(save)
      }))

    it.effect(`one that hangs, ${kind}: an interruption is obeyed at once`, () =>
      Effect.gen(function*() {
        const asked = yield* Deferred.make<void>()
        const hang = Effect.zipRight(Deferred.succeed(asked, undefined), hanging)
        const storage = yield* storageOver(memory({ get: () => hang }))
        const load = yield* Effect.fork(storage.load("tools"))
        yield* Deferred.await(asked)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(load)))
        yield* TestClock.adjust("1 second")
      }))
  }

  it.effect("one that fails, dies or throws: nothing is stored, and a line at debug level says of which server", () =>
    Effect.gen(function*() {
      const refused = new SystemError({ module: "KeyValueStore", method: "x", reason: "PermissionDenied" })
      const thrown = () => {
        throw new Error("thrown")
      }
      const lines: Array<string> = []
      const logger = Logger.make(({ annotations, logLevel, message }) =>
        lines.push(`${logLevel._tag} ${Option.getOrNull(HashMap.get(annotations, "mcp.server"))} ${message}`)
      )
      const broken = [
        memory({
          get: () => Effect.fail(refused),
          set: () => Effect.fail(refused),
          remove: () => Effect.fail(refused)
        }),
        memory({ get: () => Effect.die("bad"), set: () => Effect.die("bad"), remove: () => Effect.die("bad") }),
        memory({ get: thrown, set: thrown, remove: thrown }),
        memory({ get: () => Effect.interrupt, set: () => Effect.interrupt, remove: () => Effect.interrupt })
      ]
      yield* Effect.forEach(broken, (store) =>
        Effect.gen(function*() {
          const storage = yield* storageOver(store)
          assert.isUndefined(yield* storage.load("tools"))
          yield* storage.save("tools", [tool("a")])
          yield* storage.save("tools", [])
        })).pipe(
          Logger.withMinimumLogLevel(LogLevel.Debug),
          Effect.provide(Logger.replace(Logger.defaultLogger, logger))
        )
      assert.lengthOf(lines, 12)
      assert.strictEqual(
        lines[0],
        "Debug files what is stored of the tools could not be read: PermissionDenied"
      )
      for (const line of lines) assert.match(line, /^Debug files /)
    }))
})

/** A store whose writes wait to be let through, one by one. */
const gated = Effect.gen(function*() {
  const begun: Array<string> = []
  const waiting: Array<() => void> = []
  const listeners: Array<() => void> = []
  const store = memory({
    set: (key, value) =>
      Effect.uninterruptible(
        Effect.async<void>((resume) => {
          const { items } = JSON.parse(String(value)) as { readonly items: ReadonlyArray<McpProtocol.Tool> }
          begun.push(items.map((_) => _.name).join())
          waiting.push(() => {
            store.entries.set(key, String(value))
            resume(Effect.void)
          })
          for (const listener of listeners.splice(0)) listener()
        })
      )
  })
  const awaitBegun = (count: number): Effect.Effect<void> =>
    Effect.suspend(() =>
      begun.length >= count
        ? Effect.void
        : Effect.zipRight(
          Effect.async<void>((resume) => void listeners.push(() => resume(Effect.void))),
          awaitBegun(count)
        )
    )
  const letThrough = Effect.sync(() => waiting.shift()!())
  return { ...store, begun, awaitBegun, letThrough }
})

describe("order of writes", () => {
  it.effect("the last save wins; of those that wait for a slow write only the newest is written", () =>
    Effect.gen(function*() {
      const store = yield* gated
      const storage = yield* storageOver(store)
      const first = yield* Effect.fork(storage.save("tools", [tool("1")]))
      yield* store.awaitBegun(1)
      const more = yield* Effect.forEach(["2", "3", "4"], (name) => Effect.fork(storage.save("tools", [tool(name)])))
      yield* Effect.yieldNow()
      yield* store.letThrough
      yield* Fiber.join(first)
      yield* store.awaitBegun(2)
      yield* store.letThrough
      yield* Fiber.joinAll(more)
      assert.deepStrictEqual(store.begun, ["1", "4"])
      assert.deepStrictEqual(names(yield* storage.load("tools")), ["4"])
    }))

  it.effect("also between two users of one server; other entries do not wait", () =>
    Effect.gen(function*() {
      const store = yield* gated
      const { of } = yield* Effect.provide(
        CatalogStore.CatalogStore,
        yield* Layer.buildWithScope(Layer.provide(CatalogStore.layer(), store.layer), yield* Scope.make())
      )
      const first = yield* Effect.fork(of(stdio()).save("tools", [tool("1")]))
      yield* store.awaitBegun(1)
      const second = yield* Effect.fork(of(stdio()).save("tools", [tool("2")]))
      const other = yield* Effect.fork(of(http()).save("tools", [tool("other")]))
      yield* store.awaitBegun(2)
      assert.deepStrictEqual(store.begun, ["1", "other"])
      yield* store.letThrough
      yield* store.letThrough
      yield* store.awaitBegun(3)
      yield* store.letThrough
      yield* Fiber.joinAll([first, second, other])
      assert.deepStrictEqual(names(yield* of(stdio()).load("tools")), ["2"])
    }))

  it.effect("a write that outlasts its time and can't be interrupted never overwrites a newer one", () =>
    Effect.gen(function*() {
      const store = yield* gated
      const storage = yield* storageOver(store)
      const first = yield* Effect.fork(storage.save("tools", [tool("old")]))
      yield* store.awaitBegun(1)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(first)
      const second = yield* Effect.fork(storage.save("tools", [tool("new")]))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(store.begun, ["old"])
      yield* store.letThrough
      yield* store.awaitBegun(2)
      yield* store.letThrough
      yield* Fiber.join(second)
      assert.deepStrictEqual(names(yield* storage.load("tools")), ["new"])
    }))

  it.effect("an interrupted save is completed nevertheless, and the next one is not kept from writing", () =>
    Effect.gen(function*() {
      const store = yield* gated
      const storage = yield* storageOver(store)
      const first = yield* Effect.fork(storage.save("tools", [tool("1")]))
      yield* store.awaitBegun(1)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(first)))
      const second = yield* Effect.fork(storage.save("tools", [tool("2")]))
      yield* store.letThrough
      yield* store.awaitBegun(2)
      assert.deepStrictEqual(names(yield* storage.load("tools")), ["1"])
      yield* store.letThrough
      yield* Fiber.join(second)
      assert.deepStrictEqual(names(yield* storage.load("tools")), ["2"])
    }))

  it.effect("interrupted at any moment: what is stored is whole, and can be written again", () =>
    Effect.gen(function*() {
      const store = memory()
      const storage = yield* storageOver(store)
      for (let steps = 0; steps < 40; steps++) {
        const save = yield* Effect.fork(storage.save("tools", [tool(`interrupted ${steps}`)]))
        for (let i = 0; i < steps; i++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(save)
        yield* storage.save("tools", [tool(`after ${steps}`)])
        assert.deepStrictEqual(names(yield* storage.load("tools")), [`after ${steps}`])
      }
    }))

  it.effect("one that was asked for earlier and comes later is not written", () =>
    Effect.gen(function*() {
      const writes = new Writes("1 second")
      const written: Array<string> = []
      const write = (name: string) => Effect.sync(() => void written.push(name))
      const [older, newer] = [writes.begin(), writes.begin()]
      yield* writes.write("a", newer, write("newer"))
      writes.end()
      yield* writes.write("a", older, write("older"))
      yield* writes.write("b", older, write("another entry"))
      writes.end()
      yield* writes.idle
      assert.deepStrictEqual(written, ["newer", "another entry"])
    }))

  it.effect("it is idle when nobody saves any more, and nothing is being written", () =>
    Effect.gen(function*() {
      const writes = new Writes("1 second")
      const gate = yield* Deferred.make<void>()
      const ticket = writes.begin()
      yield* Effect.fork(writes.write("a", ticket, Deferred.await(gate)))
      const idle = yield* Effect.fork(writes.idle)
      yield* Effect.yieldNow()
      writes.end()
      for (let i = 0; i < 10; i++) yield* Effect.yieldNow()
      assert.isTrue(Option.isNone(yield* Fiber.poll(idle)))
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(idle)
      yield* writes.idle
    }))

  it.effect("the end of the layer waits for what is being written, but not for long", () =>
    Effect.gen(function*() {
      const store = yield* gated
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Layer.provide(CatalogStore.layer(), store.layer), scope)
      const { of } = yield* Effect.provide(CatalogStore.CatalogStore, context)
      const save = yield* Effect.fork(of(stdio()).save("tools", [tool("1")]))
      yield* store.awaitBegun(1)
      yield* Fiber.interrupt(save)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(999)
      assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
      yield* store.letThrough
      yield* Fiber.join(closing)
      assert.strictEqual(store.entries.size, 1)

      const hanging = yield* gated
      const another = yield* Scope.make()
      const built = yield* Layer.buildWithScope(Layer.provide(CatalogStore.layer(), hanging.layer), another)
      const { of: ofHanging } = yield* Effect.provide(CatalogStore.CatalogStore, built)
      yield* Effect.fork(ofHanging(stdio()).save("tools", [tool("1")]))
      yield* hanging.awaitBegun(1)
      const ending = yield* Effect.fork(Scope.close(another, Exit.void))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ending)
    }))
})

describe("layers", () => {
  const use = <A>(f: (storage: Catalog.Storage) => Effect.Effect<A>) =>
    Effect.flatMap(CatalogStore.CatalogStore, ({ of }) => f(of(stdio())))
  const saveAndLoad = use((_) => Effect.zipRight(_.save("tools", [tool("a")]), _.load("tools")))

  it.effect("layerMemory keeps, also apart from the memory of others; layerNone does not", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(names(yield* Effect.provide(saveAndLoad, CatalogStore.layerMemory)), ["a"])
      assert.isUndefined(yield* Effect.provide(use((_) => _.load("tools")), CatalogStore.layerMemory))
      assert.isUndefined(yield* Effect.provide(saveAndLoad, CatalogStore.layerNone))
      const beside = Effect.zipRight(saveAndLoad, Effect.flatMap(KeyValueStore.KeyValueStore, (_) => _.size))
      const both = Layer.merge(CatalogStore.layerMemory, KeyValueStore.layerMemory)
      assert.strictEqual(yield* Effect.provide(beside, both), 0)
    }))

  it.effect("a server in this process is not stored", () =>
    Effect.gen(function*() {
      const store = memory()
      const server = () => ({ connect: () => Promise.resolve() })
      const storage = yield* storageOver(store, config({ name: "a", transport: "inMemory", server }))
      yield* storage.save("tools", [tool("a")])
      assert.isUndefined(yield* storage.load("tools"))
      assert.strictEqual(store.entries.size, 0)
    }))

  it.effect("maxAge is an option, and what is none is refused", () =>
    Effect.gen(function*() {
      const brief = Layer.provide(CatalogStore.layer({ maxAge: "1 hour" }), memory().layer)
      const load = use((_) =>
        Effect.gen(function*() {
          yield* _.save("tools", [tool("a")])
          yield* TestClock.adjust("1 hour")
          const then = yield* _.load("tools")
          yield* TestClock.adjust(1)
          return [names(then), yield* _.load("tools")]
        })
      )
      assert.deepStrictEqual(yield* Effect.provide(load, brief), [["a"], undefined])
      const wrong = [{ maxAge: 0 }, { maxAge: -1 }, { maxAge: Infinity }, { maxAge: "soon" }, { maxAge: null }, {
        age: 1
      }]
      for (const options of wrong) {
        const layer = Layer.provide(CatalogStore.layer(options as never), memory().layer)
        const built = yield* Effect.either(Effect.asVoid(Effect.scoped(Layer.build(layer))))
        assert(Either.isLeft(built) && built.left instanceof McpError.ConfigInvalid, JSON.stringify(options))
        assert.strictEqual(built.left.server, "<catalog store>")
      }
    }))
})
