/**
 * `npm run fuzz`: many inputs for each part, one seed. `--inputs 100000` over all parts together, `--seed <n>` has the same
 * inputs again, `--only <part>` (more than once, or with commas) runs these alone, `--path <path>` with both only the input
 * that was found there. Ends with an error, and the shrunk input, where something does not hold.
 */
import { parseArgs } from "node:util"
import { grow, type Grown } from "../../../core/test/fuzz/kit/growth.js"
import type { Part, Report } from "../../../core/test/fuzz/kit/part.js"
import { parts } from "./parts.js"
import { growthLine, reportLine, table } from "./table.js"
import { Watchdog } from "./watchdog.js"

const { values } = parseArgs({
  options: {
    inputs: { type: "string", default: "100000" },
    seed: { type: "string" },
    path: { type: "string" },
    only: { type: "string", multiple: true },
    help: { type: "boolean", default: false }
  }
})

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}

const wanted = (): ReadonlyArray<Part> => {
  const names = values.only?.flatMap((_) => _.split(","))
  if (names === undefined) return parts
  const unknown = names.filter((name) => !parts.some((_) => _.name === name))
  if (unknown.length > 0) {
    fail(`There is no part ${unknown.join(", ")}: there are ${parts.map((_) => _.name).join(", ")}`)
  }
  return parts.filter((_) => names.includes(_.name))
}

const whole = (text: string, name: string): number =>
  /^\d{1,10}$/.test(text) ? Number(text) : fail(`--${name} must be a whole number, and is ${text}`)

if (values.help) {
  for (const { about, name } of parts) say(`${name.padEnd(12)} ${about}`)
  process.exit(0)
}

const inputs = Math.max(1, whole(values.inputs, "inputs"))
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : whole(values.seed, "seed")
const chosen = wanted()
if (values.path !== undefined && (chosen.length !== 1 || values.seed === undefined)) {
  fail("--path goes with --seed and --only one part")
}
const shares = chosen.reduce((sum, _) => sum + _.share, 0)
const watchdog = new Watchdog()
const reports: Array<Report> = []
const growths: Array<Grown> = []

say(`seed ${seed}`)
for (const part of chosen) {
  watchdog.watch(part.name, seed)
  const report = await part.run({
    seed,
    path: values.path,
    inputs: Math.ceil((inputs * part.share) / shares),
    onInput: (count) => watchdog.seen(count)
  })
  watchdog.rest()
  reports.push(report)
  say(reportLine(report))
  for (const growth of values.path === undefined ? part.growths : []) {
    const grown = grow(growth)
    growths.push(grown)
    say(growthLine(grown))
  }
}
await watchdog.end()

const failed = reports.filter((_) => _.failure !== undefined)
const grew = growths.filter((_) => !_.isFine)
say(`\n${table(reports, growths)}\n`)
for (const { failure, name } of failed) {
  const { counterexample, error, path, shrinks } = failure!
  process.stderr.write(
    `\n${name} fails (seed ${seed}, after ${shrinks} shrinks) with\n${counterexample}\n${error}\n` +
      `Again: npm run fuzz -- --only ${name} --seed ${seed} --path ${path}\n`
  )
}
for (const { name, ratio } of grew) {
  process.stderr.write(`\n${name}: eight times the input costs ${ratio.toFixed(0)} times as much\n`)
}
process.exit(failed.length + grew.length === 0 ? 0 : 1)
