/**
 * `npm run conformance`: our client, or another one, in each scenario of the official suite that is for it.
 *
 * Owns: the exit code.
 * May not touch: anything else.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import { conformance } from "./runner/main.js"
import * as Options from "./runner/options.js"

const main = Either.match(Options.parse(process.argv.slice(2)), {
  onLeft: (problem) => Effect.as(Console.error(`${problem}\n\n${Options.usage}`), false),
  onRight: (options) =>
    Effect.catchTag(conformance(options), "Broken", ({ message }) => Effect.as(Console.error(message), false))
})

const fiber = Effect.runFork(main)
fiber.addObserver((exit) => {
  process.exitCode = Exit.isSuccess(exit) && exit.value ? 0 : 1
})
// The processes have groups of their own, which a terminal does not interrupt.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => fiber.unsafeInterruptAsFork(FiberId.none))
}
