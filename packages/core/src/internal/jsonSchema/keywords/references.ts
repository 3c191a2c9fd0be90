/**
 * `$ref`, `$dynamicRef`, `$recursiveRef`: schemas elsewhere in the document.
 */
import type { Place } from "../compiler.js"
import type { Check, Node } from "../node.js"
import { quoted } from "../problems.js"
import type { Resource, Target } from "../resource.js"
import type { Run } from "../run.js"

export const addReferences = (place: Place): void => {
  add(place, "$ref", plain)
  if (place.dialect === 2020) add(place, "$dynamicRef", dynamic)
  if (place.dialect === 2019) add(place, "$recursiveRef", recursive)
}

type Follow = (place: Place, target: Target, node: Node) => Check<unknown>

const add = (place: Place, keyword: string, follow: Follow): void => {
  const { any } = place.node
  const reference = place.read(keyword, isString, any)
  if (reference === undefined) return
  const target = place.document.resolve(reference, place.resource)
  any.push(
    target === undefined
      ? place.giveUp(keyword, `leads to ${quoted(reference)}, which is not in the schema`)
      : follow(place, target, place.nodeAt(target.schema, target.resource, reference))
  )
}

const plain: Follow = (_, __, node) => (value, run) => run.branch(node, value)

/** The outermost resource with a dynamic anchor of the same name has the last word. */
const dynamic: Follow = (place, target, node) => {
  const name = target.dynamicName
  if (name === undefined) return plain(place, target, node)
  const nodes = new Map<Resource, Node>()
  for (const resource of place.document.allResources) {
    const schema = resource.dynamicAnchors.get(name)
    if (schema !== undefined) nodes.set(resource, place.nodeAt(schema, resource, `#${name}`))
  }
  return outermost(nodes, node)
}

/** The outermost resource that says that it is recursive has the last word, if the one it leads to says so too. */
const recursive: Follow = (place, target, node) => {
  if (!target.resource.isRecursive) return plain(place, target, node)
  const nodes = new Map<Resource, Node>()
  for (const resource of place.document.allResources) {
    if (resource.isRecursive) nodes.set(resource, place.nodeAt(resource.root, resource, "#"))
  }
  return outermost(nodes, node)
}

const outermost = (nodes: ReadonlyMap<Resource, Node>, otherwise: Node): Check<unknown> => (value, run) =>
  run.branch(outermostIn(run, nodes) ?? otherwise, value)

const outermostIn = (run: Run, nodes: ReadonlyMap<Resource, Node>): Node | undefined => {
  let found: Node | undefined
  for (let scope = run.scope; scope !== undefined; scope = scope.outer) {
    run.steps--
    found = nodes.get(scope.resource) ?? found
  }
  return found
}

const isString = (u: unknown): u is string => typeof u === "string"
