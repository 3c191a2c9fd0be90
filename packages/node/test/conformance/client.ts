/**
 * A client for the scenarios of the official conformance suite that are about authorization: it connects to the URL that
 * is its last argument, lists the tools, and calls the first one. Whenever a person is needed, one with a browser is
 * there. It ends by itself.
 *
 * `conformance client --command "node --import tsx --conditions=@mcp-runtime/source <this file>" --scenario auth/...`
 */
import { McpConfig, McpConnection, type McpError } from "@mcp-runtime/core"
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import { Effect } from "effect"
import { program } from "../internal/auths.js"
import { directory } from "../internal/connections.js"

const url = process.argv.at(-1) ?? ""
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ""
const context: { readonly [field: string]: string } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}")

const auth = (): object => {
  switch (scenario) {
    case "auth/pre-registration":
      return {
        type: "oauth",
        clientId: context.client_id!,
        clientSecret: context.client_secret!,
        issuer: context.issuer!
      }
    case "auth/client-credentials-basic":
      return { type: "clientCredentials", clientId: context.client_id!, clientSecret: context.client_secret! }
    case "auth/client-credentials-jwt":
      return {
        type: "clientCredentials",
        clientId: context.client_id!,
        privateKey: context.private_key_pem!,
        algorithm: "ES256"
      }
    case "auth/wif-jwt-bearer":
      return { type: "jwtBearer", clientId: context.client_id!, assertion: context.valid_jwt! }
    case "auth/enterprise-managed-authorization":
      return {
        type: "enterprise",
        clientId: context.client_id!,
        clientSecret: context.client_secret!,
        idp: {
          issuer: context.idp_issuer!,
          tokenEndpoint: context.idp_token_endpoint!,
          clientId: context.idp_client_id!,
          idToken: context.idp_id_token!
        }
      }
    default:
      return { type: "oauth", clientMetadataUrl: "https://conformance-test.local/client-metadata.json" }
  }
}

const main = Effect.gen(function*() {
  const config = yield* McpConfig.decodeUnknown({ name: "conformance", transport: "http", url, auth: auth() })
  const { authorize, status } = yield* McpAuth.McpAuth
  const connection = yield* McpConnection.make(config)

  /** What needs a person is tried again when they are done, as often as somebody is asked. */
  const patiently = <A>(use: Effect.Effect<A, McpError.McpError>): Effect.Effect<A, McpError.McpError> =>
    Effect.catchAll(
      use,
      (error) =>
        (error._tag === "Unauthorized" || error._tag === "Forbidden") && error.authorizationUrl !== undefined
          ? Effect.zipRight(authorize(config), patiently(use))
          : Effect.fail(error)
    )

  const tools = yield* patiently(McpConnection.listTools(connection))
  for (const { name } of tools.items.slice(0, 1)) {
    const answer = yield* patiently(McpConnection.callTool(connection, { name, arguments: {} }))
    yield* Effect.log(`called ${name}`, answer.content, yield* status(config))
  }
})

const all = Effect.scoped(Effect.flatMap(directory, (path) => Effect.provide(main, program(path))))

Effect.runFork(Effect.tapErrorCause(Effect.scoped(all), (cause) => Effect.logError(cause))).addObserver((exit) => {
  process.exitCode = exit._tag === "Success" ? 0 : 1
})
