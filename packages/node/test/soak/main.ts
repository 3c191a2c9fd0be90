/**
 * `npm run soak`: many servers, everything that can go wrong with them, and whether anything is lost, runs twice or grows.
 *
 * `--minutes <n>` (3) or `--rounds <n>`: how long. `--seed <n>`: the same plan again. `--round <n>`: this round of it alone.
 * `--steps <n>` (600) and `--events <n>` (30): the size of a round; other sizes are other plans. Ends with an error, and the
 * evidence, if anything is wrong.
 */
import { Cause, Effect, Exit } from "effect"
import { parseArgs } from "node:util"
import { type Options, type Round, run } from "./soak.js"
import { lineOf, neverHappened, summaryOf } from "./table.js"

const names = ["minutes", "rounds", "seed", "round", "steps", "events"] as const

const { values } = parseArgs({
  options: Object.fromEntries(names.map((name) => [name, { type: "string" as const }]))
})

const number = (name: typeof names[number]): number | undefined => {
  const text = values[name]
  if (text === undefined) return undefined
  const value = Number(text)
  if (typeof text === "string" && text !== "" && Number.isFinite(value) && value >= 0) return value
  process.stderr.write(`--${name} must be a number, not "${String(text)}"\n`)
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
  managerRounds: Number(process.env.MR ?? 4),
  heapSlack: 2 * 1024 * 1024,
  onRound: (round) => {
    process.stdout.write(`${lineOf(round, before)}\n`)
    before = round
  }
}

process.stdout.write(`seed ${seed}, ${size.steps} steps and ${size.events} events per round\n`)
const started = performance.now()

Effect.runFork(run(options)).addObserver((exit) => {
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
  process.exit(1)
})
