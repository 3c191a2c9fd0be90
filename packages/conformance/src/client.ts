/**
 * Our client for the official conformance suite: `node dist/client.js <server url>`, with the name of the scenario in
 * `MCP_CONFORMANCE_SCENARIO`. It does what an application would do, with what an application has: the public API.
 *
 * Owns: one run, from the environment to the exit code.
 * May not touch: what is done in a scenario, and the end of the process: nothing that we have left open may keep it alive.
 */
import { McpAuth, McpConfig, McpConnection, type McpError } from "@mcp-runtime/core"
import { NodeMcp, UndiciExchange } from "@mcp-runtime/node"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Person from "./client/person.js"
import { Problem } from "./client/problem.js"
import { type Scenario, scenarioOf } from "./client/scenarios.js"
import * as Task from "./client/task.js"

/** Shorter than what the runner waits: a client that hangs says so itself. */
const deadline = "40 seconds"

const services = Layer.provideMerge(
  NodeMcp.layerTransport,
  Layer.provide(McpAuth.layer, [UndiciExchange.layer, McpAuth.layerTokensMemory])
)

const run = Effect.gen(function*() {
  const task = yield* Task.fromProcess
  const scenario = yield* scenarioOf(task.scenario)
  const auth = yield* scenario.auth(task.context)
  const config = yield* McpConfig.decode({ name: task.scenario, transport: "http", url: task.url, auth })
  const { capabilities, handlers } = scenario
  const connection = yield* McpConnection.make(config, { capabilities, handlers })
  yield* judged(scenario, scenario.use(connection, yield* Person.patience(config)))
})

/** Where a server has to be refused, getting through is the failure. */
const judged = (
  { refused }: Scenario,
  use: Effect.Effect<void, McpError.McpError | Problem>
): Effect.Effect<void, McpError.McpError | Problem> =>
  refused === undefined ? use : Effect.flatMap(Effect.either(use), (outcome) => {
    if (outcome._tag === "Right") return Effect.fail(new Problem({ message: "this should have been refused" }))
    return outcome.left._tag === refused ? Console.log(`refused: ${outcome.left.message}`) : Effect.fail(outcome.left)
  })

const main = run.pipe(
  Effect.scoped,
  Effect.provide(services),
  Effect.timeoutFail({
    duration: deadline,
    onTimeout: () => new Problem({ message: `it has not come to an end within ${deadline}` })
  }),
  Effect.tapErrorCause((cause) => {
    const [failure] = Cause.failures(cause)
    return Console.error(`conformance client: ${failure === undefined ? Cause.pretty(cause) : failure.message}`)
  })
)

Effect.runFork(main).addObserver((exit) => {
  process.exitCode = Exit.isSuccess(exit) ? 0 : 1
})
