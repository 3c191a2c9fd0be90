import { assert, describe, it } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import type * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as NodeMcp from "@mcp-runtime/node/NodeMcp"
import { HttpFixture, ScriptedServer, StdioFixture } from "@mcp-runtime/testing"
import { Duration, Effect, Fiber, TestClock } from "effect"
import * as Fs from "node:fs"
import * as Http from "node:http"
import * as Https from "node:https"
import type { AddressInfo } from "node:net"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import { ending } from "../../core/test/clocks.js"
import { type Examination, examine } from "../src/doctor/examination.js"
import * as Report from "../src/doctor/report.js"

const look = (config: McpConfig.ServerConfigInput, timeout: Duration.DurationInput = "10 seconds") =>
  examine({ name: config.name, config, origin: { level: "project", path: "/p/mcp.json" } }, {
    timeout: Duration.decode(timeout),
    configFile: undefined
  }).pipe(Effect.provide(NodeMcp.layerTransport))

const http = (url: string, transport: "http" | "sse" | "auto" = "auto"): McpConfig.ServerConfigInput => ({
  name: "docs",
  transport,
  url
})

const listen = (server: Net.Server) =>
  Effect.acquireRelease(
    Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        if ("closeAllConnections" in server) (server as Http.Server).closeAllConnections()
      })
  )

const directory = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(tmpdir(), "mcp-doctor-"))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true }))
)

const steps = (one: Examination) => one.steps.map((_) => `${_.name} ${_.ok ? "ok" : "failed"}`)

const says = (one: Examination, headline: RegExp, todo: RegExp) => {
  assert.strictEqual(one.status, "failed")
  assert.match(one.advice?.headline ?? "", headline)
  assert.match(one.advice?.todo.join("\n") ?? "", todo)
  return Report.examination(one)
}

const tls = (name: string) => Fs.readFileSync(new URL(`../../node/test/fixtures/tls/${name}`, import.meta.url))

describe("the doctor looks at", () => {
  it.live("a server that works: start, handshake, lists, end, each with its time", () =>
    Effect.gen(function*() {
      const one = yield* look(StdioFixture.config([], { name: "files" }))
      assert.strictEqual(one.status, "ok")
      assert.deepStrictEqual(steps(one), ["configuration ok", "start ok", "handshake ok", "tools ok", "end ok"])
      assert.deepStrictEqual(one.warnings, [])
      assert.match(Report.examination(one), /stdio-fixture 1\.0\.0, protocol 2025-/)
    }))

  it.live("a server over HTTP that works", () =>
    Effect.gen(function*() {
      const server = yield* HttpFixture.make()
      const one = yield* look(http(server.url))
      assert.strictEqual(one.status, "ok")
      assert.strictEqual(one.transport, "http")
      assert.deepStrictEqual(server.log.filter((_) => _.rpc === "initialize").length, 1)
    }).pipe(Effect.scoped))

  it.live("one that is disabled, and does not start it", () =>
    Effect.gen(function*() {
      const one = yield* look({ name: "off", transport: "stdio", command: "no-such-program", enabled: false })
      assert.strictEqual(one.status, "disabled")
    }))

  it.live("a wrong configuration", () =>
    Effect.gen(function*() {
      const one = yield* look(http("not a url"))
      says(one, /url: must be an http/, /"url" of "docs" in \/p\/mcp\.json/)
    }))

  it.live("a command that is not there: PATH, and what was meant", () =>
    Effect.gen(function*() {
      const bin = yield* directory
      Fs.writeFileSync(Path.join(bin, "node"), "", { mode: 0o755 })
      const one = yield* look({ name: "files", transport: "stdio", command: "nodee", env: { PATH: bin } })
      const shown = says(one, /the command "nodee" was not found/, /Did you mean "node"\?/)
      assert.include(shown, `PATH was: ${bin}`)
    }).pipe(Effect.scoped))

  it.live("npx where there is none", () =>
    Effect.gen(function*() {
      const bin = yield* directory
      const one = yield* look({ name: "files", transport: "stdio", command: "npx", env: { PATH: bin } })
      says(one, /"npx" was not found/, /comes with Node\.js/)
    }).pipe(Effect.scoped))

  it.live("a script that is not there, next to the one that was meant", () =>
    Effect.gen(function*() {
      const cwd = yield* directory
      Fs.writeFileSync(Path.join(cwd, "server.mjs"), "")
      const one = yield* look({
        name: "files",
        transport: "stdio",
        command: process.execPath,
        args: ["sever.mjs"],
        cwd
      })
      says(one, /the file ".*sever\.mjs" is not there/, /Did you mean ".*server\.mjs"\?/)
    }).pipe(Effect.scoped))

  it.live("a working directory that is not there", () =>
    Effect.gen(function*() {
      const one = yield* look({ name: "files", transport: "stdio", command: "node", cwd: "/no/such/directory" })
      says(one, /working directory/, /"cwd" of "files"/)
    }))

  it.live("a script whose interpreter is not there, and one that may not be run", () =>
    Effect.gen(function*() {
      const cwd = yield* directory
      const command = Path.join(cwd, "run")
      Fs.writeFileSync(command, "#!/usr/bin/env no-such-interpreter\n", { mode: 0o755 })
      Fs.writeFileSync(`${command}2`, "#!/no/such/interpreter\n", { mode: 0o755 })
      Fs.writeFileSync(`${command}3`, "#!/bin/sh\n", { mode: 0o644 })
      says(
        yield* look({ name: "files", transport: "stdio", command: `${command}2` }),
        /"\/no\/such\/interpreter", which runs/,
        /"args"/
      )
      says(yield* look({ name: "files", transport: "stdio", command: `${command}3` }), /can't be run/, /chmod \+x/)
      says(yield* look({ name: "files", transport: "stdio", command }), /no-such-interpreter/, /Install/)
    }).pipe(Effect.scoped))

  it.live("a server that exits at its start: its code and its stderr", () =>
    Effect.gen(function*() {
      const one = yield* look(StdioFixture.config(["earlyexit=5"], { name: "files" }))
      const shown = says(one, /ended at its start/, /stderr/)
      assert.include(shown, "exited with code 5")
      assert.include(shown, "fatal: this server can't start")
    }))

  it.live("a server that says nothing, and one that says it in the wrong place", () =>
    Effect.gen(function*() {
      const [quiet, noisy] = yield* Effect.all([
        look(StdioFixture.config(["noinit"], { name: "files" }), "700 millis"),
        look(StdioFixture.config(["noinit", "noise"], { name: "files" }), "5 seconds")
      ], { concurrency: 2 })
      says(quiet, /did not answer/, /speaks over stdio/)
      says(noisy, /writes to stdout what is no message/, /Log to stderr/)
      assert.deepStrictEqual(steps(quiet), ["configuration ok", "start ok", "handshake failed"])
    }))

  it.live("a server that works, and writes what is no message to stdout: a warning", () =>
    Effect.gen(function*() {
      const one = yield* look(StdioFixture.config(["noise"], { name: "files" }))
      assert.strictEqual(one.status, "ok")
      assert.match(one.warnings.join("\n"), /stdout[\s\S]*Hello, I am not JSON[\s\S]*log to stderr/)
    }))

  it.live("a version nobody speaks, and a handshake that is refused", () =>
    Effect.gen(function*() {
      const shown = says(
        yield* look(StdioFixture.config(["badver"], { name: "files" })),
        /no common version/,
        /Update the server/
      )
      assert.include(shown, "1999-01-01")
      says(yield* look(StdioFixture.config(["initerr"], { name: "files" })), /refused the handshake/, /documentation/)
    }))

  it.live("tools with invalid schemas: which of them are left out, and why", () =>
    Effect.gen(function*() {
      const server = yield* HttpFixture.make({
        override: (request) =>
          request.rpc === "tools/list"
            ? HttpFixture.result(request, {
              tools: [
                { name: "good", inputSchema: { type: "object" } },
                { name: "bad", inputSchema: "no" },
                { inputSchema: { type: "object" } }
              ]
            })
            : undefined
      })
      const one = yield* look(http(server.url))
      assert.strictEqual(one.status, "ok")
      assert.match(one.warnings.join("\n"), /tool "bad" is left out: /)
      assert.match(one.warnings.join("\n"), /tool number 3 is left out: /)
      assert.match(Report.examination(one), /tools +ok +\d+(?:\.\d+)? m?s +1, 2 left out/)
    }).pipe(Effect.scoped))

  it.live("lists that hang", () =>
    Effect.gen(function*() {
      const server = yield* HttpFixture.make({
        override: (request) => request.rpc === "tools/list" ? HttpFixture.hang : undefined
      })
      // The handshake may take as long as it does: its bound is over with the list that hangs.
      const asked = server.awaitLog((log) => log.some((_) => _.rpc === "tools/list"))
      const one = yield* Effect.withClock(look(http(server.url), "500 millis"), yield* ending(["500 millis", asked]))
      says(one, /did not answer "tools\/list" in time/, /--timeout/)
    }).pipe(Effect.scoped))

  it.live("a port where nothing listens, and a host that is not there", () =>
    Effect.gen(function*() {
      const port = yield* Effect.scoped(listen(Net.createServer()))
      says(yield* look(http(`http://127.0.0.1:${port}/mcp`)), /nothing listens at "127\.0\.0\.1:/, /Start the server/)
      says(yield* look(http("http://no-such-host.invalid/mcp")), /no host "no-such-host\.invalid"/, /spelling/)
    }))

  it.live("a web page, with an MCP server at /mcp of the same host", () =>
    Effect.gen(function*() {
      const server = yield* HttpFixture.make({
        override: (request) =>
          request.path === "/mcp"
            ? HttpFixture.respond({ status: 405 })
            : HttpFixture.respond({
              status: request.path.split("?")[0] === "/" ? 200 : 404,
              headers: { "content-type": "text/html" },
              body: "<html><title>Welcome\u001b[31m</title></html>"
            })
      })
      const one = yield* look(http(`${server.origin}/?key=CANARY`, "http"))
      const shown = says(one, /a web page is at its URL/, new RegExp(`answers at ${server.origin}/mcp`))
      assert.include(shown, "Welcome")
      assert.notInclude(shown, "CANARY")
      assert.notInclude(shown, "\u001b")
      assert.isTrue(server.log.every((_) => _.rpc !== undefined || !_.path.includes("CANARY")))
    }).pipe(Effect.scoped))

  it.live("a website that is no MCP server at all is not taken for one", () =>
    Effect.gen(function*() {
      const server = yield* HttpFixture.make({
        override: () => HttpFixture.respond({ status: 404, headers: { "content-type": "text/html" }, body: "<p>no" })
      })
      const one = yield* look(http(`${server.origin}/api`))
      says(one, /nothing at its URL|no MCP server/, /most servers are at \/mcp, older ones at \/sse/)
    }).pipe(Effect.scoped))

  it.live("401, 403, 405, 406, 500: each with its advice, and no second try", () =>
    Effect.gen(function*() {
      for (
        const [status, headline, todo] of [
          [401, /asks for credentials/, /mcp-runtime auth docs/],
          [403, /does not let you in/, /token or account/],
          [405, /no MCP server of this kind/, /path/],
          [406, /does not take/, /type/],
          [500, /has failed/, /log/]
        ] as const
      ) {
        const server = yield* HttpFixture.make({
          override: () => HttpFixture.respond({ status, headers: { "www-authenticate": "Bearer realm=\"x\"" } })
        })
        says(yield* look(http(server.url, "http")), headline, todo)
        assert.strictEqual(server.log.filter((_) => _.rpc === "initialize").length, 1)
      }
    }).pipe(Effect.scoped))

  it.live("certificates: unknown authority, another host, no TLS, TLS where none was expected", () =>
    Effect.gen(function*() {
      const port = yield* listen(
        Https.createServer({ key: tls("server.key"), cert: tls("server.pem") }, (_, response) => response.end())
      )
      const elsewhere = yield* listen(Https.createServer({ key: tls("elsewhere.key"), cert: tls("elsewhere.pem") }))
      const plain = yield* listen(Http.createServer((_, response) => response.end()))
      const unknown = says(
        yield* look(http(`https://127.0.0.1:${port}/mcp`)),
        /nobody this machine trusts|self-signed/,
        /NODE_EXTRA_CA_CERTS/
      )
      assert.match(unknown, /signed by: /)
      assert.match(unknown, /valid until: .*2126/)
      says(
        yield* look({
          name: "docs",
          transport: "http",
          url: `https://127.0.0.1:${elsewhere}/mcp`,
          tls: { ca: tls("ca.pem").toString() }
        }),
        /for another host/,
        /"url" of "docs"/
      )
      says(yield* look(http(`https://127.0.0.1:${plain}/mcp`)), /does not speak TLS/, /http:\/\//)
      says(yield* look(http(`http://127.0.0.1:${port}/mcp`)), /speaks https at this port/, /https:\/\//)
    }).pipe(Effect.scoped))

  it.live("a port that speaks no HTTP, and one that accepts and says nothing", () =>
    Effect.gen(function*() {
      const sockets = new Set<Net.Socket>()
      const banner = yield* listen(Net.createServer((socket) => {
        socket.on("error", () => {}).resume()
        socket.end("SSH-2.0-OpenSSH_9.0\r\n")
      }))
      const silent = yield* listen(Net.createServer((socket) => {
        sockets.add(socket.on("error", () => {}))
      }))
      yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((_) => _.destroy())))
      const one = yield* look(http(`http://127.0.0.1:${banner}/mcp`, "http"))
      says(one, /broke off/, /Check the port/)
      says(yield* look(http(`http://127.0.0.1:${silent}/mcp`, "http"), "500 millis"), /did not answer in time/, /URL/)
    }).pipe(Effect.scoped))
})

describe("the time of a handshake", () => {
  it.effect("is what was waited for an answer, however long the process takes to end", () =>
    Effect.gen(function*() {
      const handshake = (options: ScriptedServer.Options) =>
        Effect.gen(function*() {
          const server = yield* ScriptedServer.make({
            ...options,
            name: "slow",
            close: () => Effect.sleep("4 seconds")
          })
          const config = { name: "slow", transport: "stdio", command: "any" } as const
          const looking = yield* Effect.fork(
            examine({ name: "slow", config }, { timeout: Duration.seconds(1), configFile: undefined }).pipe(
              Effect.provide(ScriptedServer.layer(server))
            )
          )
          yield* TestClock.adjust("1 minute")
          return (yield* Fiber.join(looking)).steps.find((_) => _.name === "handshake")
        })
      const silent = yield* handshake({ handlers: { initialize: () => Effect.never } })
      assert.deepInclude(silent, { ok: false, milliseconds: 1000 })
      const refused = yield* handshake({ protocolVersions: ["1999-01-01"] })
      assert.deepInclude(refused, { ok: false, milliseconds: 0 })
    }).pipe(Effect.scoped))
})

describe("the report", () => {
  const entry = (config: McpConfig.ServerConfigInput): ConfigFile.Entry => ({
    name: config.name,
    config,
    origin: { level: "project", path: "/p/mcp.json" },
    shadows: [],
    rules: {}
  })
  const loaded = (
    entries: ReadonlyArray<ConfigFile.Entry>,
    problems: ReadonlyArray<ConfigFile.Problem> = []
  ): ConfigFile.Loaded => ({
    entries,
    problems,
    sources: [{ level: "project", path: "/p/mcp.json" }],
    inputs: new Map()
  })
  const diagnose = (files: ConfigFile.Loaded, servers: ReadonlyArray<string> = []) =>
    Report.diagnose(files, { timeout: Duration.seconds(30), servers }).pipe(Effect.provide(NodeMcp.layerTransport))

  it.live("looks at all servers at once: eight, of which none answers before all were asked", () =>
    Effect.gen(function*() {
      const all = yield* Effect.makeLatch()
      const asked = new Set<string>()
      const server = yield* HttpFixture.make({
        override: ({ path }) => {
          if (asked.add(path).size === 8) all.unsafeOpen()
          return HttpFixture.after(all.await, HttpFixture.respond({ status: 500 }))
        }
      })
      const report = yield* diagnose(
        loaded(
          Array.from({ length: 8 }, (_, i) => entry({ name: `s${i}`, transport: "http", url: `${server.url}/${i}` }))
        )
      )
      assert.isFalse(report.ok)
      assert.deepStrictEqual(report.servers.map((_) => _.server), ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"])
      assert.include(Report.text(report), "8 of 8 servers failed.")
    }).pipe(Effect.scoped))

  it.live("is fine when all is well, and gives one document", () =>
    Effect.gen(function*() {
      const report = yield* diagnose(loaded([entry(StdioFixture.config([], { name: "files" }))]))
      assert.isTrue(report.ok)
      assert.include(Report.text(report), "All is well: 1 server works.")
      const document = JSON.parse(JSON.stringify(Report.json(report)))
      assert.strictEqual(document.ok, true)
      assert.strictEqual(document.servers[0].server.name, "stdio-fixture")
      assert.strictEqual(document.servers[0].file, "/p/mcp.json")
    }))

  it.live("names a server that is not there, and what was meant", () =>
    Effect.gen(function*() {
      const report = yield* diagnose(loaded([entry(StdioFixture.config([], { name: "files" }))]), ["flies"])
      assert.isFalse(report.ok)
      assert.match(Report.text(report), /no server "flies"[\s\S]*Did you mean "files"/)
      assert.strictEqual(report.servers.length, 0)
    }))

  it.live("no server, and errors of files, are not fine", () =>
    Effect.gen(function*() {
      const none = yield* diagnose({ ...loaded([]), sources: [] })
      assert.isFalse(none.ok)
      assert.match(Report.text(none), /No server is configured[\s\S]*mcp\.json/)
      const broken = yield* diagnose(
        loaded([], [{ path: "/p/mcp.json", line: 3, column: 5, problem: "a comma is missing", severity: "error" }])
      )
      assert.isFalse(broken.ok)
      assert.match(Report.text(broken), /\/p\/mcp\.json:3:5: a comma is missing[\s\S]*1 error in the configuration/)
    }))
})
