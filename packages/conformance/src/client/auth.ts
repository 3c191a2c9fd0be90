/**
 * Who the client is to the server of a scenario.
 *
 * Owns: the field `auth` of the configuration, from what the suite gives.
 * May not touch: anything else of the configuration.
 */
import type { McpConfig } from "@mcp-runtime/core"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { Problem } from "./problem.js"

type Input = Extract<McpConfig.ServerConfigInput, { readonly transport: "http" }>["auth"]

/** From the context of the scenario. */
export type Auth = (context: unknown) => Effect.Effect<Input, Problem>

const given = <A, I>(schema: Schema.Schema<A, I>, auth: (context: A) => Input): Auth => {
  const decode = Schema.decodeUnknown(schema, { errors: "all" })
  return (context) =>
    Effect.mapBoth(decode(context), {
      onFailure: (error) => {
        const fields = ParseResult.ArrayFormatter.formatErrorSync(error).map(({ path }) => path.join("."))
        return new Problem({ message: `MCP_CONFORMANCE_CONTEXT has no usable ${fields.join(", ")}` })
      },
      onSuccess: auth
    })
}

export const none: Auth = () => Effect.succeed("none")

/** The client that the suite knows without a registration, where it is asked for. */
export const anybody: Auth = () =>
  Effect.succeed({ type: "oauth", clientMetadataUrl: "https://conformance-test.local/client-metadata.json" })

export const preRegistered: Auth = given(
  Schema.Struct({ client_id: Schema.String, client_secret: Schema.String, issuer: Schema.String }),
  ({ client_id: clientId, client_secret: clientSecret, issuer }) => ({ type: "oauth", clientId, clientSecret, issuer })
)

export const secret: Auth = given(
  Schema.Struct({ client_id: Schema.String, client_secret: Schema.String }),
  ({ client_id: clientId, client_secret: clientSecret }) => ({ type: "clientCredentials", clientId, clientSecret })
)

export const key: Auth = given(
  Schema.Struct({
    client_id: Schema.String,
    private_key_pem: Schema.String,
    signing_algorithm: Schema.Literal("ES256", "RS256")
  }),
  ({ client_id: clientId, private_key_pem: privateKey, signing_algorithm: algorithm }) => ({
    type: "clientCredentials",
    clientId,
    privateKey,
    algorithm
  })
)

export const workload: Auth = given(
  Schema.Struct({ client_id: Schema.String, valid_jwt: Schema.String }),
  ({ client_id: clientId, valid_jwt: assertion }) => ({ type: "jwtBearer", clientId, assertion })
)

export const enterprise: Auth = given(
  Schema.Struct({
    client_id: Schema.String,
    client_secret: Schema.String,
    idp_client_id: Schema.String,
    idp_id_token: Schema.String,
    idp_issuer: Schema.String,
    idp_token_endpoint: Schema.String
  }),
  (_) => ({
    type: "enterprise",
    clientId: _.client_id,
    clientSecret: _.client_secret,
    idp: {
      issuer: _.idp_issuer,
      tokenEndpoint: _.idp_token_endpoint,
      clientId: _.idp_client_id,
      idToken: _.idp_id_token
    }
  })
)
