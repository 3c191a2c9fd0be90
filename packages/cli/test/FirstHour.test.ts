/** What somebody stumbled over who had the command for the first time. */
import { assert, describe, it } from "@effect/vitest"
import { HttpFixture, StdioFixture } from "@mcp-runtime/testing"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Http from "node:http"
import { createRequire } from "node:module"
import * as Path from "node:path"
import * as Help from "../src/Help.js"
import { plain } from "../src/output/style.js"
import * as Table from "../src/output/table.js"
import { home, missing, notes } from "./internal/cli.js"

const limit = 90_000

const everything = {
  command: process.execPath,
  args: [createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js")]
}

const fixture = (...flags: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: [StdioFixture.script, ...flags]
})

const paths = (files: ReadonlyArray<{ readonly path: string }>) => files.map((_) => Path.basename(_.path))

describe("mcp-runtime", () => {
  it.scopedLive("--out with --json: read and prompt save too, and name the files", () =>
    Effect.gen(function*() {
      const { directory, run, servers } = yield* home
      servers({ everything })
      const text = yield* run(["read", "demo://resource/dynamic/text/1", "--json", "--out", "here"])
      assert.strictEqual(text.code, 0, text.stderr)
      const document = text.json()
      assert.deepStrictEqual(Object.keys(document), ["server", "uri", "contents", "milliseconds", "files"])
      assert.deepStrictEqual(paths(document.files), ["1-1.txt"])
      assert.strictEqual(Fs.readFileSync(document.files[0].path, "utf8"), document.contents[0].text)
      const bytes = (yield* run(["read", "demo://resource/dynamic/blob/1", "--json", "--out", "here"])).json()
      assert.deepStrictEqual(Fs.readFileSync(bytes.files[0].path), Buffer.from(bytes.contents[0].blob, "base64"))
      assert.deepStrictEqual(Fs.readdirSync(Path.join(directory, "here")).length, 2)
      assert.notProperty((yield* run(["read", "demo://resource/dynamic/text/1", "--json"])).json(), "files")
      const prompt = yield* run([
        "prompt",
        "resource-prompt",
        "resourceType=Blob",
        "resourceId=1",
        "--json",
        "--out",
        "there"
      ])
      assert.strictEqual(prompt.code, 0, prompt.stderr)
      assert.strictEqual(prompt.json().files.length, 1, prompt.stdout)
      assert.isTrue(Fs.existsSync(prompt.json().files[0].path))
    }), limit)

  it.scopedLive(
    "--timeout: a server that says nothing and is slow to end is told with the time that was given",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ slow: fixture("noinit", "keepalive", "ignoreterm") })
        const { json } = yield* run(["status", "--timeout", "900", "--json"])
        const [slow] = json().servers
        assert.strictEqual(slow.error.tag, "RequestTimeout")
        const human = yield* run(["tools", "--timeout", "900"])
        assert.include(human.stderr, "within 900 ms")
      }),
    limit
  )

  it.scopedLive(
    "logs without a server goes on with those that work, and tells of the others",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ lost: missing, notes })
        const until = new AbortController()
        const some = yield* run(["logs"], {
          until,
          onStderr: (stderr) => stderr.includes("(connected") && until.abort()
        })
        assert.strictEqual(some.code, 130, some.stderr)
        assert.include(some.stderr, `Server "lost"`)
        servers({ notes: { ...notes, lifetime: "lazy" } })
        // Its tools are stored from here on, so that it is at rest until somebody uses it.
        assert.strictEqual((yield* run(["tools"])).code, 0)
        const again = new AbortController()
        const lazy = yield* run(["logs"], {
          until: again,
          onStderr: (stderr) => stderr.includes("(connected") && again.abort()
        })
        assert.strictEqual(lazy.code, 130, lazy.stderr)
        servers({ lost: missing })
        const none = yield* run(["logs"])
        assert.strictEqual(none.code, 1)
        assert.include(none.stderr, `Server "lost"`)
      }),
    limit
  )

  it.scopedLive("what is advised leads to where it is", () =>
    Effect.gen(function*() {
      const { directory, run, servers, write } = yield* home
      write("it's broken.json", "{")
      const broken = yield* run(["tools", "--config", "it's broken.json"])
      assert.include(broken.stderr, `mcp-runtime config check --config 'it'\\''s broken.json'`)
      const project = yield* run(["tools", "--no-project"])
      assert.strictEqual(project.code, 2)
      assert.include(project.stderr, `Write ${directory}/config/mcp-runtime/mcp.json: {`)
      servers({ notes })
      const empty = yield* run(["call", "add_note", "-"], { stdin: "" })
      assert.strictEqual(empty.code, 2)
      assert.notInclude(empty.stderr, "Quote it")
      assert.include(empty.stderr, "stdin")
      const hint = yield* run(["call"])
      assert.include(hint.stderr, "mcp-runtime call --help")
    }), limit)

  it.scopedLive("what is not there is looked for among its own kind", () =>
    Effect.gen(function*() {
      const { run } = yield* home
      const server = yield* HttpFixture.make({
        override: (request) => {
          switch (request.rpc) {
            case "initialize":
              return HttpFixture.result(request, {
                protocolVersion: "2025-06-18",
                capabilities: { resources: {}, prompts: {} },
                serverInfo: { name: "x", version: "1" }
              })
            case "resources/list":
              return HttpFixture.result(request, { resources: [{ uri: "a://b", name: "b" }] })
            case "prompts/list":
              return HttpFixture.result(request, { prompts: [{ name: "p" }] })
            case "resources/read":
            case "prompts/get":
              return HttpFixture.json({
                jsonrpc: "2.0",
                id: request.id,
                error: { code: -32602, message: "no such thing" }
              })
            default:
              return request.method === "POST" ? HttpFixture.accepted : HttpFixture.respond({ status: 405 })
          }
        }
      })
      const read = yield* run(["read", "a://b", "--url", server.url])
      assert.strictEqual(read.code, 1, read.stderr)
      assert.include(read.stderr, "mcp-runtime resources with the same --url")
      const prompt = yield* run(["prompt", "p", "--url", server.url])
      assert.include(prompt.stderr, "mcp-runtime prompts with the same --url")
    }), limit)

  it.scopedLive(
    "a server without a file: advice names the options, not the fields of a file",
    () =>
      Effect.gen(function*() {
        const { run } = yield* home
        const refused = yield* run(["tools", "--url", "http://127.0.0.1:9", "--strict"])
        assert.include(refused.stderr, "in --url.")
        assert.notMatch(refused.stderr, /" of "127|the command line/)
        const command = yield* run(["tools", "--command", "nodee x", "--strict"])
        assert.include(command.stderr, "Correct --command")
        const server = yield* HttpFixture.make({ override: () => HttpFixture.respond({ status: 401 }) })
        const denied = yield* run(["call", "x", "--url", server.url, "--header", "Authorization: Bearer x"])
        assert.include(denied.stderr, "in --header")
      }),
    limit
  )

  it.scopedLive(
    "what opens a session is called as in the protocol, and which redirects are followed is told",
    () =>
      Effect.gen(function*() {
        const { run } = yield* home
        const server = yield* HttpFixture.make({ override: () => HttpFixture.respond({ status: 418 }) })
        const { stderr } = yield* run(["tools", "--url", server.url, "--strict"])
        assert.include(stderr, `It answered "initialize" with HTTP 418`)
        const moved = yield* HttpFixture.make({
          override: () => HttpFixture.respond({ status: 302, headers: { location: "/elsewhere" } })
        })
        const redirect = yield* run(["tools", "--url", moved.url, "--strict"])
        assert.include(redirect.stderr, "Only 307 and 308 are followed, and only within the origin.")
      }),
    limit
  )

  it.scopedLive("documents: every error has the same fields", () =>
    Effect.gen(function*() {
      const { run, servers } = yield* home
      servers({ lost: missing })
      const doctor = (yield* run(["doctor", "--json"])).json()
      const [{ error }] = doctor.servers
      assert.deepInclude(error, { tag: "SpawnFailed", server: "lost", executed: "no" })
      assert.isNotEmpty(error.todo)
      const failing = (yield* run(["tools", "--server", "nope", "--json"])).json()
      assert.deepInclude(failing.error, { server: null, executed: "no" })
    }), limit)

  it.scopedLive("help as a command", () =>
    Effect.gen(function*() {
      const { run } = yield* home
      const help = yield* run(["help"])
      assert.strictEqual(help.code, 0, help.stderr)
      assert.strictEqual(help.stdout, (yield* run(["--help"])).stdout)
      assert.strictEqual((yield* run(["help", "call"])).stdout, (yield* run(["call", "--help"])).stdout)
      assert.include(help.stdout, "logs [server]")
      assert.include(help.stdout, "auth [server]")
    }), limit)

  it.scopedLive(
    "variables: a file that is not there ends it, a time-out that is none is told",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        servers({ notes })
        const nope = yield* run(["tools"], { env: { MCP_RUNTIME_CONFIG: "/nope.json" } })
        assert.strictEqual(nope.code, 2, nope.stderr)
        assert.include(nope.stderr, "MCP_RUNTIME_CONFIG")
        const other = yield* run(["tools", "--config", ".mcp.json"], { env: { MCP_RUNTIME_CONFIG: "/nope.json" } })
        assert.strictEqual(other.code, 0, other.stderr)
        const timeout = yield* run(["tools"], { env: { MCP_RUNTIME_TIMEOUT: "abc" } })
        assert.strictEqual(timeout.code, 0)
        assert.match(timeout.stderr, /MCP_RUNTIME_TIMEOUT: must be a number/)
      }),
    limit
  )

  it.scopedLive(
    "doctor: says which version it is, and how long the handshake was waited for",
    () =>
      Effect.gen(function*() {
        const { run, servers } = yield* home
        const seen: Array<string> = []
        const server = yield* Effect.acquireRelease(
          Effect.async<Http.Server>((resume) => {
            const server = Http.createServer((request, response) => {
              request.setEncoding("utf8").on("data", (text: string) => seen.push(text))
              request.on("end", () => response.writeHead(500).end())
            })
            server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
          }),
          (server) => Effect.sync(() => void server.close())
        )
        const { port } = server.address() as { readonly port: number }
        yield* run(["doctor", "--url", `http://127.0.0.1:${port}/`])
        const { version } = JSON.parse(Fs.readFileSync(new URL("../package.json", import.meta.url), "utf8"))
        assert.include(seen.join("\n"), `"clientInfo":{"name":"mcp-runtime-doctor","version":"${version}"}`)
        servers({ slow: fixture("noinit", "keepalive", "ignoreterm") })
        const { steps } = (yield* run(["doctor", "--timeout", "900", "--json"])).json().servers[0]
        const handshake = steps.find((_: { readonly name: string }) => _.name === "handshake")
        // Its process is ended after 4 seconds.
        assert.isBelow(handshake.milliseconds, 3000)
      }),
    limit
  )
})

describe("tables", () => {
  const columns = [{ title: "URI" }, { title: "SERVER" }, { title: "ABOUT", lines: 3 }]
  const uri = `https://example.com/${"a".repeat(80)}`
  const about = "what is said of it ".repeat(12).trim()

  it("a name is whole where there is no terminal, and is the last to be wrapped on one", () => {
    const outlet = { columns: () => 60, style: plain, terminal: false }
    const file = Table.render(columns, [[uri, "everything", about], ["b", "notes", "x"]], outlet)
    assert.include(file, `${uri}  everything `)
    const middle = `https://example.com/${"a".repeat(20)}`
    const rows = [[middle, "a-server-with-a-long-name", about]]
    const shown = Table.render(columns, rows, { columns: () => 74, style: plain, terminal: true })
    assert.include(shown, middle)
    for (const line of shown.trimEnd().split("\n")) assert.isAtMost(line.length, 74)
  })

  it("a mark stays, however long the text before it is", () => {
    const mark = "(from the last run)"
    const shown = Table.render(
      [{ title: "TOOL" }, { title: "DESCRIPTION", lines: 3 }],
      [["a", { text: about, end: mark }], ["b", { text: "short", end: mark }]],
      { columns: () => 50, style: plain, terminal: true }
    )
    assert.strictEqual(shown.split(mark).length, 3, shown)
    assert.include(shown, `short ${mark}`)
    assert.strictEqual(shown.trimEnd().split("\n").length, 5)
  })
})

describe("help", () => {
  it("on a narrow terminal descriptions have lines of their own", () => {
    const commands = new Map([["call", { usage: "<tool>", description: "Call a tool of a server, and show." }]])
    const shown = Help.render([], commands, { columns: () => 40, style: plain })
    assert.isBelow(shown.split("\n").length, 120)
    for (const line of shown.split("\n")) assert.isAtMost(line.length, 70)
    assert.match(shown, /--timeout <value>\n {6}How long a server/)
  })
})
