/**
 * A real server process for tests: a plain Node script without dependencies that speaks MCP over its standard input and
 * output, and misbehaves as it is told to.
 *
 * Owns: where the script is, the names of what it can be told, and a configuration that starts it.
 * May not touch: processes; starting and ending them is the transport's part.
 *
 * What the server is doing it says in lines on stderr, so that a test waits for a line and never for time:
 * `stage started <pid>`, `stage helper <pid>`, `stage initialize`, `stage initialized`, `stage call <tool>`, `stage eof`,
 * `stage SIGTERM`.
 *
 * Its tools, by `tools/call`:
 *
 * | tool          | arguments          | what it does                                                              |
 * |---------------|--------------------|---------------------------------------------------------------------------|
 * | `echo`        | any                | answers with its arguments as JSON text                                   |
 * | `env`         |                    | answers with its environment as JSON text                                 |
 * | `pid`         |                    | answers with `{ pid, ppid, helper }` as JSON text                         |
 * | `utf8`        |                    | answers with text of four bytes per character, one byte per write         |
 * | `huge`        | `bytes`            | answers with a line of exactly so many bytes                              |
 * | `burst`       | `count`            | sends so many notifications and the answer in one write                   |
 * | `prog`        | `steps`, `every`   | reports progress in steps, one each `every` milliseconds, then answers    |
 * | `progthenres` |                    | reports progress and answers in one write                                 |
 * | `late`        | `millis`           | answers after so many milliseconds                                        |
 * | `hang`        |                    | never answers                                                             |
 * | `die`         | `code`             | writes to stderr and exits with the code                                  |
 * | `sig`         | `signal`           | kills itself with the signal                                              |
 * | `closeout`    |                    | closes its output and lives on                                            |
 * | `closein`     |                    | closes its input, answers, and lives on                                   |
 * | `stopread`    |                    | answers, and reads nothing any more                                       |
 *
 * @since 0.1.0
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import { fileURLToPath } from "node:url"

/**
 * The path of the script.
 *
 * @since 0.1.0
 * @category constants
 */
export const script: string = fileURLToPath(new URL("../fixtures/stdio-server.mjs", import.meta.url))

/**
 * What the server can be told when it starts. Without any it is well-behaved: it answers, and ends when its input does.
 *
 * - `ok`: nothing special.
 * - `noinit`: never answers `initialize`.
 * - `badver`: answers `initialize` with a protocol version that nobody speaks.
 * - `initerr`: answers `initialize` with an error.
 * - `dieoninit`: exits with code 7 when `initialize` comes. `dieoninit=3`: with that code.
 * - `earlyexit`: writes to stderr and exits with code 3 at once. `earlyexit=5`: with that code.
 * - `keepalive`: holds something open that keeps it alive when its input has ended, as a database pool does.
 * - `ignoreeof`: as `keepalive`.
 * - `exiteof`: exits when its input ends, whatever it holds open.
 * - `ignoreterm`: ignores SIGTERM.
 * - `logeof`, `logsig`: says on stderr when its input ended, and when SIGTERM came (it then exits, unless `ignoreterm`).
 * - `noise`: writes lines that are not JSON before and between its answers.
 * - `nonrpc`: writes JSON that is not JSON-RPC before its answers.
 * - `crlf`: ends its lines with CR LF.
 * - `grandchild`: starts a helper that inherits its output and never ends by itself.
 * - `stubbornchild`: the same, and the helper ignores SIGTERM.
 * - `flooderr`: writes 1 MB to stderr before it reads anything. `flooderr=100000`: so many bytes.
 *
 * @since 0.1.0
 * @category models
 */
export type Flag =
  | "ok"
  | "noinit"
  | "badver"
  | "initerr"
  | "dieoninit"
  | `dieoninit=${number}`
  | "earlyexit"
  | `earlyexit=${number}`
  | "keepalive"
  | "ignoreeof"
  | "exiteof"
  | "ignoreterm"
  | "logeof"
  | "logsig"
  | "noise"
  | "nonrpc"
  | "crlf"
  | "grandchild"
  | "stubbornchild"
  | "flooderr"
  | `flooderr=${number}`

/**
 * A configuration of a process, as an application writes it.
 *
 * @since 0.1.0
 * @category models
 */
export type StdioConfigInput = typeof McpConfig.StdioConfig.Encoded

/**
 * A configuration that starts the server with these flags. What `overrides` has goes over it.
 *
 * @example
 * ```ts
 * import { McpConfig } from "@mcp-runtime/core"
 * import { StdioFixture } from "@mcp-runtime/testing"
 *
 * // A server that must be killed.
 * const config = McpConfig.decode(
 *   StdioFixture.config(["keepalive", "ignoreterm"], {
 *     shutdown: { afterEof: "100 millis", afterTerm: "100 millis" }
 *   })
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const config = (
  flags: ReadonlyArray<Flag> = [],
  overrides: Partial<Omit<StdioConfigInput, "transport">> = {}
): StdioConfigInput => ({
  name: "fixture",
  command: process.execPath,
  args: [script, ...flags],
  ...overrides,
  transport: "stdio"
})

/**
 * The same behind a shell that waits for it, as `npx` and other wrappers do: the server is a grandchild.
 *
 * @since 0.1.0
 * @category constructors
 */
export const wrapped = (
  flags: ReadonlyArray<Flag> = [],
  overrides: Partial<Omit<StdioConfigInput, "transport" | "command" | "args">> = {}
): StdioConfigInput =>
  config([], {
    ...overrides,
    command: "/bin/sh",
    args: ["-c", `"$0" "$@"; exit $?`, process.execPath, script, ...flags]
  })
