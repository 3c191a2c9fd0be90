/**
 * How objects that applications hold are printed, by `console.log`, loggers and as JSON: as what they stand for. What is
 * inside of them has secrets.
 */
import { NodeInspectSymbol } from "effect/Inspectable"

/** The same object, which may be a prototype. What is shown is asked for each time, and must be synchronous and total. */
export const shownAs = <A extends object>(
  object: A,
  id: string,
  facts: (self: A) => { readonly [name: string]: unknown }
): A => {
  const value = function(this: A) {
    return { _id: id, ...facts(this) }
  }
  return Object.defineProperties(object, { toJSON: { value }, [NodeInspectSymbol]: { value } })
}
