/** Secrets that are given in every place there is for them, and looked for in every place where they must not be. */
import { assert, describe, it } from "@effect/vitest"
import * as HttpFixture from "@mcp-runtime/testing/HttpFixture"
import { Effect } from "effect"
import { type Place, place, run, start } from "./hostile/command.js"

const canary = (where: string) => `CANARY-${where}-7f3a9c1e5b`

const env = {
  CANARY_SHELL: canary("shell"),
  CANARY_EXPANDED: canary("expanded"),
  MCP_INPUT_TOKEN: canary("input")
}

/** What is asked, and whether it is meant to succeed. */
const commands: ReadonlyArray<ReadonlyArray<string>> = [
  ["tools"],
  ["tools", "--json"],
  ["status"],
  ["status", "--json"],
  ["doctor"],
  ["doctor", "--json"],
  ["config", "check"],
  ["config", "check", "--json"],
  ["call", "echo", "a=1"],
  ["call", "hang", "--timeout", "1000"],
  ["call", "crash"],
  ["call", "crash", "--json"],
  ["call", "refuse"],
  ["call", "refuse", "--json"],
  ["tools", "--log-level", "all"],
  ["prompts"],
  ["resources"]
]

const setUp = (here: Place, origin: string) => {
  const [protocol, host] = origin.split("://")
  const more = (server: object, env: object) => ({ ...server, env: { ...(server as { env: object }).env, ...env } })
  const secrets = {
    CANARY_PLAIN: canary("env"),
    CANARY_REFERENCE: "${CANARY_EXPANDED}",
    CANARY_INPUT: "${input:token}",
    CANARY_COMMAND: { command: `printf %s ${canary("command").replace("CANARY", "CANAR''Y")}` }
  }
  here.configure({
    talker: more(here.server("tell"), secrets),
    crasher: more(here.server("tell", "crash"), secrets),
    ok: {
      url: `${protocol}://user:${canary("userinfo")}@${host}/mcp?key=${canary("query")}`,
      headers: { Authorization: `Bearer ${canary("header")}`, "X-Key": "${CANARY_EXPANDED}" }
    },
    wrong: {
      url: `${protocol}://user:${canary("userinfo")}@${host}/wrong?key=${canary("query")}`,
      headers: { Authorization: `Bearer ${canary("header")}` }
    },
    refused: { url: `http://user:${canary("userinfo")}@127.0.0.1:1/mcp?key=${canary("query")}` },
    missing: { url: `http://127.0.0.1:1/\${CANARY_UNSET}`, headers: { Authorization: `Bearer ${canary("header")}` } },
    invalid: { command: 1, env: { A: canary("invalid") }, token: canary("field") }
  }, { inputs: [{ id: "token", type: "promptString", description: "a token", password: true }] })
}

/** A server that says everything it was sent to whoever asks. */
const parrot = HttpFixture.make({
  override: (request) =>
    request.path.startsWith("/mcp")
      ? undefined
      : HttpFixture.respond({
        status: 400,
        headers: {
          "content-type": "text/plain",
          "www-authenticate": `Bearer realm="${request.headers.authorization}"`
        },
        body: `you sent ${JSON.stringify(request.headers)} to ${request.path}`
      })
})

const assertNone = (where: string, text: string) => {
  const at = text.indexOf("CANARY-")
  assert.strictEqual(at < 0 ? "" : text.slice(Math.max(0, at - 200), at + 100), "", where)
}

const looked = (args: ReadonlyArray<string>) =>
  Effect.scoped(Effect.gen(function*() {
    const server = yield* parrot
    const here = yield* place
    setUp(here, server.origin)
    const { code, stderr, stdout } = yield* run(here, args, { env })
    assert.isNotNull(code)
    assertNone("stdout", stdout)
    assertNone("stderr", stderr)
    assertNone("files", here.written())
    yield* here.nothingLeft
  }))

describe("secrets of the configuration are nowhere", () => {
  for (const args of commands) {
    it.live(args.join(" "), () => looked(args), 60_000)
  }

  it.live("they do arrive where they are meant to", () =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* parrot
      const here = yield* place
      setUp(here, server.origin)
      yield* run(here, ["tools"], { env })
      const request = server.log.find((_) => _.rpc === "initialize" && _.path.startsWith("/mcp"))
      assert.strictEqual(request?.headers.authorization, `Bearer ${canary("header")}`)
      assert.strictEqual(request?.headers["x-key"], canary("expanded"))
      assert.include(request?.path, canary("query"))
      yield* here.nothingLeft
    })), 60_000)

  it.live("a crash of the command itself shows none", () =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* parrot
      const here = yield* place
      setUp(here, server.origin)
      const preload = here.write(
        "crash.mjs",
        `process.on("SIGUSR2", () => { throw new Error("told to crash") })\n`
      )
      const running = yield* start(here, ["call", "talker__hang"], {
        env: { ...env, NODE_OPTIONS: `--import=${preload}` }
      })
      yield* here.awaitStage("call hang")
      running.kill("SIGUSR2")
      const { code } = yield* running.ended
      const [stdout, stderr] = [running.stdout(), running.stderr()]
      assert.notStrictEqual(code, 0)
      assert.include(stderr, "told to crash")
      assertNone("stdout", stdout)
      assertNone("stderr", stderr)
      assertNone("files", here.written())
      yield* here.nothingLeft
    })), 60_000)
})
