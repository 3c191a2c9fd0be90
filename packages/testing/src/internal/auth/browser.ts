/**
 * The browser of `AuthFixture`: one GET on a socket of its own, which follows nothing.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Http from "node:http"
import type { Visited } from "../../AuthFixture.js"

export class BrowserFailed extends Data.TaggedError("BrowserFailed")<{
  readonly url: string
  readonly problem: string
}> {
  override get message() {
    return `The browser could not go on from ${this.url}: ${this.problem}`
  }
}

export const open = (url: string | URL): Effect.Effect<Visited, BrowserFailed> =>
  Effect.async<Visited, BrowserFailed>((resume) => {
    const text = String(url)
    const fail = (problem: string) => resume(Effect.fail(new BrowserFailed({ url: text, problem })))
    if (!text.startsWith("http://")) {
      fail("only http: URLs can be opened")
      return
    }
    const request = Http.get(text, { agent: false }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("error", (error) => fail(error.message))
      response.on("end", () =>
        resume(Effect.succeed({
          url: text,
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString("utf8")
        })))
    })
    request.on("error", (error) => fail(error.message))
    return Effect.sync(() => request.destroy())
  })

export const redirected = (url: string | URL): Effect.Effect<string, BrowserFailed> =>
  Effect.flatMap(open(url), (page) => {
    const location = page.headers.location
    return typeof location === "string" && page.status >= 300 && page.status < 400
      ? Effect.succeed(new URL(location, page.url).href)
      : Effect.fail(new BrowserFailed({ url: page.url, problem: `the answer was ${page.status} ${page.body}` }))
  })

export const visit = (url: string | URL): Effect.Effect<Visited, BrowserFailed> => Effect.flatMap(redirected(url), open)
