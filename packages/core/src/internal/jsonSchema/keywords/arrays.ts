/**
 * `prefixItems`, `items`, `additionalItems`, `contains`, `uniqueItems`, `minItems`, `maxItems`.
 */
import { isList, type Place } from "../compiler.js"
import { jsonText } from "../jsonText.js"
import type { Check, Node } from "../node.js"
import { counted } from "../problems.js"
import type { Run } from "../run.js"
import { both, Invalid, perhaps, Unknown, Valid, type Verdict } from "../verdict.js"
import { isCount } from "./counts.js"

export const addArrays = (place: Place): void => {
  const { arrays } = place.node
  const min = place.read("minItems", isCount, arrays)
  const max = place.read("maxItems", isCount, arrays)
  if (min !== undefined) {
    const problem = `must have at least ${counted(min, "item", "items")}`
    arrays.push((value, run) => value.length >= min ? Valid : run.fail(problem))
  }
  if (max !== undefined) {
    const problem = `must have at most ${counted(max, "item", "items")}`
    arrays.push((value, run) => value.length <= max ? Valid : run.fail(problem))
  }
  addItems(place)
  if (place.dialect >= 6) addContains(place)
  if (place.read("uniqueItems", isBoolean, arrays) === true) arrays.push(areUnique)
}

const addItems = (place: Place): void => {
  const { arrays } = place.node
  const hasPrefix = place.dialect === 2020 && place.has("prefixItems")
  // A list of schemas under `items` is how it was said before 2020, and can mean nothing else in schemas that don't say
  // of which time they are.
  const hasList = isList(place.schema.items)
  if (hasPrefix && hasList) {
    arrays.push(place.giveUp("items", "is not what the keyword can be"))
    return
  }
  const prefix = hasPrefix
    ? place.children("prefixItems", arrays)
    : hasList
    ? place.children("items", arrays)
    : []
  const rest = place.child(hasList ? "additionalItems" : "items")
  if (prefix.length > 0 || rest !== undefined) arrays.push(items(prefix, rest))
}

const items = (prefix: ReadonlyArray<Node>, rest: Node | undefined): Check<ReadonlyArray<unknown>> => (value, run) => {
  const end = rest === undefined ? Math.min(prefix.length, value.length) : value.length
  if (rest === undefined) run.evaluated?.addPrefix(end)
  else run.evaluated?.addAllItems()
  let verdict: Verdict = Valid
  for (let i = 0; i < end; i++) {
    verdict = both(verdict, run.inside(i < prefix.length ? prefix[i]! : rest!, value[i], i))
    if (run.isSettled(verdict)) return both(verdict, Unknown)
  }
  return verdict
}

const addContains = (place: Place): void => {
  const { arrays } = place.node
  const node = place.child("contains")
  if (node === undefined) return
  const isCounting = place.dialect >= 2019
  const min = (isCounting ? place.read("minContains", isCount, arrays) : undefined) ?? 1
  const max = (isCounting ? place.read("maxContains", isCount, arrays) : undefined) ?? Infinity
  const tooFew = `must have at least ${counted(min, "item", "items")} of a certain kind`
  const tooMany = `must have at most ${counted(max, "item", "items")} of a certain kind`
  const isEvaluating = place.dialect === 2020
  arrays.push((value, run) => {
    const evaluated = isEvaluating ? run.evaluated : undefined
    let sure = 0
    let possible = 0
    for (let i = 0; i < value.length; i++) {
      const verdict = run.aside(node, value[i])
      if (verdict !== Invalid) possible++
      if (verdict === Valid) {
        sure++
        evaluated?.addItem(i)
      }
      if (evaluated !== undefined && verdict === Unknown) evaluated.isUncertain = true
      if (sure > max) return run.fail(tooMany)
      if (sure >= min && max === Infinity && evaluated === undefined) return Valid
      if (run.steps < 0) return Unknown
    }
    return possible < min ? run.fail(tooFew) : sure >= min && possible <= max ? Valid : Unknown
  })
}

const areUnique = (value: ReadonlyArray<unknown>, run: Run): Verdict => {
  const seen = new Set<unknown>()
  for (let i = 0; i < value.length; i++) {
    const item = value[i]
    const isPlain = typeof item !== "object" || item === null
    // Texts of lists and objects start with a bracket, so that they are set apart from strings by one more character.
    const key = isPlain ? typeof item === "string" ? `"${item}` : item : jsonText(item, run)
    if (!isPlain && key === undefined) return run.unknown("an item is too large to be compared")
    if (seen.has(key)) return run.failAt(i, "is there twice")
    seen.add(key)
    if (!run.spend(1)) return Unknown
  }
  return Valid
}

const isBoolean = (u: unknown): u is boolean => typeof u === "boolean"

/** What is left over is checked where it is certain that nothing else has evaluated it. */
export const unevaluatedItems = (node: Node): Check<ReadonlyArray<unknown>> => (value, run) => {
  const evaluated = run.evaluated!
  let verdict: Verdict = Valid
  for (let i = 0; i < value.length; i++) {
    if (!run.spend(1)) return both(verdict, Unknown)
    if (evaluated.hasItem(i)) continue
    verdict = both(
      verdict,
      evaluated.isUncertain ? perhaps(run.aside(node, value[i])) : run.inside(node, value[i], i)
    )
    if (run.isSettled(verdict)) return both(verdict, Unknown)
  }
  evaluated.addAllItems()
  return verdict
}
