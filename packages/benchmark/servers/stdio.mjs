/**
 * An MCP server over stdio that answers as fast as Node can: blocking reads and writes, no event loop, answers ready made.
 * Ends when its input does. `node stdio.mjs [<number of tools> <every how many has an output schema>]`
 */
import { readSync, writeSync } from "node:fs"
import { answerTo, bigResult, callableTools, toolsResult } from "./answers.mjs"

const [count, every] = process.argv.slice(2).map(Number)
const tools = count === undefined ? callableTools : toolsResult(count, every ?? 1)
const input = Buffer.allocUnsafe(1 << 16)

const write = (bytes) => {
  for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at)
}

// The long answer is encoded once; before each use its first bytes are written over with the id, which is padded.
const idWidth = 12
const prefix = (id) => `{"jsonrpc":"2.0","id":${JSON.stringify(id).padStart(idWidth)},"result":`
const bigAnswer = Buffer.from(`${prefix(0)}${bigResult}}\n`)

const writeBig = (id) => {
  bigAnswer.latin1Write(prefix(id), 0)
  write(bigAnswer)
}

let rest = ""
for (;;) {
  const size = readSync(0, input)
  if (size === 0) break
  const lines = (rest + input.utf8Slice(0, size)).split("\n")
  rest = lines.pop()
  let out = ""
  for (const line of lines) {
    const message = JSON.parse(line)
    if (message.method === "tools/call" && message.params.name === "big") {
      writeBig(message.id)
      continue
    }
    const answer = answerTo(message, tools)
    if (answer !== undefined) out += answer + "\n"
  }
  if (out !== "") write(Buffer.from(out))
}
