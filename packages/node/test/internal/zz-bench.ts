import * as StdioTransport from "@mcp-runtime/node/StdioTransport"
import { Effect } from "effect"
import { spawn } from "node:child_process"
const server = "/tmp/stdio-bench/rpc.mjs"
type Pipe = { send: (m: any) => void, end: () => Promise<void> }
const pend = new Map<number, (m: any) => void>()
const onMessage = (m: any) => { const r = pend.get(m.id)!; pend.delete(m.id); r(m) }
const bare = async (): Promise<Pipe> => {
  const child = spawn(process.execPath, [server], { stdio: ["pipe","pipe","inherit"] })
  let batch = "", rest: Buffer | null = null
  const flush = () => { const t = batch; batch = ""; child.stdin.write(t) }
  child.stdout.on("data", (c: Buffer) => {
    if (rest) { c = Buffer.concat([rest, c]); rest = null }
    const last = c.lastIndexOf(10)
    const text = c.toString("utf8", 0, last)
    for (const l of text.split("\n")) onMessage(JSON.parse(l))
    if (last + 1 < c.length) rest = c.subarray(last + 1)
  })
  return { send: (m) => { if (batch === "") queueMicrotask(flush); batch += JSON.stringify(m) + "\n" }, end: () => new Promise((r) => { child.on("exit", () => r()); child.stdin.end() }) }
}
const plain = async (): Promise<Pipe> => {
  const child = spawn(process.execPath, [server], { stdio: ["pipe","pipe","inherit"] })
  let rest: Buffer | null = null
  child.stdout.on("data", (c: Buffer) => {
    if (rest) { c = Buffer.concat([rest, c]); rest = null }
    let s = 0, i
    while ((i = c.indexOf(10, s)) !== -1) { onMessage(JSON.parse(c.toString("utf8", s, i))); s = i + 1 }
    if (s < c.length) rest = c.subarray(s)
  })
  return { send: (m) => { child.stdin.write(JSON.stringify(m) + "\n") }, end: () => new Promise((r) => { child.on("exit", () => r()); child.stdin.end() }) }
}
const ours = async (): Promise<Pipe> => {
  let done!: () => void
  const p = new Promise<Pipe>((resolve) => {
    const ended = new Promise<void>((r) => { done = r })
    let closed!: () => void
    const closedP = new Promise<void>((r) => { closed = r })
    Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const t = yield* StdioTransport.channel({ name: "x", transport: "stdio", command: process.execPath, args: [server] }).open({ message: onMessage, requestFailed: (_, e) => console.log(e.message), closed: () => {}, warning: () => {}, serverStream: () => {} })
      resolve({ send: t.send, end: () => { done(); return closedP } })
      yield* Effect.promise(() => ended)
    }))).then(closed)
  })
  return p
}
let id = 0
const bench = async (make: () => Promise<Pipe>) => {
  const pipe = await make()
  const call = (args: any = { text: "hello" }) => new Promise((r) => { const n = ++id; pend.set(n, r); pipe.send({ jsonrpc: "2.0", id: n, method: "tools/call", params: { name: "echo", arguments: args } }) })
  const run = async (n: number, conc: number) => { const t = performance.now(); let left = n; await Promise.all(Array.from({ length: conc }, async () => { while (left-- > 0) await call() })); return n / (performance.now() - t) * 1000 }
  await run(2000, 1); await run(5000, 64)
  const seq = await run(6000, 1), par = await run(40000, 64)
  await pipe.end()
  return [seq, par]
}
const median = (xs: number[]) => xs.sort((a, b) => a - b)[xs.length >> 1]!
const out: any = { bare: [], ours: [] }
for (let i = 0; i < 9; i++) for (const [n, f] of [["bare", bare], ["ours", ours]] as const) out[n].push(await bench(f))
for (const n in out) console.log(n.padEnd(6), "seq", Math.round(median(out[n].map((_: any) => _[0]))), "par64", Math.round(median(out[n].map((_: any) => _[1]))))
