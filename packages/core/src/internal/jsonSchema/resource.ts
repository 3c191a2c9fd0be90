/**
 * The parts of a document that `$id` sets apart, and the names in them. Everything a `$ref` can lead to is in the document
 * itself: nothing is ever fetched, and what one schema calls itself is of no concern to another.
 *
 * Owns: identifiers, anchors, dialects, and the way from a reference to a place.
 * May not touch: what schemas mean.
 */
import { isObject } from "../protocol/json.js"
import { type Dialect, dialectOf, subschemas } from "./dialect.js"

export type Schema = { readonly [key: string]: unknown }

/** A part of the document with an identifier of its own. */
export interface Resource {
  readonly root: unknown
  readonly base: string
  readonly dialect: Dialect
  /** Nothing for a name that is there twice. */
  readonly anchors: Map<string, Schema | undefined>
  readonly dynamicAnchors: Map<string, Schema>
  readonly isRecursive: boolean
}

/** Where a reference leads. */
export interface Target {
  readonly schema: unknown
  readonly resource: Resource
  /** The name, if it is one that later resources may take over. */
  readonly dynamicName: string | undefined
}

/** A document has an address, so that relative references have something to be relative to. */
const defaultBase = "json-schema:///"

export class Document {
  readonly root: Resource
  /** Whether some reference depends on the way that led to it, as far as is known: see `follow`. */
  isDynamic = false
  private readonly homes = new Map<Schema, Resource>()
  private readonly resources = new Map<string, Resource | undefined>()
  private left: number

  constructor(schema: unknown, maxNodes: number) {
    this.left = maxNodes
    this.root = this.resourceOf(schema, defaultBase, dialectOf(isObject(schema) ? schema.$schema : undefined))
    this.resources.set(defaultBase, this.root)
    if (this.root.base !== defaultBase) this.resources.set(this.root.base, this.root)
    this.index(schema, this.root)
  }

  /** Whether there are more schemas in it than allowed. */
  get isTooLarge(): boolean {
    return this.left < 0
  }

  get allResources(): ReadonlyArray<Resource> {
    return [...new Set(this.resources.values())].filter((_) => _ !== undefined)
  }

  homeOf(schema: unknown): Resource | undefined {
    return isObject(schema) ? this.homes.get(schema) : undefined
  }

  /** Nothing where it leads out of the document, or to more than one place. */
  resolve(reference: string, from: Resource): Target | undefined {
    const hash = reference.indexOf("#")
    const address = hash < 0 ? reference : reference.slice(0, hash)
    const fragment = decoded(hash < 0 ? "" : reference.slice(hash + 1))
    const resource = address === "" ? from : this.resources.get(joined(address, from.base) ?? "")
    if (resource === undefined || fragment === undefined) return undefined
    if (fragment === "") return { schema: resource.root, resource, dynamicName: undefined }
    if (fragment.startsWith("/")) return this.follow(fragment, resource)
    const schema = resource.anchors.get(fragment)
    if (schema === undefined) return undefined
    return { schema, resource, dynamicName: resource.dynamicAnchors.has(fragment) ? fragment : undefined }
  }

  private follow(pointer: string, from: Resource): Target | undefined {
    let schema: unknown = from.root
    let resource = from
    for (const part of pointer.slice(1).split("/")) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~")
      if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, key)) return undefined
      if (Array.isArray(schema) && !/^\d+$/.test(key)) return undefined
      schema = (schema as Schema)[key]
      resource = this.homeOf(schema) ?? resource
    }
    // It is under a keyword that holds no schemas, so that it has no names, but what is in it has a home.
    if (isObject(schema) && !this.homes.has(schema)) this.index(schema, resource, false)
    return { schema, resource, dynamicName: undefined }
  }

  /** Finds the home of each schema inside, and its names. */
  private index(schema: unknown, home: Resource, isNaming = true): void {
    const pending: Array<readonly [unknown, Resource]> = [[schema, home]]
    while (pending.length > 0) {
      const [next, outer] = pending.pop()!
      if (!isObject(next) || this.homes.has(next)) continue
      if (--this.left < 0) return
      const resource = next === home.root || !isNaming ? outer : this.embedded(next, outer)
      this.homes.set(next, resource)
      this.isDynamic ||= asksForTheWay(next, resource.dialect)
      if (isNaming) this.name(next, resource)
      for (const inner of subschemas(next)) pending.push([inner, resource])
    }
  }

  private embedded(schema: Schema, outer: Resource): Resource {
    const id = idOf(schema, outer.dialect)
    if (id === undefined) return outer
    const dialect = typeof schema.$schema === "string" ? dialectOf(schema.$schema) : outer.dialect
    const resource = this.resourceOf(schema, outer.base, dialect)
    const isTwice = this.resources.has(resource.base)
    this.resources.set(resource.base, isTwice ? undefined : resource)
    return resource
  }

  private resourceOf(schema: unknown, outerBase: string, dialect: Dialect): Resource {
    const id = isObject(schema) ? idOf(schema, dialect) : undefined
    return {
      root: schema,
      base: id === undefined ? outerBase : joined(id, outerBase) ?? id,
      dialect,
      anchors: new Map(),
      dynamicAnchors: new Map(),
      isRecursive: dialect === 2019 && isObject(schema) && schema.$recursiveAnchor === true
    }
  }

  private name(schema: Schema, { anchors, dialect, dynamicAnchors }: Resource): void {
    const set = (name: unknown) => {
      if (typeof name !== "string") return
      anchors.set(name, anchors.has(name) && anchors.get(name) !== schema ? undefined : schema)
    }
    if (dialect >= 2019) {
      set(schema.$anchor)
    } else {
      const id = dialect === 4 ? schema.id : schema.$id
      const hash = typeof id === "string" && schema.$ref === undefined ? id.indexOf("#") : -1
      if (hash >= 0) set((id as string).slice(hash + 1))
    }
    if (dialect === 2020 && typeof schema.$dynamicAnchor === "string") {
      set(schema.$dynamicAnchor)
      dynamicAnchors.set(schema.$dynamicAnchor, schema)
    }
  }
}

/** Whether it has a reference that depends on the way that led to it. */
const asksForTheWay = (schema: Schema, dialect: Dialect): boolean =>
  dialect >= 2019 && Object.hasOwn(schema, dialect === 2020 ? "$dynamicRef" : "$recursiveRef")

/** The identifier without its fragment. */
const idOf = (schema: Schema, dialect: Dialect): string | undefined => {
  const id = dialect === 4 ? schema.id : schema.$id
  // What stands beside a reference meant nothing before 2019.
  if (typeof id !== "string" || (dialect < 2019 && schema.$ref !== undefined)) return undefined
  const hash = id.indexOf("#")
  const address = hash < 0 ? id : id.slice(0, hash)
  return address === "" ? undefined : address
}

const joined = (address: string, base: string): string | undefined => {
  try {
    return new URL(address, base).href
  } catch {
    return /^[a-z][a-z0-9+.-]*:/i.test(address) ? address : undefined
  }
}

const decoded = (fragment: string): string | undefined => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}
