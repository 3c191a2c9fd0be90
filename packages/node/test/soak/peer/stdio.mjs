/**
 * The server of the soak over standard input and output. `helper` as its argument: it starts a process that holds its output
 * and ignores SIGTERM. Its journal is the file `SOAK_JOURNAL`.
 */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { makePeer } from "./peer.mjs"

const megabyte = 1024 * 1024
const held = []
let dripping = false

const write = (line) => {
  if (dripping) held.push(line)
  else process.stdout.write(line)
}

/** One answer in small pieces; what else is to be said waits for its end. */
const drip = (line) => {
  if (dripping) return write(line)
  dripping = true
  let at = 0
  const next = () => {
    if (at < line.length) {
      process.stdout.write(line.slice(at, at + 7))
      at += 7
      return setTimeout(next, 1)
    }
    dripping = false
    for (const line of held.splice(0)) process.stdout.write(line)
  }
  next()
}

const send = (message) => write(`${JSON.stringify(message)}\n`)

const around = (text) => (to) => {
  to.execute()
  write(text)
  to.answer()
  write(text)
}

const flaws = {
  noise: around("this is not JSON\n\u0000\u0001\n"),
  halfJson: around(`{"jsonrpc":"2.0","id":\n`),
  notRpc: around(`[]\n{"hello":1}\n"text"\n{"jsonrpc":"1.0","id":1,"result":{}}\n`),
  hugeLine: around(`${"y".repeat(megabyte)}\n`),
  overflow: (to) => {
    to.execute()
    write(`${"z".repeat(5 * megabyte)}\n`)
  },
  stderr: (to) => {
    to.execute()
    process.stderr.write("e".repeat(megabyte), to.answer.bind(to))
  },
  drip: (to) => {
    to.execute()
    drip(`${JSON.stringify(to.message())}\n`)
  },
  diesBefore: () => process.exit(7),
  diesAfter: (to) => {
    to.execute()
    process.exit(8)
  },
  leaves: (to) => {
    to.execute()
    to.answer()
    process.exit(0)
  },
  half: (to) => {
    to.execute()
    process.stdout.write(JSON.stringify(to.message()).slice(0, 20))
    process.exit(9)
  }
}

const { note, receive } = makePeer({ flaws, journal: process.env.SOAK_JOURNAL })

note(`started ${process.ppid}`)
process.stdout.on("error", () => {})
process.stderr.on("error", () => {})
if (process.argv[2] === "helper") {
  spawn("/bin/sh", ["-c", "trap '' TERM; sleep 100000; exit 0"], { stdio: ["ignore", "inherit", "ignore"] })
}
createInterface({ input: process.stdin }).on("line", (line) => receive(JSON.parse(line), { send }))
  .on("close", () => process.exit(0))
