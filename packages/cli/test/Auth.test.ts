import { assert, describe, it } from "@effect/vitest"
import { AuthFixture } from "@mcp-runtime/testing"
import { Deferred, Effect, Fiber } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Home, home } from "./internal/cli.js"

const limit = 90_000

/** Runs `auth` with a person who visits the page that is printed. */
const authorize = (
  here: Home,
  server: AuthFixture.AuthFixture,
  args: ReadonlyArray<string>,
  env: { readonly [name: string]: string } = {}
) =>
  Effect.gen(function*() {
    const page = yield* Deferred.make<string>()
    const running = yield* Effect.fork(here.run(["auth", ...args, "--no-browser"], {
      env,
      onStderr: (stderr) => {
        const [url] = /http:\/\/127\.0\.0\.1\S+(?=\s)/.exec(stderr) ?? []
        if (url !== undefined) Deferred.unsafeDone(page, Effect.succeed(url))
      }
    }))
    yield* Effect.raceFirst(Effect.flatMap(Deferred.await(page), server.visit), Fiber.await(running))
    return yield* Fiber.join(running)
  })

describe("mcp-runtime auth", () => {
  it.scopedLive(
    "authorizes once; after that every command is; --forget takes it back; no token is shown",
    () =>
      Effect.gen(function*() {
        const here = yield* home
        const server = yield* AuthFixture.make()
        here.servers({ guarded: { url: server.url }, local: { command: "node" } })

        const before = yield* here.run(["tools", "--server", "guarded", "--json"])
        assert.strictEqual(before.code, 0)
        assert.strictEqual(before.json().servers[0].status, "needs-authorization", before.stdout)
        assert.include(before.stderr, "mcp-runtime auth guarded")

        const authorized = yield* authorize(here, server, ["guarded", "--json"])
        assert.strictEqual(authorized.code, 0, authorized.stderr)
        assert.strictEqual(authorized.json().status, "authorized")
        assert.strictEqual(authorized.json().issuer, server.issuer)

        const after = yield* here.run(["call", "guarded__echo", "text=hi"])
        assert.strictEqual(after.code, 0, after.stderr)
        const tokens = Path.join(here.directory, "data/mcp-runtime/tokens")
        assert.strictEqual(Fs.statSync(tokens).mode & 0o777, 0o700)
        for (const file of Fs.readdirSync(tokens)) {
          assert.strictEqual(Fs.statSync(Path.join(tokens, file)).mode & 0o777, 0o600)
        }

        const forgotten = yield* here.run(["auth", "guarded", "--forget"])
        assert.strictEqual(forgotten.code, 0, forgotten.stderr)
        const again = yield* here.run(["call", "guarded__echo", "text=hi", "--json"])
        assert.strictEqual(again.code, 1)
        assert.strictEqual(again.json().error.tag, "Unauthorized")

        const shown = [before, authorized, after, forgotten, again].map((_) => _.stdout + _.stderr).join("\n")
        for (const secret of server.secrets) assert.notInclude(shown, secret)
      }),
    limit
  )

  it.scopedLive(
    "references are looked up, as everywhere: of the place, of the client, and anew for each assertion",
    () =>
      Effect.gen(function*() {
        const here = yield* home
        const server = yield* AuthFixture.make({ clients: [{ id: "agents", secret: "canary-client-secret" }] })
        const url = server.url.replace(/^http:\/\/[^/]*/, "${WHERE}")
        const { issuer } = server
        const assertion = { command: "printf %s canary-assertion" }
        here.servers({
          person: { url, auth: { type: "oauth", clientId: "${ID}", clientSecret: { env: "SECRET" }, issuer } },
          workload: {
            url,
            auth: { type: "jwtBearer", clientId: "agents", clientSecret: { env: "SECRET" }, assertion, issuer }
          }
        })
        const env = { WHERE: new URL(server.url).origin, ID: "agents", SECRET: "canary-client-secret" }

        const asked = yield* authorize(here, server, ["person", "--json"], env)
        assert.strictEqual(asked.code, 0, asked.stderr)
        const called = yield* here.run(["call", "person__echo", "text=hi"], { env })
        assert.strictEqual(called.code, 0, called.stderr)
        const unattended = yield* here.run(["call", "workload__echo", "text=hi"], { env })
        assert.strictEqual(unattended.code, 0, unattended.stderr)
        assert.strictEqual(server.count("token", (_) => _.parameters.get("assertion") === "canary-assertion"), 1)
        for (const { stderr, stdout } of [asked, called, unattended]) assert.notInclude(stdout + stderr, "canary")
      }),
    limit
  )

  it.scopedLive("a process, no server at all, a person who never comes", () =>
    Effect.gen(function*() {
      const here = yield* home
      const server = yield* AuthFixture.make()
      here.servers({ guarded: { url: server.url }, local: { command: "node" } })
      const local = yield* here.run(["auth", "local"])
      assert.strictEqual(local.code, 2)
      assert.include(local.stderr, "only servers over HTTP are authorized")
      const late = yield* here.run(["auth", "guarded", "--no-browser", "--timeout", "1s"])
      assert.strictEqual(late.code, 1, late.stderr)
      assert.include(late.stderr, "nobody came back from the browser")
    }), limit)
})
