/**
 * `unevaluatedProperties` and `unevaluatedItems`: what is said of all that nothing else in a schema has looked at.
 */
import type { Place } from "../compiler.js"
import type { JsonRecord } from "../node.js"
import { Valid } from "../verdict.js"
import { unevaluatedItems } from "./arrays.js"
import { unevaluatedProperties } from "./objects.js"

export const addUnevaluated = (place: Place): void => {
  if (place.dialect < 2019) return
  const properties = place.child("unevaluatedProperties")
  const items = place.child("unevaluatedItems")
  if (properties === undefined && items === undefined) return
  const ofObject = properties === undefined ? undefined : unevaluatedProperties(properties)
  const ofList = items === undefined ? undefined : unevaluatedItems(items)
  place.node.last = (value, run) => {
    if (typeof value !== "object" || value === null) return Valid
    if (Array.isArray(value)) return ofList === undefined ? Valid : ofList(value, run)
    return ofObject === undefined ? Valid : ofObject(value as JsonRecord, run)
  }
}
