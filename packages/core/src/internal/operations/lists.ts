/**
 * Complete lists: all pages, within bounds, item by item.
 *
 * Owns: following cursors and knowing when to stop. What is given is complete, or an error.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import type { RequestOptions } from "../../McpSession.js"
import type { Waited } from "../engine/calls.js"
import type { Decoder } from "../engine/engine.js"
import { Measure, nameOf, TooDeep } from "../protocol/json.js"
import * as Steady from "../steady.js"
import type { Port } from "./port.js"

interface Page {
  readonly items: ReadonlyArray<unknown>
  readonly cursor: string | undefined
}

export const listAll = <A>(
  port: Port,
  method: string,
  field: string,
  decodeItem: (item: unknown) => McpProtocol.Decoded<A>,
  options: RequestOptions | undefined
): Effect.Effect<McpProtocol.Listing<A>, McpError.McpError> =>
  Effect.suspend(() => {
    const listing = new Accumulator(port, method, decodeItem)
    const ask = asking(port, method, options)
    const decode = decodePage(field)
    const next = (cursor: string | undefined): Effect.Effect<McpProtocol.Listing<A>, McpError.McpError> =>
      Effect.flatMap(
        cursor === undefined ? orNone(method, ask(undefined, decode)) : ask({ cursor }, decode),
        (page) => {
          const problem = listing.add(page)
          if (problem !== undefined) return Effect.fail(problem)
          return page.cursor === undefined ? Effect.succeed(listing.done()) : next(page.cursor)
        }
      )
    return next(undefined)
  })

/** There is no capability for templates: many servers announce resources, and have no handler for this list. */
const orNone = (method: string, first: Effect.Effect<Page, McpError.McpError>): typeof first =>
  method === "resources/templates/list"
    ? Effect.catchIf(first, isUnknownMethod, () => Effect.succeed({ items: [], cursor: undefined }))
    : first

const isUnknownMethod = (error: McpError.McpError): boolean =>
  error._tag === "RemoteError" && error.code === McpProtocol.ErrorCode.MethodNotFound

type Ask = (
  params: McpProtocol.JsonObject | undefined,
  decode: Decoder<Page>
) => Effect.Effect<Page, McpError.McpError>

/** Asks for page after page. `timeout` holds for each, `maxTotal` for all of them together. */
const asking = (port: Port, method: string, options: (RequestOptions & Waited) | undefined): Ask => {
  const total = millisOf(options?.maxTotal)
  // Only the first page has waited, so that its times must not be those of the others.
  const each = options?.waited === undefined ? options : { ...options, waited: undefined }
  if (total === undefined) return (params, decode) => port.requestWith(method, params, decode, each)
  const tooLong = (stderrTail?: string) =>
    new McpError.RequestTimeout({
      server: port.server,
      operation: method,
      executed: "maybe",
      kind: "total",
      millis: total,
      stderrTail
    })
  let startedAt = options?.waited?.totalFrom
  return (params, decode) =>
    Effect.flatMap(Steady.now, (now) => {
      startedAt ??= now
      const left = startedAt + total - now
      if (left <= 0) return Effect.fail(tooLong())
      return Effect.catchTag(
        port.requestWith(method, params, decode, { ...each, maxTotal: left }),
        "RequestTimeout",
        (error) => Effect.fail(error.kind === "total" ? tooLong(error.stderrTail) : error)
      )
    })
}

/** Nothing where there is no bound, or one that the first request will refuse. */
const millisOf = (maxTotal: RequestOptions["maxTotal"]): number | undefined => {
  if (maxTotal === undefined || maxTotal === null) return undefined
  const millis = Option.map(Duration.decodeUnknown(maxTotal), Duration.toMillis)
  return Option.isSome(millis) && millis.value > 0 && Number.isFinite(millis.value) ? millis.value : undefined
}

/** What of an item is a schema, by method. */
const schemaFields: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["tools/list", new Set(["inputSchema", "outputSchema"])]
])

class Accumulator<A> {
  private readonly items: Array<A> = []
  private readonly dropped: Array<McpProtocol.DroppedItem> = []
  private readonly cursors = new Set<string>()
  private readonly measure: Measure
  private readonly schemas: ReadonlySet<string> | undefined
  private pages = 0
  private seen = 0

  constructor(
    private readonly port: Port,
    private readonly method: string,
    private readonly decodeItem: (item: unknown) => McpProtocol.Decoded<A>
  ) {
    this.measure = new Measure(port.limits.listBytes)
    this.schemas = schemaFields.get(method)
  }

  add(page: Page): McpError.McpError | undefined {
    const { items, listBytes, pages } = this.port.limits
    if (this.seen + page.items.length > items) return this.tooMany("items", items)
    // They are kept, too.
    this.measure.add(page.cursor ?? "")
    for (const item of page.items) {
      if (this.measure.isExceeded) break
      this.addItem(item)
    }
    if (this.measure.isExceeded) return this.tooMany("listBytes", listBytes)
    this.pages++
    if (page.cursor === undefined) return undefined
    if (this.cursors.has(page.cursor)) return this.repeatedCursor()
    if (this.pages >= pages) return this.tooMany("pages", pages)
    this.cursors.add(page.cursor)
    return undefined
  }

  done(): McpProtocol.Listing<A> {
    return Object.freeze({ items: Object.freeze(this.items), dropped: Object.freeze(this.dropped) })
  }

  private addItem(item: unknown): void {
    const decoded = item instanceof TooDeep
      ? { problem: "is nested too deeply", name: item.name }
      : this.decode(item)
    if ("value" in decoded) this.items.push(decoded.value)
    else this.drop(decoded.problem, decoded.name)
    this.seen++
  }

  private decode(item: unknown): McpProtocol.Decoded<A> {
    const deep = this.measureItem(item)
    const decoded = this.decodeItem(item)
    if (deep === undefined || "problem" in decoded) return decoded
    return {
      problem: `"${deep}" is nested more than ${this.port.limits.schemaDepth} levels deep`,
      name: nameOf(item as McpProtocol.JsonObject)
    }
  }

  /** Names its schema that is nested too deeply, if there is one. */
  private measureItem(item: unknown): string | undefined {
    if (!McpProtocol.isObject(item)) {
      this.measure.add(item)
      return undefined
    }
    let deep: string | undefined
    this.measure.size += 3
    for (const field in item) {
      this.measure.add(field)
      if (this.measure.add(item[field]) > this.port.limits.schemaDepth && this.schemas?.has(field)) deep ??= field
    }
    return deep
  }

  private drop(problem: string, name: string | undefined): void {
    this.dropped.push(Object.freeze({ index: this.seen, ...(name !== undefined && { name }), problem }))
  }

  private tooMany(limit: string, max: number): McpError.McpError {
    return new McpError.LimitExceeded({
      server: this.port.server,
      operation: this.method,
      executed: "yes",
      limit,
      max
    })
  }

  private repeatedCursor(): McpError.McpError {
    return new McpError.ProtocolViolation({
      server: this.port.server,
      operation: this.method,
      executed: "yes",
      detail: `page ${this.pages} of the list repeats an earlier cursor, so the list would never end`
    })
  }
}

/** Of an item that is nested too deeply comes a `TooDeep`, so that it costs only itself. */
const decodePage = (field: string): Decoder<Page> => Object.assign(pageDecoder(field), { itemsOf: field })

const pageDecoder = (field: string) => (result: unknown): { readonly value: Page } | { readonly problem: string } => {
  if (!McpProtocol.isObject(result)) return { problem: "the result is not an object" }
  // What is empty in Go.
  const items = result[field] === null ? [] : result[field]
  if (!Array.isArray(items)) return { problem: `"${field}" is not a list` }
  const cursor = result.nextCursor ?? ""
  if (typeof cursor !== "string") {
    return { problem: `"nextCursor" is not a text, so the rest of the list can't be asked for` }
  }
  return { value: { items, cursor: cursor === "" ? undefined : cursor } }
}
