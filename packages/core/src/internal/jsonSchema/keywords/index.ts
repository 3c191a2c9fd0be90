/**
 * All keywords of a schema.
 *
 * Owns: which of them apply, and in which order they are checked.
 */
import type { Place } from "../compiler.js"
import { addArrays } from "./arrays.js"
import { addLogic } from "./logic.js"
import { addNumbers } from "./numbers.js"
import { addObjects } from "./objects.js"
import { addReferences } from "./references.js"
import { addStrings } from "./strings.js"
import { addUnevaluated } from "./unevaluated.js"
import { addValues } from "./values.js"

export const addKeywords = (place: Place): void => {
  // Before 2019, what stands beside a reference means nothing.
  if (place.dialect < 2019 && typeof place.schema.$ref === "string") return addReferences(place)
  addValues(place)
  addNumbers(place)
  addStrings(place)
  addArrays(place)
  addObjects(place)
  addReferences(place)
  addLogic(place)
  addUnevaluated(place)
}
