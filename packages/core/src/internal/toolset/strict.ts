/**
 * Converts a schema to the strict subset, once.
 *
 * Owns: the order of the steps, and remembering.
 * May not touch: the schema. Where a step says no, it goes out as it came in.
 */
import type { JsonObject } from "../../McpProtocol.js"
import { Builder } from "./strictBuild.js"
import type { Built, Optional } from "./strictBuild.js"
import { check } from "./strictChecks.js"
import { Document } from "./strictDocument.js"
import type { StrictGraph } from "./strictNodes.js"

export interface Conversion {
  readonly result: { readonly schema: JsonObject; readonly strict: boolean; readonly reason?: string }
  /** For finding what was filled in; absent where nothing was converted. */
  readonly graph: StrictGraph | undefined
  /** What it has cost. */
  readonly steps: number
}

const remembered: Readonly<Record<Optional, WeakMap<JsonObject, Conversion>>> = {
  require: new WeakMap(),
  nullable: new WeakMap()
}

/** What is not frozen may be different next time, and is not remembered. */
export const convert = (schema: JsonObject, optional: Optional): Conversion => {
  const known = remembered[optional].get(schema)
  if (known !== undefined) return known
  const conversion = converted(schema, optional)
  if (Object.isFrozen(schema)) remembered[optional].set(schema, conversion)
  return conversion
}

const converted = (schema: JsonObject, optional: Optional): Conversion => {
  const document = new Document(schema)
  const built = new Builder(document, optional).build()
  if (built !== undefined && check(document, built) && document.reason === undefined) {
    return { result: Object.freeze({ schema: output(built), strict: true }), graph: built, steps: document.steps }
  }
  const reason = document.reason ?? "it cannot be converted"
  return { result: Object.freeze({ schema, strict: false, reason }), graph: undefined, steps: document.steps }
}

const output = ({ names, root }: Built): JsonObject =>
  names.size === 0 ? root : Object.freeze({ ...root, $defs: Object.freeze(Object.fromEntries(names)) })
