/**
 * A process of its own that holds a lock of `FileTokens`. Arguments: the directory, and what to do: `hold` says "held" and
 * keeps the lock until it is killed or its input ends; `count` adds 1 to the number that is stored, as often as the third
 * argument says, each time under the lock and in two steps.
 */
import { Effect, Redacted } from "effect"
import * as FileTokens from "../../src/FileTokens.js"

const [directory, then, times] = process.argv.slice(2) as [string, string, string | undefined]

const say = (text: string) => Effect.async<void>((resume) => void process.stdout.write(text, () => resume(Effect.void)))
const ended = Effect.async<void>((resume) => void process.stdin.once("end", () => resume(Effect.void)).resume())

const store = FileTokens.make(directory)

const hold = Effect.scoped(Effect.zipRight(store.lock("ab"), Effect.zipRight(say("held\n"), ended)))

const add = Effect.scoped(Effect.gen(function*() {
  yield* store.lock("ab")
  const before = yield* store.get("ab")
  yield* store.set("ab", Redacted.make(String(Number(before === undefined ? 0 : Redacted.value(before)) + 1)))
}))

Effect.runFork(then === "hold" ? hold : Effect.repeatN(add, Number(times) - 1)).addObserver((exit) =>
  process.exit(exit._tag === "Success" ? 0 : 1)
)
