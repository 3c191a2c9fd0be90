/** What is written when: of many messages at once, into a pipe that is open, full or broken. */
import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import type { McpProtocol } from "@mcp-runtime/core"
import { Writable } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { StdinWriter } from "../../src/internal/stdio/stdinWriter.js"

type Take = (error?: Error) => void

/** A pipe: what it takes, at once or when it is told to. */
class Pipe extends Writable {
  /** The ids in each write. */
  readonly writes: Array<ReadonlyArray<number | undefined>> = []
  full = false
  takesBefore = Number.POSITIVE_INFINITY
  private take: Take | undefined = undefined

  constructor() {
    super({ decodeStrings: false, emitClose: false })
    this.on("error", () => {})
  }

  override _write(text: string, _: BufferEncoding, take: Take): void {
    if (this.writes.length >= this.takesBefore) return take(new Error("EPIPE"))
    this.writes.push(text.trimEnd().split("\n").map((line) => (JSON.parse(line) as { readonly id?: number }).id))
    if (this.full) this.take = take
    else take()
  }

  drain(): void {
    this.full = false
    this.take?.()
  }
}

const open = () => {
  const pipe = new Pipe()
  const failed: Array<readonly [id: McpProtocol.RequestId, executed: McpError.Executed]> = []
  const writer = new StdinWriter(pipe, "server", 1_000_000, (id, error) => failed.push([id, error.executed]))
  let id = 0
  const send = (count: number): void => {
    for (let i = 0; i < count; i++) writer.send({ jsonrpc: "2.0", id: ++id, method: "tools/call" }, undefined)
  }
  return { failed, pipe, send, writer }
}

const refusal = (operation: string, executed: McpError.Executed): McpError.McpError =>
  new McpError.ConnectionClosed({ server: "server", operation, executed, reason: "Closing", detail: "over" })

const upTo = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

describe("many messages at once", () => {
  it("are several writes: the server has the first before the last is made", async () => {
    const { failed, pipe, send } = open()
    send(1)
    assert.deepStrictEqual(pipe.writes, [[1]])
    send(39)
    assert.deepStrictEqual(pipe.writes, [[1], upTo(2, 17), upTo(18, 33)])
    await setImmediate()
    assert.deepStrictEqual(pipe.writes, [[1], upTo(2, 17), upTo(18, 33), upTo(34, 40)])
    send(2)
    await setImmediate()
    assert.deepStrictEqual(pipe.writes.slice(4), [[41, 42]])
    assert.deepStrictEqual(failed, [])
  })

  it("wait for a pipe that is full, and are one write then", async () => {
    const { pipe, send } = open()
    pipe.full = true
    send(40)
    await setImmediate()
    assert.deepStrictEqual(pipe.writes, [[1]])
    pipe.drain()
    await setImmediate()
    assert.deepStrictEqual(pipe.writes, [[1], upTo(2, 40)])
  })

  it("are accepted with their own write, each once", async () => {
    const { pipe, send, writer } = open()
    const accepted: Array<string> = []
    const notify = (method: string): void =>
      writer.send({ jsonrpc: "2.0", method }, (error) => accepted.push(`${method} ${error?.executed ?? "accepted"}`))
    notify("first")
    send(16)
    notify("second")
    pipe.full = true
    send(15)
    notify("third")
    await setImmediate()
    assert.deepStrictEqual(accepted, ["first accepted"])
    writer.stop(refusal)
    assert.deepStrictEqual(accepted, ["first accepted", "third no", "second maybe"])
    pipe.drain()
    await setImmediate()
    assert.lengthOf(accepted, 3)
  })

  for (const [when, count] of [["while many are sent", 16], ["after a turn", 15]] as const) {
    it(`may be more ${when}, by who is told that a message was accepted: nothing is written twice`, async () => {
      const { pipe, send, writer } = open()
      writer.send({ jsonrpc: "2.0", method: "first" }, () => send(3))
      send(count)
      await setImmediate()
      assert.deepStrictEqual(pipe.writes.flat(), [undefined, ...upTo(1, count + 3)])
    })
  }

  it("into a pipe that was closed: none is said to be accepted", async () => {
    const { pipe, send, writer } = open()
    const told: Array<string> = []
    pipe.destroy()
    writer.send({ jsonrpc: "2.0", method: "first" }, (error) => told.push(error?.executed ?? "accepted"))
    send(40)
    await setImmediate()
    writer.stop(refusal)
    assert.deepStrictEqual([pipe.writes, told], [[], ["maybe"]])
  })

  it("into a pipe that breaks: those that it took are not sent again, the others were not executed", async () => {
    const { failed, pipe, send, writer } = open()
    send(1)
    pipe.takesBefore = 2
    send(40)
    await setImmediate()
    assert.deepStrictEqual(pipe.writes, [[1], upTo(2, 17)])
    assert.deepStrictEqual(failed, [])
    writer.stop(refusal)
    assert.deepStrictEqual(failed, upTo(18, 41).map((id) => [id, "no"] as const))
  })
})

describe("a request that is given up", () => {
  it("while it waits is not written: what waits behind it goes out in order", async () => {
    const { failed, pipe, send, writer } = open()
    pipe.full = true
    send(20)
    assert.deepStrictEqual(
      upTo(1, 20).filter((id) => id % 2 === 0 && writer.release(id)),
      upTo(1, 10).map((half) => 2 * half)
    )
    send(4)
    assert.deepStrictEqual([writer.release(22), writer.release(22), writer.release(99)], [true, false, false])
    pipe.drain()
    await setImmediate()
    assert.deepStrictEqual(pipe.writes, [[1], [3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 24]])
    assert.deepStrictEqual(failed, [])
  })

  it("after it was written, or while it is, is not taken back", async () => {
    const { pipe, send, writer } = open()
    send(1)
    await setImmediate()
    pipe.full = true
    send(1)
    assert.deepStrictEqual([writer.release(1), writer.release(2)], [false, false])
    pipe.drain()
    await setImmediate()
    assert.deepStrictEqual(pipe.writes, [[1], [2]])
  })

  it("and was the only one that waited leaves nothing to write", async () => {
    const { pipe, send, writer } = open()
    pipe.full = true
    send(3)
    assert.isTrue(writer.release(2) && writer.release(3))
    pipe.drain()
    await setImmediate()
    send(1)
    await setImmediate()
    assert.deepStrictEqual(pipe.writes, [[1], [4]])
  })

  it("is not told anything at the end", () => {
    const { failed, pipe, send, writer } = open()
    pipe.full = true
    send(3)
    writer.release(2)
    writer.stop(refusal)
    assert.deepStrictEqual(failed, [[3, "no"]])
  })

  it("gives its room back", async () => {
    const { failed, pipe, writer } = open()
    pipe.full = true
    const fill = (id: number, bytes: number): void =>
      writer.send({ jsonrpc: "2.0", id, method: "fill", params: { fill: "x".repeat(bytes) } }, undefined)
    fill(1, 400_000)
    fill(2, 500_000)
    fill(3, 400_000)
    assert.deepStrictEqual(failed, [[3, "no"]])
    writer.release(2)
    fill(4, 400_000)
    pipe.drain()
    await setImmediate()
    assert.deepStrictEqual(pipe.writes, [[1], [4]])
  })

  it("a cancellation has room where nothing else has", () => {
    const { failed, pipe, send, writer } = open()
    pipe.full = true
    for (let i = 0; failed.length === 0; i++) send(1)
    const told: Array<McpError.McpError | undefined> = []
    for (const method of ["notifications/cancelled", "notifications/x"]) {
      writer.send({ jsonrpc: "2.0", method, params: { requestId: 1 } }, (error) => told.push(error))
    }
    assert.deepStrictEqual(told.map((_) => _?._tag), ["LimitExceeded"])
  })
})

describe("what waits", () => {
  it("costs more than its text: many small messages reach the bound before they fill the memory", () => {
    const { failed, pipe, send } = open()
    pipe.full = true
    send(10_000)
    assert.isAtLeast(failed.length, 6000)
    assert.isAtMost(failed.length, 8000)
  })

  it("is refused with one error for all of it", () => {
    const { pipe, send, writer } = open()
    pipe.full = true
    send(1)
    const told = new Set<McpError.McpError | undefined>()
    for (let i = 0; i < 100; i++) writer.send({ jsonrpc: "2.0", method: "x" }, (error) => told.add(error))
    let made = 0
    writer.end((operation, executed) => {
      made++
      return refusal(operation, executed)
    })
    assert.deepStrictEqual([made, told.size], [1, 1])
  })
})
