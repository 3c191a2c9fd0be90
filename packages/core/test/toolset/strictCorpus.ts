/**
 * Schemas as servers send them, and worse ones; with what is to become of each.
 */
import type { JsonObject } from "@mcp-runtime/core/McpProtocol"

export interface Case {
  readonly name: string
  readonly schema: JsonObject
  /** `true`: converted. Otherwise part of the reason why not. */
  readonly require: true | string
  readonly nullable: true | string
  /** Values to try besides the generated ones. */
  readonly values?: ReadonlyArray<unknown>
  /** How many schemas inside each other values are made of. */
  readonly depth?: number
}

const json = (text: string): JsonObject => JSON.parse(text) as JsonObject

/** Of arguments with one required property. */
const one = (schema: unknown, rest: JsonObject = {}): JsonObject => ({
  type: "object",
  properties: { a: schema },
  required: ["a"],
  ...rest
})

const yes = (name: string, schema: JsonObject, values: ReadonlyArray<unknown> = []): Case => ({
  name,
  schema,
  require: true,
  nullable: true,
  values
})

const no = (name: string, schema: JsonObject, reason: string, values: ReadonlyArray<unknown> = []): Case => ({
  name,
  schema,
  require: reason,
  nullable: reason,
  values
})

const nested = (levels: number): JsonObject => levels === 0 ? { type: "string" } : one(nested(levels - 1))

const lists = (levels: number): JsonObject =>
  levels === 0 ? { type: "string" } : { type: "array", items: lists(levels - 1) }

const many = (count: number, schema: (index: number) => unknown): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, schema(i)]))

const required = (properties: JsonObject): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties)
})

const person = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name"]
}

/** Each level has two references to the next: twice as many values of the schema at each. */
const fanOut = (levels: number): JsonObject => ({
  ...one({ allOf: [{ $ref: "#/$defs/d0" }, { $ref: "#/$defs/d0" }] }),
  $defs: Object.fromEntries(
    Array.from({ length: levels }, (_, i) => [
      `d${i}`,
      i === levels - 1
        ? { type: "string" }
        : { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] }
    ])
  )
})

const cat = {
  type: "object",
  properties: { kind: { const: "cat" }, lives: { type: "integer" } },
  required: ["kind", "lives"]
}
const dog = {
  type: "object",
  properties: { kind: { const: "dog" }, name: { type: "string" } },
  required: ["kind", "name"]
}

export const corpus: ReadonlyArray<Case> = [
  // Objects
  yes("all required", required({ a: { type: "string" }, b: { type: "number" }, c: { type: "boolean" } })),
  yes("one optional", {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "integer" } },
    required: ["a"]
  }),
  yes("all optional", {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "array", items: { type: "string" } } }
  }),
  yes("closed already", required({ a: { type: "string" } })),
  yes("no properties, closed", { type: "object", properties: {}, additionalProperties: false }, [{}]),
  yes("no properties keyword, closed", { type: "object", additionalProperties: false }, [{}]),
  no("no properties, open", { type: "object", properties: {} }, "accepts any", [{}, { a: 1 }]),
  no("no properties keyword, open", { type: "object" }, "accepts any", [{}, { a: 1 }]),
  no("empty schema", {}, "does not say of which type", [{}, { a: 1 }]),
  yes("properties without a type", { properties: { a: { type: "string" } } }),
  yes("nested objects", one(one(one({ type: "string" })))),
  yes("nested optional objects", {
    type: "object",
    properties: { a: person, b: { type: "object", properties: { c: person } } }
  }),
  no("a nested open object", one({ type: "object" }), "accepts any"),
  no("an open object in a list", one({ type: "array", items: { type: "object", properties: {} } }), "accepts any"),
  no("additionalProperties true", one({ type: "string" }, { additionalProperties: true }), "does not declare"),
  no("additionalProperties {}", one({ type: "string" }, { additionalProperties: {} }), "does not declare"),
  no("a map", one({ type: "object", additionalProperties: { type: "string" } }), "does not declare"),
  no(
    "patternProperties",
    one({ type: "object", patternProperties: { "^x": { type: "string" } } }),
    "patternProperties"
  ),
  yes("empty patternProperties", one({ type: "string" }, { patternProperties: {} })),
  no("propertyNames", one({ type: "string" }, { propertyNames: { pattern: "^a" } }), "propertyNames"),
  no("minProperties", { type: "object", properties: { a: { type: "string" } }, minProperties: 1 }, "minProperties"),
  no("dependentRequired", {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "string" } },
    dependentRequired: { a: ["b"] }
  }, "dependentRequired"),
  no("dependencies of draft-07", {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { a: { type: "string" }, b: { type: "string" } },
    dependencies: { a: ["b"] }
  }, "dependencies"),
  no(
    "required but not described",
    { type: "object", properties: { a: { type: "string" } }, required: ["a", "b"] },
    "not described"
  ),
  yes("unevaluatedProperties false", one({ type: "string" }, { unevaluatedProperties: false })),
  yes("required more than once", {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    allOf: [{ required: ["a"] }]
  }),
  no("a property that may be anything", one({}), "of which type"),
  no("a described property that may be anything", one({ description: "anything" }), "of which type"),
  no("a property that is true", one(true), "of which type"),
  no(
    "a property that is false",
    { type: "object", properties: { a: false, b: { type: "string" } } },
    "accepts no value"
  ),
  // The root
  no("root is a string", { type: "string" }, "not always an object"),
  no("root is a list", { type: "array", items: { type: "string" } }, "not always an object"),
  no("root is nullable", { type: ["object", "null"], properties: { a: { type: "string" } } }, "not always an object"),
  yes("root with a list of one type", { type: ["object"], properties: { a: { type: "string" } } }),
  no("root anyOf", { anyOf: [person, cat] }, "union"),
  no("root oneOf beside properties", { ...person, oneOf: [{ required: ["name"] }, { required: ["age"] }] }, "union"),
  yes("root allOf", { type: "object", allOf: [person, { properties: { email: { type: "string" } } }] }),
  yes("root is a reference", {
    $ref: "#/definitions/Person",
    definitions: { Person: person },
    $schema: "http://json-schema.org/draft-07/schema#"
  }),
  yes("root is a reference to something recursive", {
    $ref: "#/$defs/Node",
    $defs: {
      Node: {
        type: "object",
        properties: { v: { type: "string" }, kids: { type: "array", items: { $ref: "#/$defs/Node" } } },
        required: ["v", "kids"]
      }
    }
  }),
  yes("root without a type, with a reference beside words", {
    $ref: "#/$defs/P",
    description: "words",
    $defs: { P: person }
  }),
  no("root const", { const: { a: 1 } }, "objects or lists"),
  // Scalars
  yes(
    "all bounds",
    required({
      a: { type: "string", minLength: 1, maxLength: 5, pattern: "^[a-z]+$" },
      b: { type: "integer", minimum: 0, maximum: 10 },
      c: { type: "number", exclusiveMinimum: -1, exclusiveMaximum: 100, multipleOf: 0.5 },
      d: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2 }
    })
  ),
  yes("optional bounds", {
    type: "object",
    properties: {
      a: { type: "string", minLength: 1 },
      b: { type: "integer", minimum: 0, maximum: 10, default: 5 }
    }
  }),
  yes("formats", required({ a: { type: "string", format: "uuid" }, b: { type: "string", format: "uri" } })),
  no("a pattern that looks ahead", one({ type: "string", pattern: "^(?!a)b$" }), "looks ahead"),
  yes("a type list", one({ type: ["string", "number", "null"] })),
  no("an unknown type", one({ type: "text" }), "malformed \"type\""),
  no("no type at all", one({ minLength: 3 }), "of which type"),
  yes("enum", { type: "object", properties: { a: { type: "string", enum: ["a", "b"] }, b: { enum: [1, 2.5, "a"] } } }),
  yes("enum with null", one({ enum: ["a", null] })),
  yes("enum wider than its type", one({ type: "string", enum: ["a", 1, null] })),
  no("enum outside of its type", one({ type: "number", enum: ["a"] }), "of another type"),
  no("enum of objects", one({ enum: [{ a: 1 }, "a"] }), "objects or lists"),
  no("empty enum", one({ enum: [] }), "malformed \"enum\""),
  yes(
    "const",
    required({ a: { const: "a" }, b: { const: 1 }, c: { const: null }, d: { type: "boolean", const: true } })
  ),
  yes("optional const", { type: "object", properties: { a: { const: "a" }, b: { type: "number", const: 1 } } }),
  yes("true is not 1", required({ a: { enum: [true, "1"] }, b: { enum: [1, 0] } }), [{ a: 1, b: 1 }, {
    a: true,
    b: true
  }]),
  no(
    "a huge enum",
    one({ type: "string", enum: Array.from({ length: 5000 }, (_, i) => `v${i}`) }),
    "1000 listed values"
  ),
  no(
    "a long enum of long texts",
    one({ enum: Array.from({ length: 300 }, (_, i) => `${"x".repeat(60)}${i}`) }),
    "15000 characters"
  ),
  // Null and defaults
  yes("nullable and required", one({ type: ["string", "null"] })),
  {
    name: "nullable and optional: null could mean either",
    schema: { type: "object", properties: { a: { type: ["string", "null"] } } },
    require: true,
    nullable: "null could mean either"
  },
  {
    name: "nullable through a reference and optional",
    schema: {
      type: "object",
      properties: { a: { $ref: "#/$defs/N" } },
      $defs: { N: { anyOf: [{ type: "null" }, { type: "string" }] } }
    },
    require: true,
    nullable: "null could mean either"
  },
  yes("as pydantic says optional", {
    type: "object",
    properties: { a: { anyOf: [{ type: "string" }, { type: "null" }], default: null, title: "A" } }
  }),
  yes("null as default of what cannot be null", {
    type: "object",
    properties: { a: { type: "string", default: null } }
  }),
  yes("defaults", {
    type: "object",
    properties: { a: { type: "string", default: "x" }, b: { type: "array", items: { type: "string" }, default: [] } }
  }),
  yes("nullable as OpenAPI has it", one({ type: "string", nullable: true })),
  // Lists
  yes("lists of objects", one({ type: "array", items: person })),
  yes("lists of lists", one(lists(3))),
  no("a list of anything", one({ type: "array" }), "what its items are"),
  no("items {}", one({ type: "array", items: {} }), "of which type"),
  no("items true", one({ type: "array", items: true }), "of which type"),
  no("a tuple", one({ type: "array", prefixItems: [{ type: "string" }], items: false }), "prefixItems"),
  no("a tuple of draft-07", {
    ...one({ type: "array", items: [{ type: "string" }, { type: "number" }] }),
    $schema: "http://json-schema.org/draft-07/schema#"
  }, "one by one"),
  no("uniqueItems", one({ type: "array", items: { type: "string" }, uniqueItems: true }), "uniqueItems"),
  yes("uniqueItems false", one({ type: "array", items: { type: "string" }, uniqueItems: false })),
  no("contains", one({ type: "array", items: { type: "string" }, contains: { const: "a" } }), "contains"),
  // Unions
  yes("anyOf of scalars", one({ anyOf: [{ type: "string" }, { type: "number", minimum: 3 }] })),
  yes("anyOf of objects", one({ anyOf: [person, cat] })),
  yes("anyOf with words", {
    type: "object",
    properties: { a: { description: "either", default: 1, anyOf: [{ type: "string" }, { type: "number" }] } }
  }),
  yes(
    "anyOf beside a base",
    one({
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
      anyOf: [{ required: ["a", "b"] }, { properties: { c: { type: "integer" } }, required: ["c"] }]
    })
  ),
  {
    name: "anyOf of required names",
    schema: one({ ...person, anyOf: [{ required: ["name"] }, { required: ["age"] }] }),
    require: true,
    nullable: "told apart"
  },
  yes(
    "nested anyOf",
    one({ anyOf: [{ anyOf: [{ type: "string" }, { type: "null" }] }, { type: "array", items: { type: "string" } }] })
  ),
  no("two unions in one place", one({ anyOf: [{ type: "string" }], oneOf: [{ type: "string" }] }), "several"),
  no("empty anyOf", one({ anyOf: [] }), "malformed \"anyOf\""),
  no("anyOf with anything", one({ anyOf: [{ type: "string" }, {}] }), "of which type"),
  yes("oneOf by a discriminator", one({ oneOf: [cat, dog] })),
  yes(
    "oneOf by a discriminator, optional rest",
    one({
      oneOf: [
        { type: "object", properties: { kind: { const: "a" }, x: { type: "string" } }, required: ["kind"] },
        { type: "object", properties: { kind: { enum: ["b", "c"] }, x: { type: "string" } }, required: ["kind"] }
      ]
    }),
    [{ a: { kind: "a", x: null } }, { a: { kind: "c", x: "cat" } }]
  ),
  yes(
    "oneOf by types",
    one({
      oneOf: [{ type: "string" }, { type: "integer" }, { type: "null" }, { type: "array", items: { type: "string" } }]
    })
  ),
  yes("oneOf by listed values", one({ oneOf: [{ const: "a", title: "A" }, { const: "b", title: "B" }] })),
  yes("oneOf through references", {
    ...one({ oneOf: [{ $ref: "#/$defs/cat" }, { $ref: "#/$defs/dog" }], discriminator: { propertyName: "kind" } }),
    $defs: { cat, dog }
  }),
  yes(
    "oneOf by a required name",
    one({
      oneOf: [
        { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
        { type: "object", properties: { b: { type: "string" } }, required: ["b"] }
      ]
    }),
    [{ a: { a: "x", b: "y" } }]
  ),
  no("oneOf that overlaps", one({ oneOf: [{ type: "integer" }, { type: "number" }] }), "may accept the same value", [{
    a: 1
  }, { a: 1.5 }]),
  no(
    "oneOf by patterns",
    one({ oneOf: [{ type: "string", pattern: "^a" }, { type: "string", pattern: "^b" }] }),
    "may accept the same value"
  ),
  no(
    "oneOf of open objects",
    one({ oneOf: [person, { type: "object", properties: { name: { type: "string" } }, required: ["name"] }] }),
    "may accept the same value"
  ),
  no(
    "oneOf with an implied object",
    one({ oneOf: [{ type: "string" }, { properties: { a: { type: "string" } } }] }),
    "may accept the same value"
  ),
  {
    name: "oneOf by a discriminator that may be absent",
    schema: one({
      oneOf: [
        { type: "object", properties: { kind: { const: "a" } } },
        { type: "object", properties: { kind: { const: "b" } } }
      ]
    }),
    require: true,
    nullable: "may accept the same value"
  },
  {
    name: "a union of lists with optional properties",
    schema: one({ anyOf: [{ type: "array", items: person }, { type: "array", items: { type: "string" } }] }),
    require: true,
    nullable: "told apart"
  },
  {
    name: "a union in which null is filled in or real",
    schema: one({
      anyOf: [
        {
          type: "object",
          properties: { x: { type: "string", pattern: "^a" }, y: { type: ["string", "null"] } },
          required: ["x", "y"]
        },
        { type: "object", properties: { x: { type: "string", pattern: "^b" }, y: { type: "string" } }, required: ["x"] }
      ]
    }),
    require: true,
    nullable: "told apart"
  },
  yes(
    "null filled in in one branch, real in the other",
    one({
      anyOf: [
        { type: "object", properties: { k: { const: 1 }, y: { type: ["string", "null"] } }, required: ["k", "y"] },
        { type: "object", properties: { k: { const: 2 }, y: { type: "string" } }, required: ["k"] }
      ]
    }),
    [{ a: { k: 1, y: null } }, { a: { k: 2, y: null } }]
  ),
  no(
    "oneOf of a closed object and a wider one",
    one({
      oneOf: [{ ...required({ n: { type: "string" } }), additionalProperties: false }, {
        type: "object",
        properties: { n: { type: "string" }, m: { type: "string" } },
        required: ["n"]
      }]
    }),
    "may accept the same value",
    [{ a: { n: "" } }]
  ),
  no(
    "oneOf of an open object and a stricter one",
    one({ oneOf: [required({ n: { type: "string" } }), required({ n: { type: "string" }, m: { type: "string" } })] }),
    "may accept the same value",
    [{ a: { n: "", m: "" } }]
  ),
  yes(
    "oneOf of two closed objects",
    one({
      oneOf: [
        { ...required({ n: { type: "string" } }), additionalProperties: false },
        { ...required({ n: { type: "string" }, m: { type: "string" } }), additionalProperties: false }
      ]
    })
  ),
  yes("lists that cannot be told apart, with nothing filled in", {
    type: "object",
    properties: {
      a: { anyOf: [{ type: "array", items: { type: "string" } }, { type: "array", items: { type: "number" } }] },
      b: { type: "string" }
    },
    required: ["a"]
  }),
  yes("a described optional object with optional properties", {
    type: "object",
    properties: { a: { ...person, description: "a person", title: "Person" } }
  }),
  // allOf
  yes("allOf of one", one({ allOf: [{ type: "string", minLength: 1 }], description: "words", default: "x" })),
  yes("allOf of a reference", {
    ...one({ allOf: [{ $ref: "#/$defs/P" }], description: "words" }),
    $defs: { P: person }
  }),
  yes("allOf that inherits", {
    ...one({
      allOf: [{ $ref: "#/$defs/P" }, { type: "object", properties: { email: { type: "string" } }, required: ["email"] }]
    }),
    $defs: { P: person }
  }),
  yes(
    "allOf of bounds",
    one({ allOf: [{ type: "number", minimum: 0, maximum: 10 }, { minimum: 3, type: "integer" }, { maximum: 5 }] })
  ),
  yes(
    "allOf of a property",
    one({
      type: "object",
      properties: { x: { type: "number" } },
      allOf: [{ properties: { x: { minimum: 2 } }, required: ["x"] }]
    })
  ),
  yes("allOf of lists", one({ allOf: [{ enum: ["a", "b"] }, { enum: ["b", "c"] }] })),
  yes("allOf of items", one({ type: "array", items: { type: "integer" }, allOf: [{ items: { minimum: 2 } }] })),
  no(
    "allOf of types that exclude each other",
    one({ allOf: [{ type: "string" }, { type: "number" }] }),
    "types exclude"
  ),
  no("allOf of values that exclude each other", one({ allOf: [{ const: "a" }, { const: "b" }] }), "exclude each other"),
  no(
    "allOf of patterns",
    one({ type: "string", allOf: [{ pattern: "a" }, { pattern: "b" }] }),
    "different \"pattern\""
  ),
  no(
    "allOf that closes the other",
    one({
      allOf: [person, { type: "object", properties: { email: { type: "string" } }, additionalProperties: false }]
    }),
    "forbids"
  ),
  yes(
    "allOf closed from outside",
    one({ allOf: [person, { properties: { email: { type: "string" } } }], unevaluatedProperties: false })
  ),
  yes(
    "allOf with a union in it",
    one({ allOf: [{ anyOf: [{ type: "string" }, { type: "number" }] }, { type: ["string", "null", "number"] }] })
  ),
  no(
    "allOf with two unions in it",
    one({ allOf: [{ anyOf: [{ type: "string" }] }, { anyOf: [{ type: "string" }] }] }),
    "several"
  ),
  no("allOf with false", one({ type: "string", allOf: [false] }), "accepts no value"),
  no(
    "allOf closed from inside",
    one({ allOf: [{ ...person, unevaluatedProperties: false }, { properties: { email: { type: "string" } } }] }),
    "unevaluatedProperties",
    [{ a: { name: "", age: 1, email: "" } }]
  ),
  // No keywords yet.
  no(
    "unevaluatedProperties of draft-07 close nothing",
    one({ type: "object", unevaluatedProperties: false }, { $schema: "http://json-schema.org/draft-07/schema#" }),
    "declares no properties and accepts any",
    [{ a: { b: 1 } }]
  ),
  yes(
    "unevaluatedProperties of draft-07, from inside",
    one(
      { allOf: [{ ...person, unevaluatedProperties: false }, { properties: { email: { type: "string" } } }] },
      { $schema: "http://json-schema.org/draft-07/schema#" }
    ),
    [{ a: { name: "", age: 1, email: "" } }]
  ),
  yes(
    "unevaluatedItems of draft-07",
    one(
      { type: "array", items: { type: "string" }, unevaluatedItems: false },
      { $schema: "http://json-schema.org/draft-07/schema#" }
    )
  ),
  no(
    "a base for a branch that is closed",
    one({ ...person, anyOf: [{ properties: { email: { type: "string" } }, unevaluatedProperties: false }] }),
    "unevaluatedProperties",
    [{ a: { name: "", age: 1, email: "" } }]
  ),
  no(
    "a closed base for branches that are open themselves",
    one({
      type: "object",
      properties: { a: { type: "string" } },
      unevaluatedProperties: false,
      oneOf: [{ properties: { a: { type: "string" } } }, { properties: { c: { type: "string" } }, required: ["c"] }]
    }),
    "may accept the same value",
    [{ a: { a: "", c: "" } }]
  ),
  yes(
    "a closed base for branches",
    one({
      type: "object",
      properties: { k: { enum: [1, 2] } },
      required: ["k"],
      unevaluatedProperties: false,
      oneOf: [
        { properties: { k: { const: 1 }, a: { type: "string" } }, required: ["a"] },
        { properties: { k: { const: 2 }, b: { type: "string" } }, required: ["b"] }
      ]
    })
  ),
  // Conditions
  no("if, then", {
    type: "object",
    properties: { a: { type: "string" } },
    if: { required: ["a"] },
    then: { properties: { a: { minLength: 2 } } }
  }, "\"if\""),
  no("not", one({ type: "string", not: { const: "a" } }), "\"not\""),
  no("not, inside allOf", one({ type: "string", allOf: [{ not: { const: "a" } }] }), "\"not\""),
  // References
  yes("a reference", { ...one({ $ref: "#/$defs/P" }), $defs: { P: person } }),
  yes("an optional reference", { type: "object", properties: { a: { $ref: "#/$defs/P" } }, $defs: { P: person } }),
  yes("a reference with words beside it", {
    type: "object",
    properties: {
      a: { $ref: "#/$defs/P", description: "one", title: "T" },
      b: { $ref: "#/$defs/P", description: "other" }
    },
    $defs: { P: person }
  }),
  yes("a reference with bounds beside it", {
    ...one({ $ref: "#/$defs/S", minLength: 2 }),
    $defs: { S: { type: "string", maxLength: 5 } }
  }),
  no("a reference with bounds beside it, draft-07", {
    ...one({ $ref: "#/definitions/S", minLength: 2 }),
    definitions: { S: { type: "string" } },
    $schema: "http://json-schema.org/draft-07/schema#"
  }, "its dialect ignores"),
  {
    ...yes("a chain of references", {
      ...one({ $ref: "#/$defs/A" }),
      $defs: { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/C" }, C: person }
    }),
    depth: 8
  },
  no("a circle of references", {
    ...one({ $ref: "#/$defs/A" }),
    $defs: { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/A" } }
  }, "refers to itself"),
  no("a circle through allOf", {
    ...one({ $ref: "#/$defs/A" }),
    $defs: { A: { type: "string", allOf: [{ $ref: "#/$defs/A" }] } }
  }, "refers to itself"),
  no("a circle through anyOf", {
    ...one({ $ref: "#/$defs/A" }),
    $defs: { A: { anyOf: [{ type: "string" }, { $ref: "#/$defs/A" }] } }
  }, "refers to itself"),
  yes("a reference into properties", {
    type: "object",
    properties: { a: person, b: { $ref: "#/properties/a/properties/name" } },
    required: ["a", "b"]
  }),
  yes("a reference with escapes", { ...one({ $ref: "#/$defs/a~1b%20c~0" }), $defs: { "a/b c~": { type: "string" } } }),
  yes("a reference into a list", {
    type: "object",
    properties: { a: { anyOf: [{ type: "string" }, { type: "number" }] }, b: { $ref: "#/properties/a/anyOf/1" } },
    required: ["a", "b"]
  }),
  yes("definitions nobody uses may be anything", {
    ...one({ type: "string" }),
    $defs: { x: { not: {} }, y: { type: "object" } }
  }),
  yes("definitions with the same last word", {
    type: "object",
    properties: { a: { $ref: "#/$defs/x/$defs/T" }, b: { $ref: "#/$defs/T" } },
    required: ["a", "b"],
    $defs: { T: { type: "string" }, x: { $defs: { T: { type: "number" } } } }
  }),
  no("a reference to nothing", one({ $ref: "#/$defs/P" }), "refers to nothing"),
  no("a reference to what every object has", one({ $ref: "#/constructor" }), "refers to nothing"),
  no("a malformed reference", one({ $ref: "#/%E0%A4%A" }), "escapes"),
  no("a remote reference", one({ $ref: "https://example.com/schema.json" }), "the same schema"),
  no("a reference by anchor", { ...one({ $ref: "#p" }), $defs: { P: { ...person, $anchor: "p" } } }, "the same schema"),
  no("a reference from inside a nested $id", {
    ...one({
      $id: "https://example.com/x",
      type: "object",
      properties: { b: { $ref: "#/$defs/S" } },
      $defs: { S: { type: "string" } }
    }),
    $defs: { S: { type: "number" } }
  }, "inside a nested"),
  no("a reference across a nested $id", {
    ...one({ $ref: "#/$defs/X/properties/b" }),
    $defs: { X: { $id: "https://example.com/y", type: "object", properties: { b: { type: "string" } } } }
  }, "across a nested"),
  no("a reference from inside what draft 4 calls id", {
    $schema: "http://json-schema.org/draft-04/schema#",
    ...one({
      id: "https://example.com/x",
      type: "object",
      properties: { b: { $ref: "#/definitions/S" } },
      required: ["b"],
      definitions: { S: { type: "string" } }
    }),
    definitions: { S: { type: "number" } }
  }, "inside a nested \"id\""),
  no("a reference across what draft 4 calls id", {
    $schema: "http://json-schema.org/draft-04/schema#",
    ...one({ $ref: "#/definitions/X/properties/b" }),
    definitions: { X: { id: "https://example.com/y", type: "object", properties: { b: { type: "string" } } } }
  }, "across a nested \"id\""),
  yes("an $id at the root", {
    ...one({ $ref: "#/$defs/S" }),
    $defs: { S: { type: "string" } },
    $id: "https://example.com/root"
  }),
  no("a dynamic reference", one({ $dynamicRef: "#x" }), "$dynamicRef"),
  // Recursion
  yes("a tree", {
    ...one({ $ref: "#/$defs/N" }),
    $defs: {
      N: {
        type: "object",
        properties: { v: { type: "string" }, kids: { type: "array", items: { $ref: "#/$defs/N" } } },
        required: ["v"]
      }
    }
  }),
  yes("a tree of the root", {
    type: "object",
    properties: { v: { type: "string" }, kids: { type: "array", items: { $ref: "#" } } },
    required: ["v", "kids"]
  }),
  {
    name: "a chain whose end was to be absent",
    schema: { type: "object", properties: { v: { type: "string" }, next: { $ref: "#" } }, required: ["v"] },
    require: "would ever end",
    nullable: true
  },
  yes("a chain that ends with null", {
    type: "object",
    properties: { v: { type: "string" }, next: { anyOf: [{ $ref: "#" }, { type: "null" }] } },
    required: ["v", "next"]
  }),
  {
    name: "two that need each other",
    schema: {
      ...one({ $ref: "#/$defs/A" }),
      $defs: {
        A: { type: "object", properties: { b: { $ref: "#/$defs/B" } } },
        B: { type: "object", properties: { a: { $ref: "#/$defs/A" } } }
      }
    },
    require: "would ever end",
    nullable: true
  },
  yes("a described recursion", {
    ...one({ $ref: "#/$defs/N" }),
    $defs: {
      N: {
        type: "object",
        properties: {
          kids: { type: "array", description: "words", items: { $ref: "#/$defs/N", description: "a kid" } }
        },
        required: ["kids"]
      }
    }
  }),
  no("a list that needs itself", {
    ...one({ $ref: "#/$defs/L" }),
    $defs: { L: { type: "array", items: { $ref: "#/$defs/L" }, minItems: 1 } }
  }, "would ever end"),
  yes("an expression", {
    ...one({ $ref: "#/$defs/E" }),
    $defs: {
      E: {
        anyOf: [{ type: "number" }, {
          type: "object",
          properties: { op: { enum: ["+", "-"] }, l: { $ref: "#/$defs/E" }, r: { $ref: "#/$defs/E" } },
          required: ["op", "l", "r"]
        }]
      }
    }
  }),
  // Hostile
  { ...yes("10 levels", nested(10)), depth: 12 },
  no("11 levels", nested(11), "more than 10 objects inside each other"),
  no("150 levels", nested(150), "nested too deeply"),
  no("150 levels of lists", one(lists(150)), "nested too deeply"),
  no("6000 properties", required(many(6000, () => ({ type: "string" }))), "more than 5000 properties"),
  no("60000 properties", required(many(60_000, () => ({ type: "string" }))), "too large"),
  no("references that fan out", fanOut(40), "too large"),
  no("a long chain of references that say something", {
    ...one({ $ref: "#/$defs/d0" }),
    $defs: Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [`d${i}`, { type: "string", $ref: `#/$defs/d${i + 1}` }])
    )
  }, "too many schemas"),
  no("a wide oneOf", one({ oneOf: Array.from({ length: 900 }, (_, i) => ({ const: i })) }), "too large"),
  yes(
    "names that objects have",
    json(
      `{"type":"object","properties":{"constructor":{"type":"string"},"toString":{"type":"number"},"hasOwnProperty":{"type":"boolean"}},"required":["constructor"]}`
    )
  ),
  no("required names that objects have", {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["toString"]
  }, "not described"),
  yes(
    "keywords as names",
    required({
      type: { type: "string" },
      $ref: { type: "string" },
      properties: { type: "string" },
      enum: { type: "number" },
      $id: { type: "string" }
    })
  ),
  yes("keywords nobody knows", one({ type: "string", "x-widget": "area", $foo: 1 }, { "x-order": ["a"], __proto: 1 })),
  no("malformed properties", { type: "object", properties: ["a"] }, "malformed \"properties\""),
  no(
    "malformed required",
    { type: "object", properties: { a: { type: "string" } }, required: "a" },
    "malformed \"required\""
  ),
  no("a property that is no schema", one("string"), "is not a schema"),
  no(
    "exclusiveMinimum of draft-04",
    one({ type: "number", minimum: 1, exclusiveMinimum: true }),
    "malformed \"exclusiveMinimum\""
  ),
  // As published servers have them
  yes("filesystem: edit_file", {
    type: "object",
    properties: {
      path: { type: "string" },
      edits: {
        type: "array",
        items: {
          type: "object",
          properties: { oldText: { type: "string", description: "Text to search for" }, newText: { type: "string" } },
          required: ["oldText", "newText"],
          additionalProperties: false
        }
      },
      dryRun: { type: "boolean", default: false, description: "Preview changes" }
    },
    required: ["path", "edits"],
    additionalProperties: false,
    $schema: "http://json-schema.org/draft-07/schema#"
  }),
  yes("filesystem: read_text_file", {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { path: { type: "string" }, tail: { type: "number" }, head: { type: "number" } },
    required: ["path"]
  }),
  yes("memory: create_entities", {
    type: "object",
    properties: {
      entities: {
        type: "array",
        items: required({
          name: { type: "string" },
          entityType: { type: "string" },
          observations: { type: "array", items: { type: "string" } }
        })
      }
    },
    required: ["entities"],
    $schema: "http://json-schema.org/draft-07/schema#"
  }),
  yes("everything: annotated message", {
    type: "object",
    properties: {
      messageType: { type: "string", enum: ["error", "success", "debug"] },
      includeImage: { type: "boolean", default: false }
    },
    required: ["messageType"],
    $schema: "http://json-schema.org/draft-07/schema#"
  }),
  no(
    "everything: get-env",
    { type: "object", properties: {}, $schema: "http://json-schema.org/draft-07/schema#" },
    "accepts any"
  ),
  yes("sequential thinking", {
    type: "object",
    properties: {
      thought: { type: "string" },
      nextThoughtNeeded: { type: "boolean" },
      thoughtNumber: { type: "integer", minimum: 1 },
      revisesThought: { type: "integer", minimum: 1 },
      branchId: { type: "string" }
    },
    required: ["thought", "nextThoughtNeeded", "thoughtNumber"],
    $schema: "https://json-schema.org/draft/2020-12/schema"
  })
]
