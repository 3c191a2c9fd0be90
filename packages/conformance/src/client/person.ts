/**
 * A person with a browser, who says yes to everything.
 *
 * Owns: visiting the page that an error names, and bringing back where the browser ended.
 * May not touch: tokens, and when a page is needed.
 *
 * There is no `Authorizer`, so nothing is asked behind the back of a call: the error has the page, and `finish` ends what was
 * begun. A scenario counts the visits, so it must be clear which error each of them is for.
 */
import { FetchHttpClient, HttpClient } from "@effect/platform"
import { McpAuth, type McpConfig, type McpError } from "@mcp-runtime/core"
import * as Effect from "effect/Effect"
import { Problem } from "./problem.js"

/** Does it again whenever the person has allowed it. */
export type Patience = <A>(
  use: Effect.Effect<A, McpError.McpError>
) => Effect.Effect<A, McpError.McpError | Problem>

/** More often than any scenario may need a person. */
const visits = 5

export const patience = (
  config: McpConfig.ServerConfig
): Effect.Effect<Patience, never, McpAuth.McpAuth> =>
  Effect.map(McpAuth.McpAuth, ({ finish }) => {
    const patiently = <A>(
      use: Effect.Effect<A, McpError.McpError>,
      left = visits
    ): Effect.Effect<A, McpError.McpError | Problem> =>
      Effect.catchAll(use, (error) => {
        const page = error._tag === "Unauthorized" || error._tag === "Forbidden" ? error.authorizationUrl : undefined
        return page === undefined || left === 0
          ? Effect.fail(error)
          : visit(page).pipe(
            Effect.flatMap((callback) => finish(config, callback)),
            Effect.zipRight(patiently(use, left - 1))
          )
      })
    return (use) => patiently(use)
  })

/** Where the page sends the browser. Nothing listens there. */
const visit = (page: string): Effect.Effect<string, Problem> =>
  HttpClient.get(page).pipe(
    Effect.mapError((error) => new Problem({ message: `the browser got no answer: ${error.message}` })),
    Effect.filterOrFail(
      ({ status }) => status >= 300 && status < 400,
      ({ status }) => new Problem({ message: `the browser was shown a page with status ${status}` })
    ),
    Effect.flatMap(({ headers: { location } }) =>
      location === undefined
        ? Effect.fail(new Problem({ message: "the browser was not sent anywhere" }))
        : Effect.succeed(location)
    ),
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
  )
