/**
 * `type`, `enum`, `const`: which values there may be.
 */
import { isList, type Place } from "../compiler.js"
import { jsonText } from "../jsonText.js"
import type { Check } from "../node.js"
import { cut } from "../problems.js"
import { anyType, typeNamed } from "../types.js"
import { Valid } from "../verdict.js"

export const addValues = (place: Place): void => {
  const { node } = place
  if (place.has("type")) addType(place)
  const values = place.read("enum", isList, node.any)
  if (values !== undefined) node.any.push(oneOfValues(values, place, "enum"))
  if (place.dialect >= 6 && place.has("const")) node.any.push(oneOfValues([place.schema.const], place, "const"))
}

const addType = (place: Place): void => {
  const { node } = place
  const { nullable, type } = place.schema
  const bits = (isList(type) ? type : [type]).map(typeNamed)
  if (bits.length === 0 || bits.includes(undefined)) {
    node.any.push(place.giveUp("type", "names no type"))
    return
  }
  node.types = bits.reduce<number>((all, bit) => all | (bit ?? 0), 0)
  // OpenAPI has this keyword, JSON Schema does not, and servers confuse the two.
  const ofNull = typeNamed("null")!
  if (nullable === true && (node.types & ofNull) === 0 && node.types !== anyType) {
    node.types |= ofNull
    const unknown = place.giveUp("nullable", "belongs to OpenAPI, so that nobody knows whether null is allowed")
    node.any.push((value, run) => value === null ? unknown(value, run) : Valid)
  }
}

const oneOfValues = (values: ReadonlyArray<unknown>, place: Place, keyword: string): Check<unknown> => {
  const plain = new Set<unknown>()
  const texts = new Set<string>()
  for (const value of values) {
    if (typeof value !== "object" || value === null) {
      plain.add(value)
      continue
    }
    const text = jsonText(value)
    if (text === undefined) return place.giveUp(keyword, "is nested too deeply")
    texts.add(text)
  }
  const problem = wordsFor(values)
  return (value, run) => {
    if (plain.has(value)) return Valid
    if (typeof value !== "object" || value === null || texts.size === 0) return run.fail(problem)
    const text = jsonText(value, run)
    if (text === undefined) return run.unknown("the value is too large to be compared")
    return texts.has(text) ? Valid : run.fail(problem)
  }
}

const wordsFor = (values: ReadonlyArray<unknown>): string => {
  const shown = values.slice(0, 8).map((value) => cut(jsonText(value) ?? "...", 40))
  const all = values.length > shown.length ? `${shown.join(", ")}, ...` : shown.join(", ")
  return values.length === 1 ? `must be ${all}` : `must be one of ${all}`
}
