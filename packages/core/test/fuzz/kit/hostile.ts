/**
 * JSON values that nobody expects, and changes of values that know their structure.
 *
 * Everything is described by plain data, so that a counterexample can be shrunk and read: a value of 10,000 levels is
 * `{ deep: 10000 }` until it is made.
 */
import { FastCheck } from "effect"

/** A value, or how to make one that is too large to be written down. */
export type Hostile =
  | { readonly value: unknown }
  | { readonly deep: number; readonly of: "lists" | "objects" }
  | { readonly long: number }
  | { readonly wide: number }

export const made = (hostile: Hostile): unknown => {
  if ("value" in hostile) return cloned(hostile.value)
  if ("long" in hostile) return "x".repeat(hostile.long)
  if ("wide" in hostile) return Array.from({ length: hostile.wide }, (_, i) => i)
  let value: unknown = {}
  for (let i = 0; i < hostile.deep; i++) value = hostile.of === "lists" ? [value] : { a: value }
  return value
}

type Holder = Record<string, unknown> | Array<unknown>

/** A copy, however deep the value is. */
export const cloned = (value: unknown): unknown => {
  const root: Array<unknown> = [value]
  const pending: Array<Holder> = [root]
  for (const holder of pending) {
    for (const key of Object.keys(holder)) {
      const inner = get({ holder, key })
      if (typeof inner !== "object" || inner === null) continue
      const copy: Holder = Array.isArray(inner) ? [...inner] : objectOf(Object.entries(inner))
      set(holder, key, copy)
      pending.push(copy)
    }
  }
  return root[0]
}

/** Names that mean something to JavaScript or to the protocol. */
export const names = FastCheck.constantFrom(
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "then",
  "toJSON",
  "",
  "0",
  "length",
  "id",
  "method",
  "params",
  "result",
  "error",
  "jsonrpc",
  "_meta",
  "name",
  "type",
  "\u0000",
  "\ud800",
  "$ref",
  "é",
  "a b"
)

export const texts = FastCheck.oneof(
  names,
  FastCheck.string({ maxLength: 12 }),
  FastCheck.string({ unit: "binary", maxLength: 12 }),
  FastCheck.constantFrom(
    "\u0000",
    "\ud800",
    "a\udc00b",
    "\u202e\u2066",
    "\ufeff",
    "\r\n",
    "\u001b[31m",
    "https://user:pass@host/?token=x",
    "%",
    "%zz",
    "${HOME}",
    "../../etc/passwd",
    "a".repeat(300)
  )
)

const numbers = FastCheck.oneof(
  FastCheck.constantFrom(
    0,
    -0,
    -1,
    0.5,
    2 ** 31,
    2 ** 53,
    -(2 ** 63),
    1e308,
    5e-324,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY
  ),
  FastCheck.integer()
)

/** What throws, or lies, where it is taken for a text or a list without a look. */
const traps = FastCheck.constantFrom<Array<unknown>>(
  { toString: null },
  { toString: 1, valueOf: 1, toJSON: 1 },
  [{ toString: null }],
  { length: 3, 0: "a" },
  { length: -1 },
  { then: 1, constructor: null }
)

const leaf = FastCheck.oneof(
  FastCheck.constantFrom<Array<unknown>>(null, true, false),
  numbers,
  texts
)

/** An object whose fields may have any name: `__proto__` is a field like any other, as in what `JSON.parse` gives. */
export const objectOf = (fields: ReadonlyArray<readonly [string, unknown]>): Record<string, unknown> =>
  Object.fromEntries(fields)

/** Any JSON value, small. */
export const json: FastCheck.Arbitrary<unknown> = FastCheck.letrec<{ value: unknown }>((tie) => ({
  value: FastCheck.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    FastCheck.array(tie("value"), { maxLength: 4 }),
    FastCheck.array(FastCheck.tuple(FastCheck.oneof(names, FastCheck.string({ maxLength: 6 })), tie("value")), {
      maxLength: 4
    }).map(objectOf)
  )
})).value

export const hostile: FastCheck.Arbitrary<Hostile> = FastCheck.oneof(
  { arbitrary: json.map((value) => ({ value })), weight: 16 },
  { arbitrary: traps.map((value) => ({ value })), weight: 4 },
  {
    arbitrary: FastCheck.record({
      deep: FastCheck.constantFrom(10, 200, 254, 255, 256, 257, 300, 1000, 10_000),
      of: FastCheck.constantFrom("lists" as const, "objects" as const)
    }),
    weight: 2
  },
  { arbitrary: FastCheck.record({ long: FastCheck.constantFrom(65, 1000, 70_000) }), weight: 1 },
  { arbitrary: FastCheck.record({ wide: FastCheck.constantFrom(100, 3000) }), weight: 1 }
)

/** One change, at a place that is counted through the value. */
export type Edit =
  | { readonly at: number; readonly by: "drop" }
  /** A field, or an item, once more; a field under another name. */
  | { readonly at: number; readonly by: "repeat"; readonly name: string }
  | { readonly at: number; readonly by: "swap"; readonly with: number }
  | { readonly at: number; readonly by: "replace"; readonly value: Hostile }
  | { readonly at: number; readonly by: "rename"; readonly name: string }
  | { readonly at: number; readonly by: "add"; readonly name: string; readonly value: Hostile }
  /** The same in another type: a number as text, a text as list, a list as object. */
  | { readonly at: number; readonly by: "retype" }
  | { readonly at: number; readonly by: "wrap"; readonly levels: number }

const at = FastCheck.nat({ max: 100_000 })

const edit: FastCheck.Arbitrary<Edit> = FastCheck.oneof(
  FastCheck.record({ at, by: FastCheck.constant("drop" as const) }),
  FastCheck.record({ at, by: FastCheck.constant("repeat" as const), name: names }),
  FastCheck.record({ at, by: FastCheck.constant("swap" as const), with: at }),
  FastCheck.record({ at, by: FastCheck.constant("replace" as const), value: hostile }),
  FastCheck.record({ at, by: FastCheck.constant("rename" as const), name: names }),
  FastCheck.record({ at, by: FastCheck.constant("add" as const), name: names, value: hostile }),
  FastCheck.record({ at, by: FastCheck.constant("retype" as const) }),
  FastCheck.record({ at, by: FastCheck.constant("wrap" as const), levels: FastCheck.integer({ min: 1, max: 300 }) })
)

export const edits = (maxLength = 4): FastCheck.Arbitrary<ReadonlyArray<Edit>> => FastCheck.array(edit, { maxLength })

interface Place {
  readonly holder: Holder
  readonly key: string
}

/** The value with these changes. What is given stays as it is. */
export const edited = (value: unknown, changes: ReadonlyArray<Edit>): unknown => {
  const root = { value: cloned(value) }
  for (const change of changes) apply(placesOf(root), change)
  return root.value
}

const mostPlaces = 5000

/** All places in a value, the outermost first; not those of what is very deep. */
const placesOf = (root: Record<string, unknown>): ReadonlyArray<Place> => {
  const places: Array<Place> = []
  const pending: Array<Holder> = [root]
  for (const holder of pending) {
    for (const key of Object.keys(holder)) {
      if (places.length >= mostPlaces) return places
      places.push({ holder, key })
      const inner = get({ holder, key })
      if (typeof inner === "object" && inner !== null) pending.push(inner as Holder)
    }
  }
  return places
}

const get = ({ holder, key }: Place): unknown => Object.getOwnPropertyDescriptor(holder, key)?.value

const set = (holder: Holder, key: string, value: unknown): void => {
  Object.defineProperty(holder, key, { value, configurable: true, enumerable: true, writable: true })
}

const remove = ({ holder, key }: Place): void => {
  if (Array.isArray(holder)) holder.splice(Number(key), 1)
  else delete holder[key]
}

const apply = (places: ReadonlyArray<Place>, change: Edit): void => {
  const place = places[change.at % Math.max(places.length, 1)]
  if (place === undefined) return
  const { holder, key } = place
  const value = get(place)
  switch (change.by) {
    case "drop":
      return remove(place)
    case "repeat":
      return void (Array.isArray(holder)
        ? holder.splice(Number(key), 0, cloned(value))
        : set(holder, change.name, cloned(value)))
    case "swap": {
      const other = places[change.with % places.length]!
      const [one, two] = [cloned(value), cloned(get(other))]
      set(holder, key, two)
      return set(other.holder, other.key, one)
    }
    case "replace":
      return set(holder, key, made(change.value))
    case "rename":
      if (Array.isArray(holder)) return
      remove(place)
      return set(holder, change.name, value)
    case "add": {
      const inner = typeof value === "object" && value !== null ? value as Holder : holder
      return void (Array.isArray(inner)
        ? inner.push(made(change.value))
        : set(inner, change.name, made(change.value)))
    }
    case "retype":
      return set(holder, key, retyped(value))
    case "wrap": {
      let wrapped = value
      for (let i = 0; i < change.levels; i++) wrapped = i % 2 === 0 ? [wrapped] : { value: wrapped }
      return set(holder, key, wrapped)
    }
  }
}

const retyped = (value: unknown): unknown => {
  switch (typeof value) {
    case "number":
      return String(value)
    case "string":
      return value !== "" && Number.isFinite(Number(value)) ? Number(value) : [value]
    case "boolean":
      return value ? 1 : "false"
    default:
      return value === null || value === undefined
        ? {}
        : Array.isArray(value)
        ? { ...value }
        : Object.values(value as object)
  }
}
