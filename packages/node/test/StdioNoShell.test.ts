/** The command of a server is a program and its arguments, and never a line for a shell. */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpConnection } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { LeakCheck } from "@mcp-runtime/testing"
import { Effect } from "effect"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(join(tmpdir(), "mcp-shell-"))),
  (path) => Effect.sync(() => fs.rmSync(path, { recursive: true }))
)

const script =
  `require("node:fs").writeFileSync(process.argv[1], JSON.stringify([process.argv.slice(2), process.env.VALUE]))`

/** With this command; fails, as it is no server. */
const started = (command: string, args: ReadonlyArray<string>, value: string) =>
  Effect.gen(function*() {
    const config = yield* McpConfig.decode({ name: "odd", transport: "stdio", command, args, env: { VALUE: value } })
    const connection = yield* McpConnection.make(config)
    return yield* Effect.flip(Effect.asVoid(connection.awaitReady))
  }).pipe(Effect.scoped, Effect.provide(NodeMcp.layer))

describe("no shell", () => {
  it.live("what a shell would make something of arrives as it was written", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const [said, made] = [join(directory, "said"), join(directory, "made")]
      const hostile = [
        `; touch ${made}`,
        `$(touch ${made})`,
        `\`touch ${made}\``,
        `&& touch ${made}`,
        `| touch ${made}`,
        `> ${made}`,
        `\n touch ${made}`,
        "$HOME ${HOME} %PATH% ~ * ?",
        `" ' \\`,
        ""
      ]
      yield* started(process.execPath, ["-e", script, said, ...hostile], `$(touch ${made})`)
      assert.deepStrictEqual(JSON.parse(fs.readFileSync(said, "utf8")), [hostile, `$(touch ${made})`])
      assert.isFalse(fs.existsSync(made))
    })))

  it.live("a command is the name of one program, with all that is in it", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const made = join(yield* temporaryDirectory, "made")
      for (const command of [`touch ${made}`, `true; touch ${made}`, `$(touch ${made})`]) {
        assert.strictEqual((yield* started(command, [], ""))._tag, "SpawnFailed")
      }
      assert.isFalse(fs.existsSync(made))
    })))
})
