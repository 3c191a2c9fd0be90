/**
 * The identity provider of an organisation, which says who may use a server (RFC 8693).
 *
 * Owns: what it is asked for, and that its answer is that. It is given the id token, and nobody else is.
 * May not touch: the authorization server of the MCP server, which takes the answer for a token.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import * as Authorities from "./authority.js"
import * as Clients from "./clients.js"
import { bearerToken } from "./record.js"
import type { Requests } from "./requests.js"
import { ask, type Rejected, type Unusable } from "./tokenRequest.js"
import type { Wanted } from "./tokens.js"

type Enterprise = Extract<NonNullable<McpConfig.AnyHttpConfig["auth"]>, { readonly type: "enterprise" }>

const idJag = "urn:ietf:params:oauth:token-type:id-jag"

/** An assertion for the authorization server of this server (ID-JAG), for who the id token speaks of. */
export const exchanged = (
  requests: Requests,
  { idp }: Enterprise,
  idToken: string,
  { authority, resource, scopes }: Wanted
): Effect.Effect<string, McpError.McpError | Rejected> =>
  Effect.gen(function*() {
    const { clientId, clientSecret, issuer, tokenEndpoint } = idp
    const known = tokenEndpoint === undefined
      ? yield* Authorities.discover(requests, new URL(issuer), issuer)
      : { tokenEndpoint, methods: undefined }
    const client = {
      issuer,
      kind: "given",
      clientId,
      clientSecret,
      expiresAt: undefined,
      method: undefined,
      redirectUri: undefined
    } as const
    const { assertion } = yield* ask(
      requests,
      {
        endpoint: known.tokenEndpoint,
        params: [
          ["grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"],
          ["requested_token_type", idJag],
          ["audience", authority.issuer],
          ...(resource === undefined ? [] : [["resource", resource] as const]),
          ...(scopes.length === 0 ? [] : [["scope", scopes.join(" ")] as const]),
          ["subject_token", idToken],
          ["subject_token_type", "urn:ietf:params:oauth:token-type:id_token"]
        ],
        client: Effect.sync(() => Clients.authenticated(client, known)),
        secrets: clientSecret === undefined ? [] : [Redacted.value(clientSecret)]
      },
      ({ access_token: assertion, issued_token_type: type }): { readonly assertion: string } | Unusable =>
        typeof assertion === "string" && bearerToken.test(assertion) && type === idJag
          ? { assertion }
          : { unusable: "no assertion for another authorization server (ID-JAG)" }
    )
    return assertion
  })
