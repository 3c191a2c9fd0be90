/**
 * What a model is told of the arguments of a tool: their schema.
 *
 * Owns: the strict subset of JSON Schema that models can be held to, and the way back from what they answer under it.
 * May not touch: the tool. A schema is kept verbatim as its server sent it; everything here is derived from it, and what
 * cannot be derived faithfully is the original itself.
 *
 * @since 0.1.0
 */
import { convert } from "./internal/toolset/strict.js"
import { own } from "./internal/toolset/strictDocument.js"
import { withoutFillIns as takeBack } from "./internal/toolset/strictFillIns.js"
import type { JsonObject } from "./McpProtocol.js"

/**
 * A schema for a model, and whether the model can be held to it.
 *
 * @since 0.1.0
 * @category models
 */
export interface StrictSchema {
  /** Frozen, if it was converted; otherwise the very object that was given. */
  readonly schema: JsonObject
  readonly strict: boolean
  /** Why it was not converted, in plain words. Names in it are the server's: they are bounded, and not to be trusted. */
  readonly reason?: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface StrictOptions {
  /**
   * A strict schema knows no optional properties. `"require"`: the model must give each of them a value. `"nullable"`: it
   * may answer null instead, and `withoutFillIns` takes those nulls out of its arguments. Default: `"require"`.
   */
  readonly optional?: "require" | "nullable" | undefined
}

/**
 * The schema in the strict subset that OpenAI calls structured outputs: every object closed, every property required, one
 * type or union of types everywhere, and no keyword that the subset doesn't know.
 *
 * What it promises, when `strict` is true:
 *
 * - The original accepts every value that the strict schema accepts, with `"nullable"` once `withoutFillIns` has had it.
 * - With `"nullable"`, the strict schema accepts every value that the original accepts, once null is filled in for what is
 *   absent. With `"require"`, every such value in which nothing is absent.
 *
 * Leaving aside, in the latter, what a schema lets in without a word about it: properties that an object doesn't declare
 * (unless it says that it wants them), and other values than objects where it declares properties without a type.
 * Formats are taken as descriptions, as JSON Schema does unless told otherwise.
 *
 * Where that can't be had, the answer is the same object that was given, with `strict: false` and the reason. It never
 * throws and takes bounded time, whatever the schema. A frozen schema is converted once: asking again is a look-up.
 *
 * @example
 * ```ts
 * import { ToolSchema } from "@mcp-runtime/core"
 *
 * const { schema, strict } = ToolSchema.strict({
 *   type: "object",
 *   properties: { city: { type: "string" }, days: { type: "integer" } },
 *   required: ["city"]
 * }, { optional: "nullable" })
 *
 * // strict: true
 * // schema: {
 * //   type: "object",
 * //   properties: { city: { type: "string" }, days: { type: ["integer", "null"] } },
 * //   required: ["city", "days"],
 * //   additionalProperties: false
 * // }
 * ```
 *
 * @since 0.1.0
 * @category strict schemas
 */
export const strict = (schema: JsonObject, options?: StrictOptions): StrictSchema =>
  convert(schema, options?.optional ?? "require").result

/**
 * The arguments that a model gave under `strict(original, { optional: "nullable" })`, without the nulls that stand for
 * absent properties. A null that the original knows itself stays, unless it says that null is the default, which is what
 * absence means then. The same object where there is nothing to take out, or where the original wasn't converted.
 *
 * @example
 * ```ts
 * import { ToolSchema } from "@mcp-runtime/core"
 *
 * const original = {
 *   type: "object",
 *   properties: { city: { type: "string" }, days: { type: "integer" } },
 *   required: ["city"]
 * }
 *
 * ToolSchema.withoutFillIns(original, { city: "Oslo", days: null }) // { city: "Oslo" }
 * ```
 *
 * @since 0.1.0
 * @category strict schemas
 */
export const withoutFillIns = (original: JsonObject, args: JsonObject): JsonObject => {
  const { graph } = convert(original, "nullable")
  return graph === undefined ? args : takeBack(graph, args) as JsonObject
}

const withProperties = new WeakMap<JsonObject, JsonObject>()

const noProperties: JsonObject = Object.freeze({})

/**
 * The schema of a tool's arguments with `properties`, on which some models insist even where there are none. It accepts the
 * same values. The same object if it has them, or isn't the schema of an object.
 *
 * @since 0.1.0
 * @category schemas
 */
export const normalized = (schema: JsonObject): JsonObject => {
  const type = own(schema, "type")
  if (Object.hasOwn(schema, "properties") || (type !== undefined && type !== "object")) return schema
  const known = withProperties.get(schema)
  if (known !== undefined) return known
  const made = Object.freeze({ ...schema, properties: noProperties })
  if (Object.isFrozen(schema)) withProperties.set(schema, made)
  return made
}
