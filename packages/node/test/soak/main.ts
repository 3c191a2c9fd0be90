/**
 * `npm run soak`: 100,000 calls over HTTP and stdio while their sessions end a thousand times, and whether anything grows.
 * `--seed <n>` has the same calls and disturbances again. Ends with an error if an invariant is violated.
 */
import { Cause, Effect, Exit } from "effect"
import { parseArgs } from "node:util"
import { afterWarmUp } from "./measure.js"
import { type Options, type Report, run } from "./soak.js"
import { render } from "./table.js"

const megabyte = 1024 * 1024
const deadline = "170 seconds"

const { values } = parseArgs({ options: { seed: { type: "string" } } })
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)

const options: Options = {
  seed,
  rounds: 42,
  http: 2400,
  stdio: 1600,
  httpDisturbances: 34,
  stdioDisturbances: 10,
  heapSlack: 1.5 * megabyte
}

/** After the warm-up. */
const least = { reconnects: 1000, calls: 100_000 }

/** A soak that did less than it says proves nothing. */
const tooLittle = ({ ledger, rounds }: Report): ReadonlyArray<string> => {
  const judged = afterWarmUp(rounds)
  const calls = judged.reduce((sum, round) => sum + round.calls, 0)
  const reconnects = judged.at(-1)!.sessions - judged[0]!.sessions
  const all = rounds.reduce((sum, round) => sum + round.calls, 0)
  return [
    ...(reconnects < least.reconnects ? [`there were only ${reconnects} reconnects`] : []),
    ...(calls < least.calls ? [`there were only ${calls} calls`] : []),
    ...(ledger.count("ok") < all * 0.75 ? [`only ${ledger.count("ok")} calls succeeded`] : [])
  ]
}

process.stdout.write(`seed ${seed}\n`)
const started = performance.now()

Effect.runFork(
  Effect.timeoutFail(run(options), {
    duration: deadline,
    onTimeout: () => new Error(`it did not end within ${deadline}`)
  })
).addObserver((exit) => {
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  if (Exit.isFailure(exit)) {
    process.stderr.write(`The soak failed after ${seconds} s, seed ${seed}: ${Cause.pretty(exit.cause)}\n`)
    return process.exit(1)
  }
  const report = exit.value
  const violations = [...report.violations, ...tooLittle(report)]
  process.stdout.write(`${render(report)}\n\n`)
  if (violations.length === 0) {
    process.stdout.write(`Nothing grows, nothing was lost, nothing ran twice. ${seconds} s.\n`)
    return process.exit(0)
  }
  process.stderr.write(`Violated, seed ${seed}, ${seconds} s:\n${violations.map((_) => `- ${_}`).join("\n")}\n`)
  process.exit(1)
})
