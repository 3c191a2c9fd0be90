/**
 * Tokens for the application itself: for what it is, or what somebody has said about it, but for no person that is asked.
 *
 * Owns: which grant a configuration stands for; that what is shown for one is looked up anew each time, and not shown
 * again once it was refused.
 * May not touch: what is kept.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import * as Expand from "../config/expand.js"
import * as Subject from "../config/subject.js"
import * as Identity from "./identity.js"
import * as Reasons from "./reasons.js"
import type * as Records from "./record.js"
import { bearerToken } from "./record.js"
import type { Requests } from "./requests.js"
import { Rejected } from "./tokenRequest.js"
import * as Tokens from "./tokens.js"

type Auth = Exclude<NonNullable<McpConfig.AnyHttpConfig["auth"]>, "none">

/** How an application is authorized. */
export type Application = Exclude<Auth, { readonly type: "oauth" }>

export const of = (auth: McpConfig.AnyHttpConfig["auth"]): Application | undefined =>
  typeof auth === "object" && auth.type !== "oauth" ? auth : undefined

/** What says who we are, if it is something that somebody else has issued. */
export const shownOf = (auth: McpConfig.AnyHttpConfig["auth"]): Redacted.Redacted<string> | undefined => {
  if (typeof auth !== "object") return undefined
  switch (auth.type) {
    case "jwtBearer":
      return auth.assertion
    case "enterprise":
      return auth.idp.idToken
    default:
      return undefined
  }
}

/**
 * What shows that an application is the one that it says, beside what somebody else has issued; nothing where it is none. To
 * be compared with nothing but itself.
 */
export const credentialsOf = (auth: McpConfig.AnyHttpConfig["auth"]): Redacted.Redacted<string> | undefined => {
  const application = of(auth)
  return application === undefined ? undefined : Redacted.make(JSON.stringify(shownBy(application)))
}

const shownBy = (application: Application): ReadonlyArray<string | undefined> => {
  const { clientSecret, type } = application
  const value = (secret: Redacted.Redacted<string> | undefined) => secret && Redacted.value(secret)
  switch (application.type) {
    case "clientCredentials":
      return [type, value(clientSecret), value(application.privateKey)]
    case "jwtBearer":
      return [type, value(clientSecret)]
    case "enterprise": {
      const { clientId, clientSecret: ofIdp, issuer, tokenEndpoint } = application.idp
      return [type, value(clientSecret), issuer, tokenEndpoint, clientId, value(ofIdp)]
    }
  }
}

const mostRefused = 16

/** It was not about what was shown, but about the proof of the key that came with it (RFC 9449). */
const ofProof: ReadonlySet<string> = new Set(["use_dpop_nonce", "invalid_dpop_proof"])

export class Applications {
  /** The newest last. */
  private readonly refused = new Set<string>()

  /** New tokens, for one or two requests. */
  tokens(
    requests: Requests,
    config: Application,
    wanted: Tokens.Wanted
  ): Effect.Effect<Records.Tokens, McpError.McpError | Rejected> {
    switch (config.type) {
      case "clientCredentials":
        return Tokens.ofClient(requests, config, wanted)
      case "jwtBearer":
        return this.shown(
          requests,
          "auth.assertion",
          config.assertion,
          config.clientSecret,
          wanted,
          (assertion) => Tokens.ofAssertion(requests, assertion, wanted)
        )
      case "enterprise":
        return Effect.flatMap(
          this.shown(
            requests,
            "auth.idp.idToken",
            config.idp.idToken,
            config.idp.clientSecret,
            wanted,
            (idToken) => Identity.exchanged(requests, config, idToken, wanted)
          ),
          (assertion) => {
            requests.expose(assertion)
            return Tokens.ofAssertion(requests, assertion, wanted)
          }
        )
    }
  }

  private shown<A>(
    requests: Requests,
    field: string,
    configured: Redacted.Redacted<string>,
    clientSecret: Redacted.Redacted<string> | undefined,
    { scopes }: Tokens.Wanted,
    use: (value: string) => Effect.Effect<A, McpError.McpError | Rejected>
  ): Effect.Effect<A, McpError.McpError | Rejected> {
    const { server } = requests
    return Effect.flatMap(Expand.renewed(server, field, configured), (text) => {
      const value = text.trim()
      if (!bearerToken.test(value)) {
        return Effect.fail(Reasons.misconfigured(server, field, "must be a JWT: printable, without spaces"))
      }
      requests.expose(value)
      // What is kept is that of who it spoke of when the configuration was resolved.
      if (Subject.isAnother(Redacted.value(configured), value)) {
        return Effect.fail(
          Reasons.unauthorized(server, `what "${field}" holds speaks of somebody else by now; connect again to use it`)
        )
      }
      // It may have been refused because of the client, which has another secret once that is mended.
      const shown = JSON.stringify([value, clientSecret === undefined ? null : Redacted.value(clientSecret)])
      // Other scopes may be given for the same.
      const withScopes = `${shown} ${scopes.join(" ")}`
      if (this.refused.has(shown) || this.refused.has(withScopes)) {
        return Effect.fail(
          Reasons.unauthorized(server, `what "${field}" holds was refused before, and is not sent again; renew it`)
        )
      }
      return Effect.tapError(use(value), (error) =>
        Effect.sync(() => {
          if (error instanceof Rejected && error.code !== undefined && !ofProof.has(error.code)) {
            this.remember(error.code === "invalid_scope" ? withScopes : shown)
          }
        }))
    })
  }

  private remember(value: string): void {
    this.refused.add(value)
    if (this.refused.size > mostRefused) this.refused.delete(this.refused.values().next().value!)
  }
}
