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

/** What is asked, how it ends, and whether servers are started for it. */
const commands: ReadonlyArray<readonly [args: ReadonlyArray<string>, code: number, starts: boolean]> = [
  [["tools"], 0, true],
  [["tools", "--json"], 0, true],
  [["status"], 0, true],
  [["status", "--json"], 0, true],
  [["doctor"], 1, true],
  [["doctor", "--json"], 1, true],
  [["config", "check"], 2, false],
  [["config", "check", "--json"], 2, false],
  [["call", "talker__echo", "a=1"], 0, true],
  [["call", "hang", "--timeout", "6000"], 1, true],
  [["call", "crash"], 1, true],
  [["call", "crash", "--json"], 1, true],
  [["call", "refuse"], 1, true],
  [["call", "refuse", "--json"], 1, true],
  [["tools", "--log-level", "all"], 0, true],
  [["prompts"], 0, true],
  [["resources"], 0, true]
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

const looked = (args: ReadonlyArray<string>, expected: number, starts: boolean) =>
  Effect.scoped(Effect.gen(function*() {
    const server = yield* parrot
    const here = yield* place
    setUp(here, server.origin)
    const { code, stderr, stdout } = yield* run(here, args, { env })
    assert.strictEqual(code, expected, stderr)
    assert.strictEqual(here.stages().some((_) => _.startsWith("started")), starts)
    assertNone("stdout", stdout)
    assertNone("stderr", stderr)
    assertNone("files", here.written())
    yield* here.nothingLeft
  }))

describe("secrets of the configuration are nowhere", () => {
  for (const [args, code, starts] of commands) {
    it.live(args.join(" "), () => looked(args, code, starts), 60_000)
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
