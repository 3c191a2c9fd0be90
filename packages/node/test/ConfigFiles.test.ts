/** Finding and reading configuration files: what is there, what is missing, and what is no file at all. */
import { assert, describe, it } from "@effect/vitest"
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as ConfigFiles from "@mcp-runtime/node/ConfigFiles"
import { LeakCheck } from "@mcp-runtime/testing"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, rmdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { timeoutOf, userDirectory, userFileOf } from "../src/internal/configFiles/places.js"
import { type Home, home, namesIn, problemsIn, remote, textOf, write } from "./internal/configFiles.js"

const originsIn = ({ entries }: ConfigFile.Loaded) =>
  entries.map(({ name, origin }) => [name, origin.level, origin.path])

describe("where files are looked for", () => {
  it.scoped("the explicit file, the project's, the user's, in this order", () =>
    Effect.gen(function*() {
      const { options, project, root, user } = yield* home
      const explicit = join(root, "explicit.json")
      write(explicit, remote("a"))
      write(join(project, ".mcp.json"), remote("a", "b"))
      write(user, remote("a", "b", "c"))
      const loaded = yield* ConfigFiles.load({ ...options, explicit })
      assert.deepStrictEqual(originsIn(loaded), [
        ["a", "explicit", explicit],
        ["b", "project", join(project, ".mcp.json")],
        ["c", "user", user]
      ])
      assert.deepStrictEqual(loaded.entries.map((_) => _.shadows.map((_) => _.level)), [
        ["project", "user"],
        ["user"],
        []
      ])
      assert.deepStrictEqual(loaded.sources.map((_) => _.level), ["explicit", "project", "user"])
      assert.deepStrictEqual(loaded.problems, [])
    }))

  it.scoped("of the project's files, the first that exists", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      for (const name of [".cursor/mcp.json", ".vscode/mcp.json", "mcp.json", ".mcp.json"]) {
        const path = join(project, name)
        write(path, name === ".vscode/mcp.json" ? JSON.stringify({ servers: remote(name) }) : remote(name))
        const loaded = yield* ConfigFiles.load(options)
        assert.deepStrictEqual(originsIn(loaded), [[name, "project", path]])
        assert.deepStrictEqual(loaded.problems, [])
      }
    }))

  it.scoped("the project's files can be switched off, and do not hide the user's then", () =>
    Effect.gen(function*() {
      const { options, project, user } = yield* home
      write(join(project, ".mcp.json"), "no configuration at all")
      write(user, remote("a"))
      const loaded = yield* ConfigFiles.load({ ...options, enableProjectConfig: false })
      assert.deepStrictEqual(originsIn(loaded), [["a", "user", user]])
      assert.deepStrictEqual(loaded.problems, [])
    }))

  it("the directory of the user is a whole path, whatever the environment says, and never the working directory", () => {
    const table: ReadonlyArray<
      readonly [NodeJS.Platform, { readonly [name: string]: string }, string | undefined, string]
    > = [
      ["linux", { HOME: "/home/ada" }, "/root", "/home/ada"],
      ["linux", { HOME: "." }, "/root", "/root"],
      ["linux", { HOME: "" }, "", "/"],
      ["linux", {}, "/root", "/root"],
      ["win32", { USERPROFILE: "C:\\Users\\ada", HOME: "/x" }, "D:\\a", "C:\\Users\\ada"],
      ["win32", { USERPROFILE: "ada" }, "a", "C:\\"]
    ]
    for (const [platform, environment, system, expected] of table) {
      assert.strictEqual(userDirectory(platform, environment, system), expected)
    }
  })

  it.scoped("the user's file can be another one, or none", () =>
    Effect.gen(function*() {
      const { options, project, user } = yield* home
      write(user, remote("a"))
      write(join(project, "other.json"), remote("b"))
      assert.deepStrictEqual(namesIn(yield* ConfigFiles.load({ ...options, user: false })), [])
      assert.deepStrictEqual(originsIn(yield* ConfigFiles.load({ ...options, user: "other.json" })), [
        ["b", "user", join(project, "other.json")]
      ])
    }))

  it.scoped("MCP_RUNTIME_CONFIG names an explicit file, unless the caller does", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, "a.json"), remote("a"))
      write(join(project, "b.json"), remote("b"))
      const environment = { ...options.environment, MCP_RUNTIME_CONFIG: "a.json" }
      assert.deepStrictEqual(namesIn(yield* ConfigFiles.load({ ...options, environment })), ["a"])
      assert.deepStrictEqual(namesIn(yield* ConfigFiles.load({ ...options, environment, explicit: "b.json" })), ["b"])
      const empty = { ...environment, MCP_RUNTIME_CONFIG: "" }
      assert.deepStrictEqual(problemsIn(yield* ConfigFiles.load({ ...options, environment: empty })), [])
    }))

  it.scoped("several explicit files: the first is the most important", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, "a.json"), remote("x", "a"))
      write(join(project, "b.json"), remote("x", "b"))
      const loaded = yield* ConfigFiles.load({ ...options, explicit: ["a.json", "b.json"] })
      assert.deepStrictEqual(originsIn(loaded).map(([name, , path]) => [name, path]), [
        ["x", join(project, "a.json")],
        ["a", join(project, "a.json")],
        ["b", join(project, "b.json")]
      ])
    }))

  it.scoped("the project's file that is asked for by name is there once", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, "mcp.json"), remote("a"))
      const { entries, sources } = yield* ConfigFiles.load({ ...options, explicit: "mcp.json" })
      assert.deepStrictEqual(entries.map((_) => [_.origin.level, _.shadows.length]), [["explicit", 0]])
      assert.lengthOf(sources, 1)
    }))

  it.scoped("the project's directory is what `${workspaceFolder}` stands for", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, ".mcp.json"), { a: { command: "x", cwd: "${workspaceFolder}/data" } })
      const { entries } = yield* ConfigFiles.load(options)
      assert.deepStrictEqual(entries[0]!.config.expand, { workspaceFolder: project })
    }))

  it.scoped("`exclude` leaves servers out, and another file's of the same name takes the place", () =>
    Effect.gen(function*() {
      const { options, project, user } = yield* home
      write(join(project, ".mcp.json"), remote("a", "b"))
      write(user, remote("a"))
      const exclude: ConfigFile.Predicate = (entry) => entry.name === "a" && entry.origin.level === "project"
      assert.deepStrictEqual(
        originsIn(yield* ConfigFiles.load({ ...options, exclude: [exclude] })).map(([name, level]) => [name, level]),
        [["b", "project"], ["a", "user"]]
      )
    }))

  it.scoped("`places` tells them all", () =>
    Effect.gen(function*() {
      const { options, project, user } = yield* home
      assert.deepStrictEqual(yield* ConfigFiles.places({ ...options, explicit: "x.json" }), [
        { level: "explicit", paths: [join(project, "x.json")], required: true },
        {
          level: "project",
          paths: [".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"].map((_) => join(project, _)),
          required: false
        },
        { level: "user", paths: [user], required: false }
      ])
    }))

  it("the user's file is where each system has such files", () => {
    const file = (platform: NodeJS.Platform, environment: { readonly [name: string]: string }, home?: string) =>
      userFileOf(platform, environment, home)
    assert.strictEqual(file("linux", { HOME: "/h", XDG_CONFIG_HOME: "/x" }), "/x/mcp-runtime/mcp.json")
    assert.strictEqual(file("linux", { HOME: "/h", XDG_CONFIG_HOME: "x" }), "/h/.config/mcp-runtime/mcp.json")
    assert.strictEqual(file("darwin", {}, "/h"), "/h/.config/mcp-runtime/mcp.json")
    assert.strictEqual(file("win32", { APPDATA: "C:\\a" }), "C:\\a\\mcp-runtime\\mcp.json")
    assert.strictEqual(
      file("win32", { USERPROFILE: "C:\\u" }),
      "C:\\u\\AppData\\Roaming\\mcp-runtime\\mcp.json"
    )
    assert.isUndefined(file("linux", {}))
  })

  it("MCP_RUNTIME_TIMEOUT is milliseconds; anything else is a warning, and shows no value", () => {
    const of = (text: string) => timeoutOf({ MCP_RUNTIME_TIMEOUT: text })
    assert.deepStrictEqual(["0", "30000", " 5 "].map(of), [0, 30000, 5])
    assert.deepStrictEqual(["", " "].map(of), [undefined, undefined])
    for (const text of ["30s", "-1", "1e3", "0x10", "Infinity", "9".repeat(400), "secret"]) {
      const problem = of(text)
      assert(typeof problem === "object")
      assert.strictEqual(problem.severity, "warning")
      assert.notInclude(JSON.stringify(problem), `"${text}"`)
    }
  })

  it.scoped("MCP_RUNTIME_TIMEOUT wins over the file, and a wrong one is reported while the rest loads", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, ".mcp.json"), { a: { url: "http://127.0.0.1:9/", timeout: 1000 } })
      const withTimeout = (text: string) =>
        ConfigFiles.load({ ...options, environment: { ...options.environment, MCP_RUNTIME_TIMEOUT: text } })
      const plain = (yield* ConfigFiles.load(options)).entries[0]!.config
      const longer = (yield* withTimeout("77000")).entries[0]!.config
      assert.notDeepEqual(longer.timeouts, plain.timeouts)
      assert.include(JSON.stringify(longer.timeouts), "77")
      const wrong = yield* withTimeout("soon")
      assert.deepStrictEqual(wrong.entries[0]!.config, plain)
      assert.deepStrictEqual(wrong.problems.map((_) => [_.path, _.severity]), [["MCP_RUNTIME_TIMEOUT", "warning"]])
    }))
})

/** What is put at the path of the project's file, and what is said of it. */
const broken: ReadonlyArray<readonly [what: string, make: (path: string) => void, problem: RegExp]> = [
  ["a directory", (path) => void mkdirSync(path), /^is a directory, not a file$/],
  ["a named pipe", (path) => void execFileSync("mkfifo", [path]), /^is a named pipe, not a file$/],
  ["a link to a named pipe", (path) => {
    execFileSync("mkfifo", [`${path}.pipe`])
    symlinkSync(`${path}.pipe`, path)
  }, /^is a named pipe, not a file$/],
  ["a device", (path) => symlinkSync("/dev/zero", path), /^is a device or a socket, not a file$/],
  ["a file that says it is empty and is not", (path) => symlinkSync("/proc/kallsyms", path), /^is larger than 1 MiB/],
  ["10 MB", (path) => writeFileSync(path, textOf(remote("a")) + " ".repeat(10_000_000)), /^is larger than 1 MiB/],
  ["10 TB", (path) => {
    writeFileSync(path, "")
    truncateSync(path, 10 * 2 ** 40)
  }, /^is larger than 1 MiB/],
  ["bytes", (path) => writeFileSync(path, Buffer.from([0x7b, 0xff, 0xc3, 0x7d])), /^is not UTF-8 text/],
  ["half a character", (path) => writeFileSync(path, Buffer.from("{ \"ä").subarray(0, 4)), /^is not UTF-8 text/],
  [
    "UTF-16, as some shells write it",
    (path) => writeFileSync(path, Buffer.from(`\uFEFF${textOf(remote("a"))}\u00e4\ud800`, "utf16le")),
    /^is UTF-16 text: save it as UTF-8$/
  ],
  ["a link to nothing", (path) => symlinkSync("nothing", path), /^is a symbolic link to a file that does not exist$/],
  ["a circle of links", (path) => {
    symlinkSync(path, `${path}.back`)
    symlinkSync(`${path}.back`, path)
  }, /symbolic links lead round in a circle/],
  ["no JSON", (path) => writeFileSync(path, "{ \"mcpServers\": {"), /./],
  ["nothing", (path) => writeFileSync(path, ""), /./]
]

const withOthers = (here: Home) => {
  const explicit = join(here.root, "explicit.json")
  write(explicit, remote("explicit"))
  write(here.user, remote("user"))
  return { ...here.options, explicit }
}

describe("what is no configuration is a problem, and the rest loads:", () => {
  for (const [what, make, problem] of broken) {
    it.live(`${what}`, () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const here = yield* home
        const path = join(here.project, ".mcp.json")
        make(path)
        const loaded = yield* ConfigFiles.load(withOthers(here))
        assert.deepStrictEqual(namesIn(loaded), ["explicit", "user"])
        assert.lengthOf(loaded.problems, 1)
        const [found] = loaded.problems as [ConfigFile.Problem]
        assert.deepStrictEqual([found.path, found.severity], [path, "error"])
        assert.match(found.problem, problem)
      })))
  }

  it.live("a socket", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const here = yield* home
      const path = join(here.project, ".mcp.json")
      yield* Effect.acquireRelease(
        Effect.async<ReturnType<typeof createServer>>((resume) => {
          const server = createServer().listen(path, () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      const loaded = yield* ConfigFiles.load(withOthers(here))
      assert.deepStrictEqual(namesIn(loaded), ["explicit", "user"])
      assert.deepStrictEqual(problemsIn(loaded), [`error ${path}: is a device or a socket, not a file`])
    })))

  it.scoped("an explicit file that is missing", () =>
    Effect.gen(function*() {
      const { options, project, user } = yield* home
      write(join(project, ".mcp.json"), remote("project"))
      write(user, remote("user"))
      const loaded = yield* ConfigFiles.load({ ...options, explicit: ["nowhere.json", "no/where.json"] })
      assert.deepStrictEqual(namesIn(loaded), ["project", "user"])
      assert.deepStrictEqual(problemsIn(loaded), [
        `error ${join(project, "nowhere.json")}: does not exist`,
        `error ${join(project, "no/where.json")}: does not exist`
      ])
    }))

  it.scoped("a path that no system takes", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, ".mcp.json"), remote("project"))
      for (const explicit of ["a\0b", "x".repeat(5000), ""]) {
        const loaded = yield* ConfigFiles.load({ ...options, explicit })
        assert.deepStrictEqual(namesIn(loaded), ["project"])
        assert.lengthOf(loaded.problems, 1)
      }
    }))

  it.scoped("a file in the place of a directory is nothing", () =>
    Effect.gen(function*() {
      const { options, project, root } = yield* home
      write(join(project, ".vscode"), "")
      write(join(root, "home", ".config"), "")
      assert.deepStrictEqual((yield* ConfigFiles.load(options)).problems, [])
    }))

  it.live("a file that may not be read; in a directory that may not be entered it is a warning", () =>
    Effect.gen(function*() {
      const here = yield* home
      const { options, project, root, user } = here
      const path = join(project, ".mcp.json")
      write(path, remote("project"))
      write(user, remote("user"))
      chmodSync(root, 0o755)
      chmodSync(path, 0o000)
      chmodSync(dirname(user), 0o000)
      const explicit = "explicit.json"
      write(join(project, explicit), remote("explicit"))
      const loaded = yield* asNobody(ConfigFiles.load({ ...options, explicit }))
      chmodSync(dirname(user), 0o755)
      assert.deepStrictEqual(namesIn(loaded), ["explicit"])
      assert.deepStrictEqual(problemsIn(loaded), [
        `error ${path}: can't be read: permission denied`,
        `warning ${user}: can't be read: permission denied`
      ])
    }).pipe(Effect.scoped))

  it.scoped("a byte order mark is none of it", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      write(join(project, ".mcp.json"), `\uFEFF${textOf(remote("a"))}`)
      const loaded = yield* ConfigFiles.load(options)
      assert.deepStrictEqual([namesIn(loaded), loaded.problems], [["a"], []])
    }))

  it.scoped("nothing anywhere is no problem", () =>
    Effect.gen(function*() {
      const { options } = yield* home
      const loaded = yield* ConfigFiles.load(options)
      assert.deepStrictEqual([loaded.entries, loaded.problems, loaded.sources], [[], [], []])
    }))

  it.scoped("no problem shows what is in a file", () =>
    Effect.gen(function*() {
      const { options, project } = yield* home
      for (
        const text of [
          `{ "mcpServers": { "a": { "command": "x", "env": { "T": canary-1 } } } }`,
          `canary-2`,
          `{ "mcpServers": "canary-3" }`,
          `{ "mcpServers": { "a": { "url": "canary-4", "headers": { "A": ["canary-5"] }, "timeout": "canary-6" } } }`
        ]
      ) {
        write(join(project, ".mcp.json"), text)
        const { problems } = yield* ConfigFiles.load(options)
        assert.isAbove(problems.length, 0)
        assert.notInclude(JSON.stringify(problems) + problems.map(ConfigFile.display).join(), "canary")
      }
    }))
})

/** Root may read everything. */
const asNobody = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  process.geteuid?.() === 0
    ? Effect.acquireUseRelease(
      Effect.sync(() => process.seteuid?.(65534)),
      () => effect,
      () => Effect.sync(() => process.seteuid?.(0))
    )
    : effect

/** Of this process, until the scope closes. */
const startedIn = (cwd: string, environment: { readonly [name: string]: string }) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = { cwd: process.cwd(), env: { ...process.env } }
      process.chdir(cwd)
      Object.assign(process.env, environment)
      return before
    }),
    ({ cwd, env }) =>
      Effect.sync(() => {
        process.chdir(cwd)
        for (const name of Object.keys(environment)) delete process.env[name]
        Object.assign(process.env, env)
      })
  )

describe("the environment and the directory of the process", () => {
  it.scoped("are the defaults", () =>
    Effect.gen(function*() {
      const { project, root } = yield* home
      write(join(project, "x.json"), remote("x"))
      write(join(project, "mcp.json"), remote("y"))
      write(join(root, "config/mcp-runtime/mcp.json"), remote("z"))
      yield* startedIn(project, { MCP_RUNTIME_CONFIG: "x.json", XDG_CONFIG_HOME: join(root, "config") })
      assert.deepStrictEqual(namesIn(yield* ConfigFiles.load()), ["x", "y", "z"])
    }))

  it.scoped("a directory that is gone has no files, and is no reason to fail", () =>
    Effect.gen(function*() {
      const { project, root, user } = yield* home
      write(user, remote("user"))
      yield* startedIn(project, { HOME: join(root, "home"), XDG_CONFIG_HOME: "" })
      rmdirSync(project)
      const loaded = yield* ConfigFiles.load({ explicit: "x.json" })
      assert.deepStrictEqual(namesIn(loaded), ["user"])
      assert.deepStrictEqual(problemsIn(loaded), ["error x.json: does not exist"])
    }))
})
