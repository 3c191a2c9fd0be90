/**
 * What the suite wants: the URL of its server in the last argument, the rest in the environment.
 *
 * Owns: reading that.
 * May not touch: what it means.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Problem } from "./problem.js"

export interface Task {
  readonly scenario: string
  readonly url: string
  /** Of scenarios that need one: identifiers, secrets, tokens. */
  readonly context: unknown
}

const parse = Schema.decodeUnknown(Schema.parseJson())

export const fromProcess: Effect.Effect<Task, Problem> = Effect.gen(function*() {
  const url = process.argv.slice(2).at(-1)
  if (url === undefined || !URL.canParse(url)) {
    return yield* new Problem({ message: "the last argument must be the URL of the server" })
  }
  const { MCP_CONFORMANCE_CONTEXT: context = "{}", MCP_CONFORMANCE_SCENARIO: scenario } = process.env
  if (scenario === undefined) return yield* new Problem({ message: "MCP_CONFORMANCE_SCENARIO is not set" })
  return {
    scenario,
    url,
    context: yield* Effect.mapError(
      parse(context),
      () => new Problem({ message: "MCP_CONFORMANCE_CONTEXT is not JSON" })
    )
  }
})
