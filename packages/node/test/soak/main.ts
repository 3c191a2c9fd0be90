/**
 * `npm run soak`: many servers, everything that can go wrong with them, and whether anything is lost, runs twice or grows.
 *
 * `--minutes <n>` (3) or `--rounds <n>`: how long. `--seed <n>`: the same plan again. `--round <n>`: this round of it alone.
 * `--steps <n>` (600) and `--events <n>` (30): the size of a round; other sizes are other plans. Ends with an error, and the
 * evidence, if anything is wrong. Ctrl-C ends it and all its processes.
 */
import { Cause, Effect, Exit, FiberId } from "effect"
import { parseArgs } from "node:util"
// Else it is loaded by the first use of HTTP. Where it has changed since, tsx starts a compiler for it then, which stays.
import "undici"
import { Watchdog } from "../fuzz/watchdog.js"
import { type Options, type Report, type Round, run } from "./soak.js"
import { lineOf, neverHappened, summaryOf } from "./table.js"

const usage = `npm run soak -- [--minutes <n>] [--rounds <n>] [--seed <n>] [--round <n>] [--steps <n>] [--events <n>]

  --minutes <n>  how long (3)
  --rounds <n>   how many rounds, in place of minutes
  --seed <n>     the same plan again
  --round <n>    this round of the plan alone
  --steps <n>    the size of a round (600); other sizes are other plans
  --events <n>   how many events a round has (30)
`

const word = { type: "string" } as const

const { values } = parseArgs({
  options: {
    minutes: word,
    rounds: word,
    seed: word,
    round: word,
    steps: word,
    events: word,
    help: { type: "boolean", short: "h" }
  }
})

if (values.help === true) {
  process.stdout.write(usage)
  process.exit(0)
}

type Name = Exclude<keyof typeof values, "help">

const number = (name: Name): number | undefined => {
  const text = values[name]
  if (text === undefined) return undefined
  const value = Number(text)
  const isFit = name === "minutes" ? Number.isFinite(value) : Number.isInteger(value)
  if (text !== "" && isFit && value >= (name === "seed" || name === "round" ? 0 : 1 / 60)) return value
  process.stderr.write(`--${name} must be a number, not "${text}"\n`)
  return process.exit(2)
}

const mostRounds = 3000

const round = number("round")
const rounds = round === undefined ? number("rounds") : 1
const minutes = number("minutes") ?? 3
const size = { steps: number("steps") ?? 600, events: number("events") ?? 30 }
const seed = number("seed") ?? Date.now() % 2 ** 31

let before: Round | undefined

const options: Options = {
  ...size,
  seed,
  from: round ?? 0,
  rounds: rounds ?? mostRounds,
  millis: rounds === undefined ? minutes * 60_000 : Infinity,
  managerRounds: 4,
  onRound: (round) => {
    process.stdout.write(`${lineOf(round, before)}\n`)
    before = round
  }
}

process.stdout.write(`seed ${seed}, ${size.steps} steps and ${size.events} events per round\n`)
const started = performance.now()

/** How long it may take to end what there is when somebody has had enough of it. */
const patience = 15_000

/** A loop that never ends can't be noticed by who is in it. */
const watchdog = new Watchdog()
watchdog.watch("the event loop of the soak", seed)
let beats = 0
setInterval(() => watchdog.seen(++beats), 1000).unref()

const soak = Effect.runFork(run(options))

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
  process.once(signal, () => {
    process.stderr.write(`${signal}: everything is ended; seed ${seed}\n`)
    soak.removeObserver(tell)
    soak.addObserver(() => process.exit(code))
    soak.unsafeInterruptAsFork(FiberId.none)
    // Whoever has pressed Ctrl-C does not wait for ever for what may hang.
    setTimeout(() => process.exit(code), patience)
  })
}

function tell(exit: Exit.Exit<Report, unknown>): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  if (Exit.isFailure(exit)) {
    process.stderr.write(`The soak itself failed after ${seconds} s, seed ${seed}: ${Cause.pretty(exit.cause)}\n`)
    return process.exit(1)
  }
  const report = exit.value
  process.stdout.write(`\n${summaryOf(report)}\n\n`)
  // A soak that did less than it says proves nothing.
  const missing = report.rounds.length < 20 ? [] : neverHappened(report).map((_) => `"${_}" never happened`)
  const violations = [...report.violations, ...missing]
  if (violations.length === 0) {
    process.stdout.write(`Nothing was lost, nothing ran twice, nothing is left. ${seconds} s, seed ${seed}.\n`)
    return process.exit(0)
  }
  process.stderr.write(`Violated, seed ${seed}, ${seconds} s:\n${violations.map((_) => `- ${_}`).join("\n")}\n`)
  const again = [["seed", seed], ["round", before?.round ?? 0], ["steps", size.steps], ["events", size.events]]
  process.stderr.write(`Again: npm run soak -- ${again.map(([name, value]) => `--${name} ${value}`).join(" ")}\n`)
  process.exit(1)
}

soak.addObserver(tell)
