/**
 * The server of stdio.mjs, late: it sleeps before it reads, as one that loads a lot keeps everybody waiting. Each start
 * leaves a line in the journal.
 * `node starting.mjs <number of tools> <every how many has an output schema> <journal> <milliseconds>`
 */
import { appendFileSync } from "node:fs"

const [journal, millis] = process.argv.slice(4)
appendFileSync(journal, `${process.pid}\n`)
if (Number(millis) > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(millis))

// It blocks until its input ends.
await import("./stdio.mjs")
