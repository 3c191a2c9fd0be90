/**
 * `allOf`, `anyOf`, `oneOf`, `not`, `if`, `then`, `else`.
 */
import type { Place } from "../compiler.js"
import type { Check, Node } from "../node.js"
import type { Problems } from "../problems.js"
import { both, either, Invalid, opposite, Unknown, Valid, type Verdict } from "../verdict.js"

export const addLogic = (place: Place): void => {
  const { any } = place.node
  const allOf = place.children("allOf", any)
  const anyOf = place.children("anyOf", any)
  const oneOf = place.children("oneOf", any)
  const not = place.child("not")
  if (allOf.length > 0) any.push(allOfThem(allOf))
  if (anyOf.length > 0) any.push(anyOfThem(anyOf))
  if (oneOf.length > 0) any.push(oneOfThem(oneOf))
  if (not !== undefined) any.push(noneOf(not))
  const condition = place.dialect >= 7 ? place.child("if") : undefined
  if (condition !== undefined) any.push(conditional(condition, place.child("then"), place.child("else")))
}

const allOfThem = (nodes: ReadonlyArray<Node>): Check<unknown> => (value, run) => {
  let verdict: Verdict = Valid
  for (const node of nodes) {
    verdict = both(verdict, run.branch(node, value))
    if (run.isSettled(verdict)) return both(verdict, Unknown)
  }
  return verdict
}

const anyOfThem = (nodes: ReadonlyArray<Node>): Check<unknown> => (value, run) => {
  let verdict: Verdict = Invalid
  const apart: Array<Problems> = []
  for (const node of nodes) {
    verdict = either(verdict, run.branchApart(node, value, apart))
    // The others may evaluate more.
    if (verdict === Valid && run.evaluated === undefined) return Valid
  }
  return verdict === Invalid ? run.failAll(apart) : verdict
}

const oneOfThem = (nodes: ReadonlyArray<Node>): Check<unknown> => (value, run) => {
  let sure = 0
  let possible = 0
  const apart: Array<Problems> = []
  for (const node of nodes) {
    const verdict = run.branchApart(node, value, apart)
    if (verdict !== Invalid) possible++
    if (verdict === Valid) sure++
    if (sure > 1) return run.fail("fits several ways of which it may fit one only")
  }
  return possible === 0 ? run.failAll(apart) : sure === 1 && possible === 1 ? Valid : Unknown
}

const noneOf = (node: Node): Check<unknown> => (value, run) => {
  const verdict = opposite(run.aside(node, value))
  return verdict === Invalid ? run.fail("is what the schema forbids") : verdict
}

const conditional = (condition: Node, yes: Node | undefined, no: Node | undefined): Check<unknown> => (value, run) => {
  const verdict = run.branchQuietly(condition, value)
  if (verdict === Valid) return yes === undefined ? Valid : run.branch(yes, value)
  if (verdict === Invalid) return no === undefined ? Valid : run.branch(no, value)
  // One of the two counts, and which one is not known: nothing is evaluated for certain.
  const ifYes = yes === undefined ? Valid : run.aside(yes, value)
  const ifNo = no === undefined ? Valid : run.aside(no, value)
  if (run.evaluated !== undefined) run.evaluated.isUncertain = true
  if (ifYes !== ifNo) return Unknown
  return ifYes === Invalid ? run.fail("fits neither of two ways") : ifYes
}
