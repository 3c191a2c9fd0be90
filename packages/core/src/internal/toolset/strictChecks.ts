/**
 * What must hold for the nodes of a strict schema together.
 *
 * Owns: that a value of it can end, that unions mean the same as before, that what was filled in can be found again, and that
 * it is not larger than models accept.
 * May not touch: the nodes. They are as they will be sent.
 */
import * as Arr from "effect/Array"
import type { Built, BuiltUnion } from "./strictBuild.js"
import type { Document } from "./strictDocument.js"
import { acceptsNull, areApart, leaves, typesOf } from "./strictNodes.js"
import type { Comparison, StrictGraph, StrictNode, View } from "./strictNodes.js"

/** What OpenAI accepts, as documented in 2026; but the first is ours. */
const limits = [
  ["nodes", 20_000, "schemas"],
  ["properties", 5000, "properties"],
  ["levels", 10, "objects inside each other"],
  ["values", 1000, "listed values"],
  ["characters", 120_000, "characters in names, patterns and listed values"],
  ["charactersOfLongEnum", 15_000, "characters in one long list of values"]
] as const
const longEnum = 250

/** Whether all of it holds; if not, the document knows why. */
export const check = (document: Document, built: Built): boolean =>
  checkLoops(document, built) &&
  checkFinite(document, built) &&
  checkSize(document, built) &&
  built.unions.every((union) => !union.exclusive || checkExclusive(document, built, union)) &&
  checkFillIns(document, built)

const fails = (document: Document, path: string, words: string): false => {
  document.refuse(path, words)
  return false
}

/** References and unions must come to something other than themselves. */
const checkLoops = (document: Document, built: Built): boolean => {
  const done = new Set<StrictNode>()
  for (const [name, start] of built.names) {
    const underWay = new Set<StrictNode>()
    // Each node is on the stack twice: to be opened, and to be closed when all below it is done.
    const stack: Array<{ readonly node: StrictNode; readonly isOver: boolean }> = [{ node: start, isOver: false }]
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { isOver, node } = next
      if (isOver) {
        underWay.delete(node)
        done.add(node)
        continue
      }
      if (underWay.has(node)) return fails(document, name, "refers to itself without anything between")
      if (done.has(node)) continue
      if (!document.affords(name, 1)) return false
      underWay.add(node)
      stack.push({ node, isOver: true })
      if (node.$ref !== undefined) stack.push({ node: built.targets.get(node.$ref)!, isOver: false })
      for (const branch of node.anyOf ?? []) stack.push({ node: branch, isOver: false })
    }
  }
  return true
}

/** A recursion that was optional and is required now would never end. */
const checkFinite = (document: Document, built: Built): boolean => {
  const finite = new Set<string>()
  const isFinite = (node: StrictNode): boolean => {
    document.affords("", 1)
    if (node.$ref !== undefined) return finite.has(node.$ref)
    if (node.anyOf !== undefined) return node.anyOf.some(isFinite)
    const types = typesOf(node)
    return types.some((type) =>
      type === "object"
        ? Object.values(node.properties!).every(isFinite)
        : type !== "array" || !((node.minItems as number | undefined ?? 0) > 0) || isFinite(node.items!)
    )
  }
  // What is referred to was found after what refers to it, so that this order settles most in one round.
  let open = Arr.reverse(built.targets)
  while (open.length > 0) {
    const left = open.filter(([reference, node]) => {
      if (!isFinite(node)) return true
      finite.add(reference)
      return false
    })
    if (document.reason !== undefined) return false
    if (left.length === open.length) {
      return fails(document, "", "no value of it would ever end: it requires itself inside itself")
    }
    open = left
  }
  return true
}

const checkSize = (document: Document, built: Built): boolean => {
  const counted = { nodes: 0, properties: 0, levels: 0, values: 0, characters: 0, charactersOfLongEnum: 0 }
  const walk = (node: StrictNode, level: number): void => {
    counted.nodes++
    if (typeof node.pattern === "string") counted.characters += node.pattern.length
    if (node.enum !== undefined) {
      const characters = node.enum.reduce<number>((sum, _) => typeof _ === "string" ? sum + _.length : sum, 0)
      counted.values += node.enum.length
      counted.characters += characters
      if (node.enum.length > longEnum) {
        counted.charactersOfLongEnum = Math.max(counted.charactersOfLongEnum, characters)
      }
    }
    if (node.properties !== undefined) {
      counted.levels = Math.max(counted.levels, level + 1)
      for (const [name, property] of Object.entries(node.properties)) {
        counted.properties++
        counted.characters += name.length
        walk(property, level + 1)
      }
    }
    if (node.items !== undefined) walk(node.items, level)
    for (const branch of node.anyOf ?? []) walk(branch, level)
  }
  for (const [reference, node] of built.targets) {
    counted.characters += reference.length
    walk(node, 0)
  }
  for (const [key, most, words] of limits) {
    if (counted[key] > most) {
      return fails(document, "", `it is larger than models accept in strict schemas: more than ${most} ${words}`)
    }
  }
  return true
}

/** Of exactly one, at least one is left: the same only where no value is of two. */
const checkExclusive = (document: Document, built: Built, union: BuiltUnion): boolean => {
  const by = comparison(document, built, "original", union.path)
  const branches = union.node.anyOf!
  return branches.every((a, i) => branches.every((b, j) => i === j || areApart(by, a, b))) ||
    fails(document, union.path, `says "oneOf" of schemas that may accept the same value`)
}

const comparison = (document: Document, graph: StrictGraph, view: View, path: string): Comparison => ({
  graph,
  view,
  affords: (steps) => document.affords(path, steps)
})

const checkFillIns = (document: Document, built: Built): boolean => {
  for (const { bare, isNullByDefault, path } of built.fillIns) {
    const found = leaves(built, bare)
    if (!document.affords(path, found.length)) return false
    if (!isNullByDefault && found.some(acceptsNull)) {
      return fails(document, path, "may be absent and may be null, and null could mean either")
    }
  }
  return !built.fillsIn || built.unions.every((union) => checkFound(document, built, union))
}

/** Which of a union's objects or lists a value is decides what was filled in, so that it must be visible. */
const checkFound = (document: Document, built: Built, union: BuiltUnion): boolean => {
  const found = leaves(built, union.node)
  if (!document.affords(union.path, found.length)) return false
  const containers = found.filter((_) => _.properties !== undefined || _.items !== undefined)
  if (containers.length < 2) return true
  const by = comparison(document, built, "strict", union.path)
  const filled = containers.map((_) => holdsFillIns(document, built, _))
  return containers.every((a, i) =>
    containers.every((b, j) => i >= j || (!filled[i] && !filled[j]) || areApart(by, a, b))
  ) || fails(document, union.path, "is a union of schemas with optional properties that cannot be told apart")
}

/** Whether a value of it may hold something filled in. */
const holdsFillIns = (document: Document, graph: StrictGraph, node: StrictNode): boolean => {
  const seen = new Set<StrictNode>()
  const open = [node]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue
    seen.add(next)
    if (!document.affords("", 1)) return false
    if ((graph.origins.get(next)?.optional.size ?? 0) > 0) return true
    if (next.$ref !== undefined) open.push(graph.targets.get(next.$ref)!)
    if (next.items !== undefined) open.push(next.items)
    if (next.anyOf !== undefined) open.push(...next.anyOf)
    if (next.properties !== undefined) open.push(...Object.values(next.properties))
  }
  return false
}
