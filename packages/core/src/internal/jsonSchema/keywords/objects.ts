/**
 * `properties`, `patternProperties`, `additionalProperties`, `propertyNames`, `required`, `dependentRequired`,
 * `dependentSchemas`, `dependencies`, `minProperties`, `maxProperties`.
 *
 * A property that is `undefined` is none: it does not reach the wire.
 */
import { isObject } from "../../protocol/json.js"
import { isList, type Place } from "../compiler.js"
import type { Check, JsonRecord, Node } from "../node.js"
import type { Pattern } from "../pattern/pattern.js"
import { counted, cut, quoted } from "../problems.js"
import type { Run } from "../run.js"
import { both, perhaps, Unknown, Valid, type Verdict } from "../verdict.js"
import { isCount } from "./counts.js"

export const addObjects = (place: Place): void => {
  const { objects } = place.node
  const required = place.read("required", isNames, objects)
  if (required !== undefined && required.length > 0) objects.push(areThere(required, "is missing"))
  addCounts(place)
  addMembers(place)
  if (place.dialect >= 6) addNames(place)
  addDependencies(place)
}

const own = (object: JsonRecord, key: string): unknown => Object.hasOwn(object, key) ? object[key] : undefined

const isNames = (u: unknown): u is ReadonlyArray<string> => isList(u) && u.every((name) => typeof name === "string")

const areThere = (names: ReadonlyArray<string>, problem: string): Check<JsonRecord> => (value, run) => {
  let verdict: Verdict = Valid
  for (const name of names) {
    if (own(value, name) === undefined) verdict = run.failAt(name, problem)
    if (run.isSettled(verdict)) return verdict
  }
  return run.spend(names.length >> 2) ? verdict : both(verdict, Unknown)
}

const addCounts = (place: Place): void => {
  const { objects } = place.node
  const min = place.read("minProperties", isCount, objects)
  const max = place.read("maxProperties", isCount, objects)
  if (min === undefined && max === undefined) return
  const tooFew = `must have at least ${counted(min ?? 0, "property", "properties")}`
  const tooMany = `must have at most ${counted(max ?? 0, "property", "properties")}`
  objects.push((value, run) => {
    let count = 0
    for (const key of Object.keys(value)) if (value[key] !== undefined) count++
    run.steps -= count >> 2
    if (min !== undefined && count < min) return run.fail(tooFew)
    return max !== undefined && count > max ? run.fail(tooMany) : Valid
  })
}

interface Members {
  readonly properties: ReadonlyMap<string, Node>
  readonly patterns: ReadonlyArray<{ readonly pattern: Pattern | undefined; readonly node: Node }>
  readonly additional: Node | undefined
}

const addMembers = (place: Place): void => {
  const { objects } = place.node
  const properties = place.named("properties", objects)
  const patterns = [...place.named("patternProperties", objects)].map(([source, node]) => {
    const pattern = patternOf(place, source)
    return { node, pattern: typeof pattern === "function" ? undefined : pattern }
  })
  const additional = place.child("additionalProperties")
  if (patterns.length > 0 || additional !== undefined) {
    objects.push(allMembers({ additional, patterns, properties }))
  } else if (properties.size > 0) objects.push(listedMembers([...properties.keys()], [...properties.values()]))
}

/** Names are cut where they are shown only, so that the pattern is read from the schema. */
const patternOf = (place: Place, source: string) => place.pattern(source, `patternProperties/${cut(source, 64)}`)

const listedMembers = (names: ReadonlyArray<string>, nodes: ReadonlyArray<Node>): Check<JsonRecord> => (value, run) => {
  let verdict: Verdict = Valid
  if (!run.spend(names.length >> 2)) return Unknown
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!
    const item = own(value, name)
    if (item === undefined) continue
    run.evaluated?.addProperty(name)
    verdict = both(verdict, run.inside(nodes[i]!, item, name))
    if (run.isSettled(verdict)) return both(verdict, Unknown)
  }
  return verdict
}

const allMembers = (members: Members): Check<JsonRecord> => (value, run) => {
  let verdict: Verdict = Valid
  for (const name of Object.keys(value)) {
    const item = value[name]
    if (item === undefined) continue
    verdict = both(verdict, member(members, name, item, run))
    if (run.isSettled(verdict)) return both(verdict, Unknown)
  }
  return verdict
}

const member = ({ additional, patterns, properties }: Members, name: string, item: unknown, run: Run): Verdict => {
  const listed = properties.get(name)
  let verdict: Verdict = listed === undefined ? Valid : run.inside(listed, item, name)
  let isKnown = listed !== undefined
  let isPerhapsKnown = false
  for (const { node, pattern } of patterns) {
    if (!run.spend(1)) return both(verdict, Unknown)
    const matches = pattern?.test(name, run)
    if (matches === true) {
      isKnown = true
      verdict = both(verdict, run.inside(node, item, name))
    } else if (matches === undefined) {
      isPerhapsKnown = true
      const inner = perhaps(run.aside(node, item))
      verdict = both(verdict, inner === Valid ? Valid : run.unknown("a pattern of names can't be decided"))
    }
  }
  if (!isKnown && additional !== undefined) {
    const inner = isPerhapsKnown ? perhaps(run.aside(additional, item)) : run.inside(additional, item, name)
    verdict = both(verdict, inner === Unknown ? run.unknown("a pattern of names can't be decided") : inner)
  }
  const { evaluated } = run
  if (evaluated === undefined) return verdict
  if (isKnown || additional !== undefined) evaluated.addProperty(name)
  else if (isPerhapsKnown) evaluated.isUncertain = true
  return verdict
}

const addNames = (place: Place): void => {
  const { objects } = place.node
  const node = place.child("propertyNames")
  if (node === undefined) return
  objects.push((value, run) => {
    let verdict: Verdict = Valid
    for (const name of Object.keys(value)) {
      if (value[name] === undefined) continue
      const inner = run.aside(node, name)
      verdict = both(verdict, inner === Valid || inner === Unknown ? inner : run.failAt(name, "has a name not allowed"))
      if (run.isSettled(verdict)) return both(verdict, Unknown)
    }
    return verdict
  })
}

const addDependencies = (place: Place): void => {
  const { objects } = place.node
  if (place.dialect >= 2019) {
    addLists(place, "dependentRequired", place.read("dependentRequired", isObject, objects) ?? {})
    for (const [name, node] of place.named("dependentSchemas", objects)) objects.push(whenThere(name, node))
  }
  // Replaced by those two in 2019, and still widely used.
  const both = place.read("dependencies", isObject, objects) ?? {}
  const names = Object.keys(both)
  addLists(place, "dependencies", Object.fromEntries(names.filter((_) => isList(both[_])).map((_) => [_, both[_]])))
  for (const name of names) {
    if (!isList(both[name])) objects.push(whenThere(name, place.nodeOf(both[name], `dependencies/${cut(name, 64)}`)))
  }
}

const addLists = (place: Place, keyword: string, lists: JsonRecord): void => {
  const { objects } = place.node
  for (const name of Object.keys(lists)) {
    const names = lists[name]
    if (!isNames(names)) {
      objects.push(place.giveUp(`${keyword}/${cut(name, 64)}`, "is not what the keyword can be"))
      continue
    }
    const check = areThere(names, `is missing, though ${quoted(name)} is there`)
    objects.push((value, run) => own(value, name) === undefined ? Valid : check(value, run))
  }
}

const whenThere = (name: string, node: Node): Check<JsonRecord> => (value, run) =>
  own(value, name) === undefined ? Valid : run.branch(node, value)

/** What is left over is checked where it is certain that nothing else has evaluated it. */
export const unevaluatedProperties = (node: Node): Check<JsonRecord> => (value, run) => {
  const evaluated = run.evaluated!
  let verdict: Verdict = Valid
  for (const name of Object.keys(value)) {
    if (!run.spend(1)) return both(verdict, Unknown)
    const item = value[name]
    if (item === undefined || evaluated.hasProperty(name)) continue
    verdict = both(
      verdict,
      evaluated.isUncertain ? perhaps(run.aside(node, item)) : run.inside(node, item, name)
    )
    if (run.isSettled(verdict)) return both(verdict, Unknown)
  }
  evaluated.addAllProperties()
  return verdict
}
