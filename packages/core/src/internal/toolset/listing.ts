/**
 * One decision for each tool of a list.
 *
 * Owns: order, how many decisions are made at once, and the bound on all of them together.
 * May not touch: how a decision is made.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as McpProtocol from "../../McpProtocol.js"
import * as ToolFilter from "../../ToolFilter.js"
import { together } from "../together.js"
import * as Decision from "./decision.js"

export interface Bounds {
  readonly concurrency: number
  /** For all decisions together, in milliseconds. */
  readonly maxTotal: number
}

const defaults: Bounds = { concurrency: 16, maxTotal: 30_000 }

/**
 * The tools of one server that are shown. Functions of a filter are asked when this is called; the effects that they return are
 * run with the one that is returned.
 */
export const shownBy = <Request, R>(
  filter: ToolFilter.ToolFilter<Request, R>,
  server: string,
  tools: ReadonlyArray<McpProtocol.Tool>,
  request: Request | undefined,
  bounds = defaults
): ReadonlyArray<McpProtocol.Tool> | Effect.Effect<ReadonlyArray<McpProtocol.Tool>, never, R> =>
  filter === ToolFilter.all ? tools : keep(server, tools, (tool) => filter.decide(tool, server, request), bounds)

/** What is kept, in order: the same list where that is everything. An effect only where a decision is one. */
const keep = <A, R>(
  server: string,
  items: ReadonlyArray<A>,
  decide: (item: A) => Decision.Decision<R>,
  bounds: Bounds
): ReadonlyArray<A> | Effect.Effect<ReadonlyArray<A>, never, R> => {
  const decisions: Array<Decision.Decision<R>> = []
  const open: Array<number> = []
  const yes: Array<A> = []
  for (let i = 0; i < items.length; i++) {
    const decision = decide(items[i]!)
    decisions.push(decision)
    if (decision === true) yes.push(items[i]!)
    else if (decision !== false) open.push(i)
  }
  if (open.length === 0) return yes.length === items.length ? items : yes
  const chosen = (answers: ReadonlyArray<unknown>): ReadonlyArray<A> =>
    answers.every((_) => _ === true) ? items : items.filter((_, i) => answers[i] === true)
  return Effect.suspend(() => {
    const answers: Array<unknown> = decisions.slice()
    const all = together(
      open,
      (i) => Effect.map(Decision.toEffect(decisions[i]!), (answer) => void (answers[i] = answer)),
      bounds.concurrency
    )
    return Effect.flatMap(Decision.before(all, bounds.maxTotal), (end) => {
      if (Option.isSome(end)) {
        // They do not fail: it is an interruption, or a defect of a logger.
        return Exit.isFailure(end.value) ? Effect.failCause(end.value.cause) : Effect.succeed(chosen(answers))
      }
      // A late answer must not change what was chosen.
      const kept = chosen(answers.slice())
      const undecided = open.filter((i) => typeof answers[i] !== "boolean").length
      return Effect.as(
        Decision.report(
          server,
          "tools/list",
          `the filter did not decide on ${undecided} of ${items.length} tools within ${bounds.maxTotal} ms, ` +
            "so they are excluded"
        ),
        kept
      )
    })
  })
}
