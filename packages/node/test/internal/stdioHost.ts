/**
 * An application of its own process, for what happens to servers when it dies. Arguments: what to do when the servers run
 * (`stay`, `exit`, `throw`, `close`), and their configurations as JSON. It says `ready <pids>`, and `closed` when it closes.
 * With `killed` it says `watchdog <pid>` and is killed as soon as the last of them exists, before anybody can have been told of it.
 */
import type { McpTransport } from "@mcp-runtime/core"
import { McpConfig } from "@mcp-runtime/core"
import * as StdioTransport from "@mcp-runtime/node/StdioTransport"
import { Effect, Exit, Scope } from "effect"
import childProcess from "node:child_process"
import { writeSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { childrenOf, isWatchdog, until } from "./processes.js"

const [then, ...inputs] = process.argv.slice(2)

const say = (line: string) => Effect.sync(() => writeSync(1, `${line}\n`))

const killedWithTheLast = () => {
  const { spawn } = childProcess
  let left = inputs.length
  childProcess.spawn = ((...args: Parameters<typeof spawn>) => {
    const child = spawn(...args)
    if (args[1].at(-1) === "mcp-runtime-watchdog" || --left > 0) return child
    writeSync(1, `watchdog ${childrenOf(process.pid).filter(isWatchdog).join(" ")}\n`)
    process.kill(process.pid, "SIGKILL")
    return child
  }) as typeof spawn
  syncBuiltinESMExports()
}

if (then === "killed") killedWithTheLast()

const events: McpTransport.TransportEvents = {
  message: () => {},
  requestFailed: () => {},
  closed: () => {},
  warning: () => {},
  serverStream: () => {}
}

const program = Effect.gen(function*() {
  const scope = yield* Scope.make()
  for (const input of inputs) {
    const config = yield* McpConfig.decodeUnknown(JSON.parse(input))
    const transport = yield* StdioTransport.channel(config as McpConfig.StdioConfig).open(events).pipe(
      Scope.extend(scope)
    )
    // A server that is still starting would not yet ignore what it is told to ignore.
    yield* until("the server has started", () => transport.stderrTail()?.includes("stage started") === true)
  }
  const watchdogs = childrenOf(process.pid).filter(isWatchdog)
  yield* say(`ready ${watchdogs.join(" ")}`)
  switch (then) {
    case "exit":
      return process.exit(0)
    case "throw":
      throw new Error("told to throw")
    case "close":
      yield* Scope.close(scope, Exit.void)
      return yield* say("closed")
    default:
      return yield* Effect.never
  }
})

Effect.runFork(program).addObserver((exit) => {
  if (Exit.isFailure(exit)) {
    queueMicrotask(() => {
      throw new Error(String(exit.cause))
    })
  }
})
