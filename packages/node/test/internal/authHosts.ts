/** Programs of their own that use a protected server: see `authHost.ts`. */
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const hostScript = fileURLToPath(new URL("./authHost.ts", import.meta.url))

const ended = (child: ChildProcess) =>
  Effect.async<number | null>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) resume(Effect.succeed(child.exitCode))
    else child.once("exit", (code) => resume(Effect.succeed(code)))
  })

/** A program, and the lines that it says, in turn. */
export const host = (url: string, path: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["--import", "tsx", "--conditions=@mcp-runtime/source", hostScript, url, path], {
          stdio: ["pipe", "pipe", "inherit"]
        })
      ),
      (child) => Effect.zipRight(Effect.sync(() => child.kill("SIGKILL")), ended(child))
    ),
    (child) => {
      const lines: Array<string> = []
      const waiting: Array<(line: string) => void> = []
      let rest = ""
      child.stdout.on("data", (chunk) => {
        const parts = (rest + String(chunk)).split("\n")
        rest = parts.pop() ?? ""
        for (const line of parts) (waiting.shift() ?? ((_) => lines.push(_)))(line)
      })
      const line = Effect.async<string>((resume) => {
        const next = lines.shift()
        if (next === undefined) waiting.push((_) => resume(Effect.succeed(_)))
        else resume(Effect.succeed(next))
      })
      const go = Effect.zipRight(Effect.sync(() => child.stdin.write("go\n")), line)
      const end = Effect.zipRight(Effect.sync(() => child.stdin.end()), ended(child))
      return { child, line, go, end }
    }
  )
