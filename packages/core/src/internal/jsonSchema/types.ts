/**
 * The types of JSON values, as bits.
 */

const names = ["null", "boolean", "integer", "number", "string", "array", "object"]

const words = ["null", "true or false", "a whole number", "a number", "a string", "a list", "an object"]

const isNull = 1
const isBoolean = 2
const isInteger = 4
const isNumber = 8
const isString = 16
const isArray = 32
const isObject = 64

export const anyType = 128 + 127

/** The bit of a type's name. */
export const typeNamed = (name: unknown): number | undefined => {
  const index = names.indexOf(name as string)
  return index < 0 ? undefined : 1 << index
}

/** All that a value is: a whole number is also a number. Nothing for what JSON has no words for. */
export const typesOf = (value: unknown): number => {
  switch (typeof value) {
    case "string":
      return isString
    case "number":
      return Number.isInteger(value) ? isInteger | isNumber : Number.isFinite(value) ? isNumber : 0
    case "boolean":
      return isBoolean
    case "object":
      return value === null ? isNull : Array.isArray(value) ? isArray : isObject
    default:
      return 0
  }
}

export const wordsOf = (types: number): string => {
  const allowed = words.filter((_, index) => (types & (1 << index)) !== 0)
  return allowed.length === 0 ? "is not allowed" : `must be ${allowed.join(" or ")}`
}
