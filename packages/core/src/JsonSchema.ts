/**
 * Validation of values against the JSON Schemas of servers: what a tool answered against its output schema, and, if wished,
 * arguments against its input schema.
 *
 * Owns: compiling a schema once, the bounds of what that and a validation may cost, and the three answers.
 * May not touch: the schema and the value, which are shared; the network. It decides nothing about calls.
 *
 * Schemas come from outside, and so do most values. Nothing is registered anywhere by its `$id`, no `$ref` is fetched, no
 * code is generated, and patterns are matched in linear time. What can't be decided within the bounds, or at all, is
 * `Unknown`, never invalid.
 *
 * Drafts 4, 6 and 7, 2019-09, and 2020-12, which is also what a schema is taken for that does not say. Each by its own
 * rules, and otherwise than them:
 *
 * - A `$ref` that leads out of the document is unknown, also one to a meta-schema; `$vocabulary` has no effect.
 * - `format`, `contentEncoding` and `contentMediaType` say what a text means, and are no condition.
 * - What is no valid schema is unknown where it matters, but for two ways of older drafts, which can mean one thing only: a
 *   list under `items`, and `true` for `exclusiveMinimum` and `exclusiveMaximum`. `dependencies` works in every draft.
 * - `null` is unknown where only OpenAPI's `nullable` allows it.
 * - Patterns are those of ECMAScript with the `u` flag and all it has but references back (`\1`), which are unknown. What
 *   the flag forbids though it can mean one thing only, such as `\-`, is allowed.
 *
 * @since 0.1.0
 */
import { Cache } from "./internal/jsonSchema/cache.js"
import { compile as compileSchema, type Compiled, neverDecided } from "./internal/jsonSchema/compiler.js"
import { validate } from "./internal/jsonSchema/validate.js"
import { maxDepth, Measure } from "./internal/protocol/json.js"
import type * as McpProtocol from "./McpProtocol.js"

/**
 * What is wrong with a value, and where: `a.b[3]`, or the empty text for the value itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly path: string
  readonly problem: string
}

/**
 * The answer to whether a value fits a schema.
 *
 * `Invalid` has at least one problem and a bounded number of them, in words that show nothing of the value but the names of
 * its properties. `Unknown` is no fault of the value: the schema asks for what can't be decided here, or takes too long.
 *
 * @since 0.1.0
 * @category models
 */
export type Validation =
  | { readonly _tag: "Valid" }
  | { readonly _tag: "Invalid"; readonly problems: ReadonlyArray<Problem> }
  | { readonly _tag: "Unknown"; readonly reason: string }

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How much a validation may cost, in steps of some 10 to 100 nanoseconds. Default: 1,000,000. */
  readonly steps?: number | undefined
}

/**
 * A schema that is ready to be used.
 *
 * @since 0.1.0
 * @category models
 */
export interface Validator {
  /** Total and synchronous: it never throws, and ends when its steps do. */
  readonly validate: (value: unknown, options?: Options) => Validation
  /** Why parts of the schema can't be decided. Values to which those parts don't matter are decided all the same. */
  readonly undecidable: ReadonlyArray<string>
}

/**
 * Prepares a schema, and never throws. The same schema is prepared once, and so are two with the same text, whatever tools
 * and servers they belong to. A schema must not change once it is here.
 *
 * @example
 * ```ts
 * import { JsonSchema } from "@mcp-runtime/core"
 *
 * const point = JsonSchema.compile({
 *   type: "object",
 *   properties: { x: { type: "number" }, y: { type: "number" } },
 *   required: ["x", "y"]
 * })
 *
 * point.validate({ x: 1, y: 2 }) // { _tag: "Valid" }
 * point.validate({ x: "1" }) // { _tag: "Invalid", problems: [{ path: "y", problem: "is missing" }, ...] }
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const compile = (schema: McpProtocol.JsonObject): Validator => {
  const known = validators.get(schema)
  if (known !== undefined) return known
  const compiled = compiledOf(schema)
  const validator: Validator = {
    undecidable: compiled.undecidable,
    validate: (value, options) => validate(compiled, value, options)
  }
  validators.set(schema, validator)
  return validator
}

const maxSchemaSize = 1_000_000

const validators = new WeakMap<McpProtocol.JsonObject, Validator>()

const recent = new Cache(256, 64_000_000)

const compiledOf = (schema: McpProtocol.JsonObject): Compiled => {
  try {
    const measure = new Measure(maxSchemaSize)
    if (measure.add(schema) > maxDepth) return neverDecided("the schema is nested too deeply")
    if (measure.isExceeded) return neverDecided("the schema is too large")
    return recent.get(JSON.stringify(schema), () => compileSchema(schema))
  } catch {
    return neverDecided("the schema can't be read")
  }
}
