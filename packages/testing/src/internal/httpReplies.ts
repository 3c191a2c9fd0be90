/**
 * The replies of `HttpFixture`.
 */
import type { Ending, LoggedRequest, Piece, Reply } from "../HttpFixture.js"

export const respond = (options: {
  readonly status?: number | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: Piece | ReadonlyArray<Piece> | undefined
  readonly ending?: Ending | undefined
}): Reply => ({
  _tag: "Respond",
  status: options.status ?? 200,
  headers: options.headers ?? {},
  pieces: options.body === undefined ? [] : isPieces(options.body) ? options.body : [options.body],
  ending: options.ending ?? "end"
})

const isPieces = (body: Piece | ReadonlyArray<Piece>): body is ReadonlyArray<Piece> => Array.isArray(body)

export const json = (
  value: unknown,
  options?: { readonly status?: number | undefined; readonly headers?: { readonly [name: string]: string } | undefined }
): Reply =>
  respond({
    status: options?.status,
    headers: { "content-type": "application/json", ...options?.headers },
    body: JSON.stringify(value)
  })

export const result = (request: LoggedRequest, value: unknown): Reply =>
  json({ jsonrpc: "2.0", id: request.id, result: value })

export const sse = (
  pieces: ReadonlyArray<Piece>,
  ending: Ending = "end",
  headers: { readonly [name: string]: string } = {}
): Reply => respond({ headers: { "content-type": "text/event-stream", ...headers }, body: pieces, ending })

export const event = (
  data: unknown,
  options?: {
    readonly id?: string | undefined
    readonly event?: string | undefined
    readonly retry?: number | undefined
  }
): string => {
  const text = typeof data === "string" ? data : JSON.stringify(data)
  return (options?.id === undefined ? "" : `id: ${options.id}\n`) +
    (options?.event === undefined ? "" : `event: ${options.event}\n`) +
    (options?.retry === undefined ? "" : `retry: ${options.retry}\n`) +
    text.split("\n").map((line) => `data: ${line}\n`).join("") + "\n"
}

export const accepted: Reply = respond({ status: 202 })
