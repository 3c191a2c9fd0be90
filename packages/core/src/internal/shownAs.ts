/**
 * How objects that applications hold are printed, by `console.log`, loggers and as JSON: as what they stand for. What is
 * inside of them has secrets.
 */
import { NodeInspectSymbol } from "effect/Inspectable"

/** The same object. What is shown of it is asked for each time, and must be synchronous and total. */
export const shownAs = <A extends object>(
  object: A,
  id: string,
  facts: () => { readonly [name: string]: unknown }
): A => {
  const value = () => ({ _id: id, ...facts() })
  return Object.defineProperties(object, { toJSON: { value }, [NodeInspectSymbol]: { value } })
}
