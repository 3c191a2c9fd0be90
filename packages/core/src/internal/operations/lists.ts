/**
 * Complete lists: all pages, within bounds, item by item.
 *
 * Owns: following cursors and knowing when to stop. What is given is complete, or an error.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import type { RequestOptions } from "../../McpSession.js"
import type { Waited } from "../engine/calls.js"
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
    const next = (cursor: string | undefined): Effect.Effect<McpProtocol.Listing<A>, McpError.McpError> =>
      Effect.flatMap(
        ask(cursor === undefined ? undefined : { cursor }, decodePage(field)),
        (page) => {
          const problem = listing.add(page)
          if (problem !== undefined) return Effect.fail(problem)
          return page.cursor === undefined ? Effect.succeed(listing.done()) : next(page.cursor)
        }
      )
    return next(undefined)
  })

type Ask = (
  params: McpProtocol.JsonObject | undefined,
  decode: (result: unknown) => McpProtocol.Decoded<Page>
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
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
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

class Accumulator<A> {
  private readonly items: Array<A> = []
  private readonly dropped: Array<McpProtocol.DroppedItem> = []
  private readonly cursors = new Set<string>()
  private pages = 0
  private seen = 0

  constructor(
    private readonly port: Port,
    private readonly method: string,
    private readonly decodeItem: (item: unknown) => McpProtocol.Decoded<A>
  ) {}

  add(page: Page): McpError.McpError | undefined {
    const { items, pages } = this.port.limits
    if (this.seen + page.items.length > items) return this.tooMany("items", items)
    for (const item of page.items) {
      const decoded = this.decodeItem(item)
      if ("value" in decoded) this.items.push(decoded.value)
      else this.drop(decoded.problem, decoded.name)
      this.seen++
    }
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

const decodePage = (field: string) => (result: unknown): { readonly value: Page } | { readonly problem: string } => {
  if (!McpProtocol.isObject(result)) return { problem: "the result is not an object" }
  const items = result[field]
  if (!Array.isArray(items)) return { problem: `"${field}" is not a list` }
  const cursor = result.nextCursor ?? ""
  if (typeof cursor !== "string") {
    return { problem: `"nextCursor" is not a text, so the rest of the list can't be asked for` }
  }
  return { value: { items, cursor: cursor === "" ? undefined : cursor } }
}
