/**
 * Notices an input that never ends: nothing in the same thread can.
 *
 * Owns: a second thread that ends the program, and says in which input it was.
 */
import { Worker } from "node:worker_threads"

const patience = 60_000

const program = `
const { workerData, parentPort } = require("node:worker_threads")
const { writeSync } = require("node:fs")
const shared = new Int32Array(workerData.shared)
let about = ""
let last = -1
let since = Date.now()
parentPort.on("message", (message) => { about = message; last = -1; since = Date.now() })
setInterval(() => {
  const count = Atomics.load(shared, 0)
  if (count !== last || count === 0) { last = count; since = Date.now(); return }
  if (Date.now() - since < workerData.patience) return
  writeSync(2, about + ": input " + count + " has not ended for " + workerData.patience / 1000 + " s\\n")
  process.kill(process.pid, "SIGKILL")
}, 500)
`

export class Watchdog {
  private readonly shared = new SharedArrayBuffer(4)
  private readonly count = new Int32Array(this.shared)
  private readonly worker = new Worker(program, { eval: true, workerData: { shared: this.shared, patience } })

  watch(part: string, seed: number): void {
    Atomics.store(this.count, 0, 0)
    this.worker.postMessage(`${part}, seed ${seed}`, [])
  }

  seen(count: number): void {
    Atomics.store(this.count, 0, count)
  }

  rest(): void {
    Atomics.store(this.count, 0, 0)
  }

  async end(): Promise<void> {
    await this.worker.terminate()
  }
}
