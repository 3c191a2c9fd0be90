/**
 * Which objects are as they were made here.
 *
 * Owns: that a copy of one is not taken for it, nor one that has got other functions since: whoever has replaced them wants them
 * to be asked.
 */

export interface AsMade<A extends object> {
  readonly add: (object: A) => void
  readonly has: (object: A) => boolean
}

/** What is looked at are these fields. */
export const of = <A extends object>(...fields: ReadonlyArray<keyof A>): AsMade<A> => {
  const made = new WeakMap<A, ReadonlyArray<unknown>>()
  return {
    add: (object) => void made.set(object, fields.map((_) => object[_])),
    has: (object) => made.get(object)?.every((value, i) => value === object[fields[i]!]) === true
  }
}
