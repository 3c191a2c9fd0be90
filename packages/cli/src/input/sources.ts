/**
 * Texts that are given by a file or by stdin instead of the command line. Bounded.
 */
import * as Effect from "effect/Effect"
import { Buffer } from "node:buffer"
import * as fs from "node:fs"
import { type Failure, usage } from "../exit.js"
import { oneLine } from "../output/text.js"

/** As much as one message may have. */
const mostBytes = 64 * 1024 * 1024

/** The text of a file, or of stdin where the path is `-`. */
export const read = (path: string): Effect.Effect<string, Failure> => {
  const name = path === "-" ? "stdin" : oneLine(path)
  return Effect.async<string, Failure>((resume) => {
    const fail = (problem: string) =>
      resume(Effect.fail(usage(`${name} can't be read: ${problem}`, [
        path === "-"
          ? "Pipe JSON into the command: echo '{...}' | mcp-runtime call <tool> -"
          : `Check the path: @${name}`
      ])))
    if (path === "-" && process.stdin.isTTY) {
      fail("it is a terminal, and nothing is piped into it")
      return
    }
    const stream = path === "-" ? process.stdin : fs.createReadStream(path)
    const chunks: Array<Buffer> = []
    let bytes = 0
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes <= mostBytes) return
      dispose()
      fail(`it is larger than ${mostBytes / (1024 * 1024)} MiB`)
    }
    const onEnd = () => {
      dispose()
      resume(Effect.succeed(Buffer.concat(chunks).toString("utf8")))
    }
    const onError = (error: NodeJS.ErrnoException) => {
      dispose()
      fail(reasons.get(error.code ?? "") ?? error.code ?? oneLine(error.message))
    }
    const dispose = () => {
      stream.off("data", onData).off("end", onEnd)
      stream.destroy()
    }
    stream.on("data", onData).on("end", onEnd).on("error", onError)
    return Effect.sync(dispose)
  })
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "there is no such file"],
  ["EACCES", "it may not be read"],
  ["EISDIR", "it is a directory"]
])
