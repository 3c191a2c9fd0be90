import { assert, describe, it } from "@effect/vitest"
import { HttpFixture, StdioFixture } from "@mcp-runtime/testing"
import { Effect } from "effect"
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import { home, missing, notes } from "./internal/cli.js"

/** Several processes, on a machine that may have other things to do. */
const limit = 90_000

const everything = {
  command: process.execPath,
  args: [createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js")]
}
const fixture = (...flags: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: [StdioFixture.script, ...flags]
})

describe("mcp-runtime", () => {
  it.scopedLive(
    "tools: a table on stdout, the failures on stderr, 0; the second time at once",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ notes, lost: missing })
        const first = yield* run(["tools"])
        assert.strictEqual(first.code, 0, first.stderr)
        assert.match(first.stdout, /^TOOL +ARGUMENTS +DESCRIPTION\nnotes__add_note +text +Keeps a note\n/)
        assert.match(first.stdout, /notes__count +to: integer/)
        assert.include(first.stderr, `Server "lost": the command "no-such-program-anywhere" was not found`)
        assert.notInclude(first.stdout + first.stderr, "\u001b")
        const strict = yield* run(["tools", "--strict"])
        assert.strictEqual(strict.code, 1)
        assert.include(strict.stdout, "notes__add_note")
        const chosen = yield* run(["tools", "--strict", "--server", "notes"])
        assert.strictEqual(chosen.code, 0, chosen.stderr)
        assert.strictEqual(chosen.stderr, "")
      }),
    limit
  )

  it.scopedLive("tools --json: exactly the document that was promised", () =>
    Effect.gen(function*() {
      const { run, servers } = yield* home
      servers({ notes, lost: missing, off: { ...notes, disabled: true }, wrong: { command: 5 } })
      const { code, json, stderr } = yield* run(["tools", "--json"])
      assert.strictEqual(code, 0)
      const document = json()
      assert.deepStrictEqual(Object.keys(document), ["servers", "tools"])
      assert.deepStrictEqual(
        document.servers.map((_: { readonly name: string; readonly status: string; readonly tools: number }) => [
          _.name,
          _.status,
          _.tools
        ]),
        [["notes", "connected", 5], ["lost", "failed", 0], ["off", "disabled", 0], ["wrong", "invalid", 0]]
      )
      const [first, lost] = document.servers
      assert.deepStrictEqual(Object.keys(first), ["name", "status", "error", "tools", "milliseconds"])
      assert.isNull(first.error)
      assert.isTrue(Number.isInteger(first.milliseconds) && first.milliseconds >= 0)
      assert.strictEqual(lost.error.tag, "SpawnFailed")
      assert.strictEqual(lost.error.executed, "no")
      assert.isNotEmpty(lost.error.todo)
      assert.deepStrictEqual(document.tools[0], {
        name: "notes__add_note",
        server: "notes",
        originalName: "add_note",
        description: "Keeps a note",
        inputSchema: document.tools[0].inputSchema
      })
      assert.deepStrictEqual(document.tools[0].inputSchema.required, ["text"])
      assert.include(stderr, `server "wrong": command`)
    }), limit)

  it.scopedLive(
    "call: by prefixed name, server/tool and bare name; arguments typed, from JSON, a file and stdin",
    () =>
      Effect.gen(function*() {
        const { run, servers, write } = yield* home
        servers({ notes, lost: missing })
        const file = write("args.json", `{"text":"from a file"}`)
        const calls = yield* Effect.forEach(
          [
            run(["call", "notes__add_note", "text=12"]),
            run(["call", "notes/add_note", `{"text":"a"}`]),
            run(["call", "add_note", `@${file}`]),
            run(["call", "add_note", "-"], { stdin: `{"text":"piped"}` })
          ],
          (_) => _,
          { concurrency: 2 }
        )
        for (const { code, stderr, stdout } of calls) {
          assert.strictEqual(code, 0, stderr)
          assert.strictEqual(stdout, "kept; 1 note(s)\n")
        }
        // A name with its server has no other server started.
        assert.strictEqual(calls[0]!.stderr, "")
      }),
    limit
  )

  it.scopedLive("call: a name with its server starts no other server", () =>
    Effect.gen(function*() {
      const { directory, run, servers } = yield* home
      const traced = { command: process.execPath, args: ["-e", `require("node:fs").writeFileSync("started", "")`] }
      const started = () => Fs.existsSync(`${directory}/started`)
      servers({ notes, other: traced })
      assert.strictEqual((yield* run(["call", "notes__process_id"])).code, 0)
      assert.strictEqual((yield* run(["call", "process_id", "--server", "notes"])).code, 0)
      assert.isFalse(started())
      // Nothing is known of the other one, so it has to be asked.
      assert.strictEqual((yield* run(["call", "process_id"])).code, 0)
      assert.isTrue(started())
    }), limit)

  it.scopedLive(
    "call --json: exactly the document that was promised; progress leaves no trace where there is no terminal",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ notes })
        const { code, json, stderr } = yield* run(["call", "count", "to=7", "--json"])
        assert.strictEqual(code, 0)
        assert.strictEqual(stderr, "")
        const { milliseconds, ...document } = json()
        assert.isAtLeast(milliseconds, 0)
        assert.deepStrictEqual(document, {
          server: "notes",
          tool: "count",
          isError: false,
          content: [{ type: "text", text: "counted to 7" }],
          structuredContent: null
        })
      }),
    limit
  )

  it.scopedLive("call: a tool that fails by itself is 3, and says so", () =>
    Effect.gen(function*() {
      const { run } = yield* home
      const server = yield* HttpFixture.make({
        override: (request) =>
          request.rpc === "tools/call"
            ? HttpFixture.result(request, { isError: true, content: [{ type: "text", text: "no \u001b[31mflux" }] })
            : undefined
      })
      const human = yield* run(["call", "echo", "--url", server.url])
      assert.strictEqual(human.code, 3, human.stderr)
      assert.strictEqual(human.stdout, "no ␛[31mflux\n")
      assert.include(human.stderr, `"echo" of "127-0-0-1" says that it has failed`)
      const program = yield* run(["call", "echo", "--url", server.url, "--json"])
      assert.strictEqual(program.code, 3)
      assert.isTrue(program.json().isError)
    }), limit)

  it.scopedLive(
    "call: a name that is wrong is told as such, also where another server can't be connected",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ notes, gone: { command: "no-such-program-here" } })
        for (const written of ["notes__add_not", "notes/add_not", "add_not"]) {
          const { code, json, stderr } = yield* run(["call", written, "text=a", "--json"])
          assert.strictEqual(json().error.tag, "ToolNotFound", written)
          assert.strictEqual(code, 2)
          assert.include(stderr, "Did you mean notes__add_note")
          assert.include(stderr, "Not looked for in gone: not connected")
        }
        servers({ everything, gone: { command: "no-such-program-here" } })
        for (const line of [["prompt", "gone/args-promt"], ["prompt", "args-promt"], ["read", "demo://none"]]) {
          const { code, stderr } = yield* run(line)
          assert.strictEqual(code, 2, stderr)
          assert.include(stderr, "Not looked for in gone: not connected", line.join(" "))
        }
        const named = yield* run(["call", "gone__add_note", "text=a", "--json"])
        assert.deepInclude(named.json().error, { tag: "SpawnFailed", server: "gone" })
      }),
    limit
  )

  it.scopedLive(
    "call, prompt: arguments that are wrong name the server that they are for",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ notes, everything })
        const wrong = [
          ["call", "notes__count", "to=many"],
          ["call", "notes__count", "{"],
          ["call", "notes__add_note", `{"text":1}`]
        ]
        for (const line of wrong) {
          const { json } = yield* run([...line, "--json"])
          assert.deepInclude(json().error, { tag: "ArgumentsInvalid", server: "notes" }, line.join(" "))
        }
        const { json } = yield* run(["prompt", "args-prompt", "town=Oslo", "--json"])
        assert.deepInclude(json().error, { tag: "ArgumentsInvalid", server: "everything" })
      }),
    limit
  )

  it.scopedLive(
    "call: names and arguments that are wrong are 2, with what would be right; nothing is called",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ notes })
        const name = yield* run(["call", "notes__add_not", "text=a", "--json"])
        assert.strictEqual(name.code, 2)
        assert.include(name.stderr, "Did you mean notes__add_note")
        assert.strictEqual(name.json().error.tag, "ToolNotFound")
        const bare = yield* run(["call", "ad_note"])
        assert.include(bare.stderr, "Did you mean notes__add_note")
        const type = yield* run(["call", "count", "to=many"])
        assert.strictEqual(type.code, 2)
        assert.include(type.stderr, `to: expected integer, got "many"`)
        assert.include(type.stderr, "mcp-runtime call notes__count to=1")
        const lacking = yield* run(["call", "count", "--json"])
        assert.strictEqual(lacking.code, 2)
        assert.strictEqual(lacking.json().error.tag, "ArgumentsInvalid")
        assert.include(lacking.stderr, "to")
        const range = yield* run(["call", "count", "to=1000"])
        assert.strictEqual(range.code, 2)
        assert.include(range.stderr, "100")
      }),
    limit
  )

  it.scopedLive("call: what the configuration blocks can't be called, and says where", () =>
    Effect.gen(function*() {
      const { run, servers, write } = yield* home
      servers({ notes: { ...notes, tools: { block: ["crash"] }, approval: "always" } })
      const blocked = yield* run(["call", "crash"])
      assert.strictEqual(blocked.code, 2)
      assert.include(blocked.stderr, `"crash" of "notes" may not be used`)
      assert.include(blocked.stderr, ".mcp.json")
      const listed = yield* run(["tools"])
      assert.notInclude(listed.stdout, "crash")
      const approved = yield* run(["call", "add_note", "text=a"])
      assert.strictEqual(approved.code, 0, approved.stderr)
      const own = write("config/mcp-runtime/mcp.json", JSON.stringify({ disabledServers: ["notes"] }))
      const off = yield* run(["call", "notes/crash"])
      assert.strictEqual(off.code, 2)
      assert.include(off.stderr, `Take "notes" out of "disabledServers" in ${own}`)
    }), limit)

  it.scopedLive(
    "a server whose name is no part of a tool's: its tools by its own name, and lines that a shell takes",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ "my notes": notes })
        for (const name of ["my notes__add_note", "my notes/add_note"]) {
          const called = yield* run(["call", name, "text=a"])
          assert.strictEqual(called.code, 0, called.stderr)
        }
        servers({ "my everything": everything, other: everything })
        const read = yield* run(["read", "demo://resource/static/document/features.md"])
        assert.strictEqual(read.code, 2)
        assert.include(read.stderr, "Say which one: --server 'my everything', --server other")
        const prompt = yield* run(["prompt", "simple-prompt"])
        assert.strictEqual(prompt.code, 2)
        assert.include(prompt.stderr, "Say which one: 'my everything/simple-prompt', other/simple-prompt")
      }),
    limit
  )

  it.scopedLive("call: a server that dies, and one that never answers", () =>
    Effect.gen(function*() {
      const { run, servers } = yield* home
      servers({ notes })
      const died = yield* run(["call", "crash", "--json"])
      assert.strictEqual(died.code, 1, died.stderr)
      assert.strictEqual(died.json().error.tag, "OutcomeUnknown")
      assert.strictEqual(died.json().error.executed, "maybe")
      const silent = yield* run(["call", "wait_for_ever", "--timeout", "5s", "--json"])
      assert.strictEqual(silent.code, 1)
      assert.strictEqual(silent.json().error.tag, "OutcomeUnknown")
      assert.include(silent.json().error.todo.join(), "Give it more time")
    }), limit)

  it.scopedLive("call: images are files that only their user can read; --out says where", () =>
    Effect.gen(function*() {
      const { directory, run, servers } = yield* home
      servers({ everything })
      const shown = yield* run(["call", "get-tiny-image"])
      assert.strictEqual(shown.code, 0, shown.stderr)
      const [, path = ""] = /\[image\] (\S+\/get-tiny-image-1\.png) \(image\/png, /.exec(shown.stdout) ?? []
      assert.isTrue(path.startsWith(directory), shown.stdout)
      assert.strictEqual(Fs.statSync(path).mode & 0o777, 0o600)
      assert.deepStrictEqual([...Fs.readFileSync(path).subarray(1, 4)], [...Buffer.from("PNG")])
      const named = yield* run(["call", "get-tiny-image", "--out", "pictures", "--json"])
      const again = yield* run(["call", "get-tiny-image", "--out", "pictures"])
      assert.deepStrictEqual(named.json().files.map((_: { readonly path: string }) => _.path), [
        `${directory}/pictures/get-tiny-image-1.png`
      ])
      // Nothing is written over.
      assert.include(again.stdout, `${directory}/pictures/get-tiny-image-2.png`)
    }), limit)

  it.scopedLive("prompts, prompt, resources, read: for people and for programs", () =>
    Effect.gen(function*() {
      const { directory, run, servers } = yield* home
      servers({ everything, notes })
      const prompts = yield* run(["prompts"])
      assert.match(prompts.stdout, /args-prompt +everything +city, \[state\]/)
      const listed = (yield* run(["prompts", "--json"])).json()
      assert.deepStrictEqual(
        listed.servers.map((_: { readonly error: unknown; readonly prompts: number }) => [_.error, _.prompts]),
        [
          [null, 4],
          [null, 0]
        ]
      )
      const prompt = yield* run(["prompt", "args-prompt", "city=Oslo"])
      assert.include(prompt.stdout, "user:\nWhat's weather in Oslo?")
      const wrong = yield* run(["prompt", "args-promt", "--json"])
      assert.strictEqual(wrong.code, 2)
      assert.include(wrong.stderr, "Did you mean args-prompt?")
      const lacking = yield* run(["prompt", "args-prompt"])
      assert.include(lacking.stderr, "mcp-runtime prompt args-prompt city=text")
      const resources = (yield* run(["resources", "--json"])).json()
      assert.strictEqual(resources.servers[0].resources, resources.resources.length)
      assert.isNotEmpty(resources.templates)
      const read = yield* run(["read", "demo://resource/dynamic/text/1"])
      assert.strictEqual(read.code, 0, read.stderr)
      assert.include(read.stdout, "Resource 1")
      const bytes = yield* run(["read", "demo://resource/dynamic/blob/1", "--out", "here"])
      assert.include(bytes.stdout, `${directory}/here/1-1.`)
      const nowhere = yield* run(["read", "nothing://like/this"])
      assert.strictEqual(nowhere.code, 2)
      assert.include(nowhere.stderr, "--server <name>")
    }), limit)

  it.scopedLive("status: each server, for people and for programs", () =>
    Effect.gen(function*() {
      const { run, servers } = yield* home
      servers({ notes, lost: missing })
      const human = yield* run(["status"])
      assert.match(human.stdout, /notes +connected +stdio +\d{4}-\d\d-\d\d +5 +\d+\.\d\d s +notes 1\.0\.0/)
      const { servers: rows } = (yield* run(["status", "--json"])).json()
      assert.deepStrictEqual(rows[0].server, { name: "notes", version: "1.0.0" })
      assert.strictEqual(rows[1].status, "failed")
      assert.strictEqual((yield* run(["status", "--strict"])).code, 1)
    }), limit)

  it.scopedLive(
    "doctor: 0 where all is well, 1 where a server fails, 2 where only the configuration is wrong",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ notes })
        const well = yield* run(["doctor"])
        assert.strictEqual(well.code, 0, well.stdout)
        assert.include(well.stdout, "All is well")
        servers({ notes, lost: missing })
        const failed = yield* run(["doctor", "--json"])
        assert.strictEqual(failed.code, 1)
        assert.isFalse(failed.json().ok)
        servers({ notes, wrong: { url: 3 } })
        assert.strictEqual((yield* run(["doctor"])).code, 2)
      }),
    limit
  )

  it.scopedLive(
    "a server without a file: --url and --command, with headers and variables from the environment",
    () =>
      Effect.gen(function*() {
        const { run } = yield* home
        const server = yield* HttpFixture.make()
        const url = yield* run(["call", "echo", "a:=1", "--url", server.url, "--header", "X-Key: ${KEY}"], {
          env: { KEY: "k-1234" }
        })
        assert.strictEqual(url.code, 0, url.stderr)
        assert.include(url.stdout, `"a":1`)
        assert.isTrue(server.log.every((_) => _.headers["x-key"] === "k-1234"))
        const command = yield* run([
          "call",
          "env",
          "--command",
          `"${process.execPath}" "${StdioFixture.script}"`,
          "--env",
          "A=b c"
        ])
        assert.strictEqual(command.code, 0, command.stderr)
        assert.include(command.stdout, `"A":"b c"`)
        const both = yield* run(["tools", "--url", server.url, "--command", "x"])
        assert.strictEqual(both.code, 2)
        const unset = yield* run(["tools", "--url", server.url, "--header", "X-Key: ${NOT_SET_HERE}", "--strict"])
        assert.notStrictEqual(unset.code, 0)
        assert.include(unset.stderr, "NOT_SET_HERE")
      }),
    limit
  )

  it.scopedLive("a server that exits at once: its stderr is shown", () =>
    Effect.gen(function*() {
      const { run, servers } = yield* home
      servers({ dead: fixture("earlyexit=3") })
      const { code, stderr } = yield* run(["call", "dead__echo"])
      assert.strictEqual(code, 1)
      assert.include(stderr, "stderr")
      assert.include(stderr, "3")
    }), limit)
})

describe("mcp-runtime and its words", () => {
  it.scopedLive("no configuration, a missing file, broken files: 2, and what to do", () =>
    Effect.gen(function*() {
      const { run, write } = yield* home
      const none = yield* run(["tools", "--json"])
      assert.strictEqual(none.code, 2)
      assert.include(none.stderr, "No server is configured")
      assert.include(none.stderr, "mcpServers")
      assert.strictEqual(none.json().error.tag, "NoServers")
      const absent = yield* run(["tools", "--config", "nowhere.json"])
      assert.strictEqual(absent.code, 2)
      assert.include(absent.stderr, "nowhere.json")
      write("broken.json", `{ "mcpServers": { "a": { "command": "x" } `)
      const broken = yield* run(["tools", "--config", "broken.json"])
      assert.strictEqual(broken.code, 2)
      assert.include(broken.stderr, "broken.json")
    }), limit)

  it.scopedLive("config check: files, servers, problems; 2 if anything is wrong", () =>
    Effect.gen(function*() {
      const { directory, run, servers, write } = yield* home
      const none = yield* run(["config", "check"])
      assert.strictEqual(none.code, 0)
      assert.include(none.stdout, `${directory}/.mcp.json`)
      servers({ notes })
      write(
        "config/mcp-runtime/mcp.json",
        `{"mcpServers": {"notes": {"command": "other"}, "docs": {"url": "https://user:swordfish@docs.example.com/mcp?k=1"}}}`
      )
      const well = yield* run(["config", "check"])
      assert.strictEqual(well.code, 0, well.stdout)
      assert.match(well.stdout, /docs +\w+ +https:\/\/docs\.example\.com\/mcp /)
      assert.notInclude(well.stdout, "swordfish")
      write(".mcp.json", `{"mcpServers": {"a": {"commmand": "x"}, "b": {"command": "x", "url": "https://x.example"}}}`)
      const wrong = yield* run(["config", "check", "--json"])
      assert.strictEqual(wrong.code, 2)
      const document = wrong.json()
      assert.isFalse(document.ok)
      assert.deepStrictEqual(
        [
          ...new Set(
            document.problems.filter((_: { readonly severity: string }) => _.severity === "error").map((
              _: { readonly server: string }
            ) => _.server)
          )
        ],
        ["a", "b"]
      )
      assert.deepStrictEqual(document.servers.map((_: { readonly name: string }) => _.name), ["notes", "docs"])
    }), limit)

  it.scopedLive("unknown commands, options and servers: 2, and what was meant", () =>
    Effect.gen(function*() {
      const { run, servers } = yield* home
      servers({ notes })
      for (
        const [args, expected] of [
          [["tolls"], "mcp-runtime tools"],
          [["tools", "extra"], "'extra'"],
          [["call"], "<tool>"],
          [["logs", "nots"], "Did you mean notes?"]
        ] as const
      ) {
        const { code, stderr, stdout } = yield* run(args)
        assert.strictEqual(code, 2, stderr)
        assert.include(stderr, expected)
        assert.strictEqual(stdout, "")
      }
    }), limit)

  it.scopedLive("help and version go to stdout", () =>
    Effect.gen(function*() {
      const { run } = yield* home
      const help = yield* run([])
      assert.strictEqual(help.code, 0)
      for (
        const command of [
          "tools",
          "call",
          "prompts",
          "resources",
          "read",
          "status",
          "doctor",
          "config check",
          "auth",
          "logs"
        ]
      ) {
        assert.include(help.stdout, `  ${command}`)
      }
      const call = yield* run(["call", "--help"])
      assert.include(call.stdout, "mcp-runtime call <tool> [json | @file | - | key=value ...]")
      const version = yield* run(["--version"])
      assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/)
      const completions = yield* run(["--completions", "bash"])
      assert.include(completions.stdout, "mcp-runtime")
    }), limit)
})
