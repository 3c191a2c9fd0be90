/** Every mistake of a first hour, through the command: one message that says what to fix. */
import { assert, describe, it } from "@effect/vitest"
import * as HttpFixture from "@mcp-runtime/testing/HttpFixture"
import { Effect, type Scope } from "effect"
import type { AddressInfo } from "node:net"
import * as Net from "node:net"
import { type Place, place, run } from "./hostile/command.js"

interface Mistake {
  readonly name: string
  /** Writes what is wrong. */
  readonly make: (here: Place) => Effect.Effect<unknown, never, Scope.Scope>
  readonly args: ReadonlyArray<string>
  readonly code: number
  /** What has to be on stderr: the fault, and what to do. */
  readonly says: ReadonlyArray<RegExp>
  readonly env?: { readonly [name: string]: string }
}

const configure = (servers: (here: Place) => { readonly [name: string]: object }) => (here: Place) =>
  Effect.sync(() => here.configure(servers(here)))

const good = configure((here) => ({ files: here.server() }))

const freePort = Effect.async<number>((resume) => {
  const server = Net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

const web = (here: Place, reply: HttpFixture.Options["override"], more: object = {}) =>
  Effect.map(HttpFixture.make({ override: reply }), ({ url }) => here.configure({ docs: { url, ...more } }))

const mistakes: ReadonlyArray<Mistake> = [
  {
    name: "a wrong command",
    make: configure((here) => ({ files: { ...here.server(), command: "nodee" } })),
    args: ["tools", "--strict"],
    code: 1,
    says: [/"nodee" was not found/, /Did you mean "node"/, /PATH was/, /mcp\.json/]
  },
  {
    name: "a wrong path of a script",
    make: configure(() => ({ files: { command: process.execPath, args: ["./sever.mjs"] } })),
    args: ["call", "echo"],
    code: 1,
    says: [/sever\.mjs" is not there/, /Correct the path in "args"/]
  },
  {
    name: "a wrong working directory",
    make: configure((here) => ({ files: { ...here.server(), cwd: "/no/such/directory" } })),
    args: ["call", "echo"],
    code: 1,
    says: [/working directory/, /Correct "cwd"/]
  },
  {
    name: "a wrong URL: nothing listens",
    make: (here) => Effect.map(freePort, (port) => here.configure({ docs: { url: `http://127.0.0.1:${port}/mcp` } })),
    args: ["call", "echo"],
    code: 1,
    says: [/nothing listens at/, /Start the server/, /port/]
  },
  {
    name: "a wrong URL: no such host",
    make: configure(() => ({ docs: { url: "http://no-such-host.invalid/mcp" } })),
    args: ["call", "echo"],
    code: 1,
    says: [/no host "no-such-host\.invalid"/, /spelling/]
  },
  {
    name: "a wrong URL: a web page",
    make: (here) =>
      web(here, () => HttpFixture.respond({ headers: { "content-type": "text/html" }, body: "<html>" }), {
        type: "http"
      }),
    args: ["call", "echo"],
    code: 1,
    says: [/web page/, /path/]
  },
  {
    name: "a wrong URL: 404",
    make: (here) => web(here, () => HttpFixture.respond({ status: 404 })),
    args: ["call", "echo"],
    code: 1,
    says: [/nothing at its URL/, /path/]
  },
  {
    name: "a URL that is none",
    make: configure(() => ({ docs: { url: "docs.example.com/mcp" } })),
    args: ["tools", "--strict"],
    code: 1,
    says: [/url/, /http/]
  },
  {
    name: "a missing variable",
    make: configure((here) => ({ files: { ...here.server(), env: { TOKEN: "${NO_SUCH_TOKEN}" } } })),
    args: ["call", "echo"],
    code: 2,
    says: [/NO_SUCH_TOKEN/, /not set/, /export NO_SUCH_TOKEN=/]
  },
  {
    name: "a port in use, says the server",
    make: configure(() => ({
      files: {
        command: process.execPath,
        args: ["-e", "console.error('Error: listen EADDRINUSE: address already in use :::3000'); process.exit(1)"]
      }
    })),
    args: ["call", "echo"],
    code: 1,
    says: [/port 3000 that it wants is in use/, /end it/]
  },
  {
    name: "wrong JSON",
    make: (here) =>
      Effect.sync(() => here.write("mcp.json", "{\n  \"mcpServers\": {\n    \"a\": { \"command\" \"node\" }\n  }\n}")),
    args: ["tools"],
    code: 2,
    says: [/^No server could be read: .*mcp\.json:3/, /Correct .*mcp\.json/]
  },
  {
    name: "a wrong field",
    make: configure((here) => ({ files: { ...here.server(), agrs: [] } })),
    args: ["config", "check"],
    code: 0,
    says: []
  },
  {
    name: "a file that is not there",
    make: good,
    args: ["tools", "--config", "nope.json"],
    code: 2,
    says: [/nope\.json/]
  },
  {
    name: "no configuration at all",
    make: () => Effect.void,
    args: ["tools"],
    code: 2,
    says: [/No server is configured/, /mcpServers/]
  },
  {
    name: "a missing token",
    make: (here) =>
      web(
        here,
        () => HttpFixture.respond({ status: 401, headers: { "www-authenticate": "Bearer" } }),
        { auth: "none" }
      ),
    args: ["call", "echo"],
    code: 1,
    says: [/asks for credentials/, /mcp-runtime auth docs/]
  },
  {
    name: "a wrong token",
    make: (here) => web(here, () => HttpFixture.respond({ status: 401 }), { headers: { Authorization: "Bearer x" } }),
    args: ["call", "echo"],
    code: 1,
    says: [/does not accept the token/, /Authorization/]
  },
  {
    name: "a wrong tool name",
    make: good,
    args: ["call", "ehco"],
    code: 2,
    says: [/no tool "ehco"/, /Did you mean "?(?:\w+__)?echo/]
  },
  {
    name: "a wrong argument",
    make: good,
    args: ["call", "huge", "bytes=many"],
    code: 2,
    says: [/bytes/, /number/]
  },
  {
    name: "arguments that are no JSON",
    make: good,
    args: ["call", "echo", "{\"a\": }"],
    code: 2,
    says: [/JSON/]
  },
  {
    name: "a wrong server name",
    make: good,
    args: ["tools", "--server", "flies"],
    code: 2,
    says: [/no server "flies"/, /Did you mean "?files/]
  },
  {
    name: "a wrong command of ours",
    make: good,
    args: ["tolls"],
    code: 2,
    says: [/tolls/, /Did you mean .*tools/]
  },
  {
    name: "a wrong option",
    make: good,
    args: ["tools", "--jsn"],
    code: 2,
    says: [/--jsn/, /Did you mean .*--json/]
  }
]

describe("a newcomer's mistake is told in one message that says what to fix", () => {
  for (const { args, code, env, make, name, says } of mistakes) {
    it.live(`${name}: ${args.join(" ")}`, () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        yield* make(here)
        const result = yield* run(here, args, env === undefined ? {} : { env })
        for (const text of says) assert.match(result.stderr, text)
        assert.strictEqual(result.code, code, `${result.stdout}\n${result.stderr}`)
        assert.notMatch(result.stderr, /\n\s+at |FiberFailure|Cause|\[object/)
        // One message: what is wrong is not told twice.
        assert.isAtMost(result.stderr.match(/to do:/g)?.length ?? 0, 1, result.stderr)
        assert.isAtMost(result.stderr.trimEnd().split("\n").filter((_) => !_.startsWith(" ")).length, 2, result.stderr)
        yield* here.nothingLeft
      })), 40_000)
  }
})
