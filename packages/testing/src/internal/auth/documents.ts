/**
 * What the servers of `AuthFixture` publish, and where.
 *
 * Owns: paths and metadata documents as a script has them.
 * May not touch: requests, tokens.
 */
import type { Kind, MetadataPlace, Script } from "../../AuthFixture.js"
import { defaultMethods } from "./clients.js"

export interface Origins {
  readonly resource: string
  readonly authorization: string
}

const protectedResource = "/.well-known/oauth-protected-resource"

const wellKnown = /^\/\.well-known\/(oauth-authorization-server|openid-configuration)(\/|$)/

export const originOf = (script: Script, origins: Origins): string =>
  script.together === true ? origins.resource : origins.authorization

export const issuerOf = (script: Script, origins: Origins): string =>
  originOf(script, origins) + (script.issuerPath ?? "")

/** The path of the metadata of the resource, if there is one. */
export const resourceMetadataPath = (script: Script): string | undefined => {
  switch (script.resourceMetadata) {
    case "none":
      return undefined
    case "root":
      return protectedResource
    case undefined:
    case "path":
      return `${protectedResource}/mcp`
    default:
      return script.resourceMetadata
  }
}

export const resourceOf = (script: Script, origins: Origins): string =>
  script.resource ?? (script.resourceMetadata === "root" ? origins.resource : `${origins.resource}/mcp`)

export const resourceDocument = (script: Script, origins: Origins): object => ({
  resource: resourceOf(script, origins),
  authorization_servers: [issuerOf(script, origins)],
  bearer_methods_supported: ["header"],
  scopes_supported: script.resourceScopes,
  ...script.resourceFields
})

export const isServerMetadata = (script: Script, path: string): boolean =>
  (script.serverMetadata ?? ["oauth"]).some((place) => pathOf(place, script.issuerPath ?? "") === path)

const pathOf = (place: MetadataPlace, issuerPath: string): string => {
  switch (place) {
    case "oauth":
      return `/.well-known/oauth-authorization-server${issuerPath}`
    case "openid":
      return `/.well-known/openid-configuration${issuerPath}`
    case "appended":
      return `${issuerPath}/.well-known/openid-configuration`
  }
}

export const serverDocument = (script: Script, origins: Origins): object => {
  const endpoints = originOf(script, origins) + (script.endpointPath ?? "")
  return {
    issuer: script.issuer ?? issuerOf(script, origins),
    authorization_endpoint: `${endpoints}/authorize`,
    token_endpoint: `${endpoints}/token`,
    ...(script.registration !== false && { registration_endpoint: `${endpoints}/register` }),
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: script.clientMethods ?? defaultMethods,
    token_endpoint_auth_signing_alg_values_supported: ["ES256", "RS256", "EdDSA"],
    scopes_supported: script.serverScopes,
    ...openId(script, endpoints),
    ...(script.dpop !== undefined && { dpop_signing_alg_values_supported: ["ES256"] }),
    ...(script.clientDocuments === true && { client_id_metadata_document_supported: true }),
    ...(script.issAdvertised !== false && { authorization_response_iss_parameter_supported: true }),
    ...script.serverFields
  }
}

/** What a document of OpenID must have. */
const openId = (script: Script, endpoints: string): object =>
  script.serverMetadata?.some((_) => _ !== "oauth") === true
    ? {
      jwks_uri: `${endpoints}/jwks`,
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"]
    }
    : {}

/** The identity provider of an organisation. */
export const idpPath = "/idp"

export const idpOf = (script: Script, origins: Origins) => {
  const issuer = originOf(script, origins) + idpPath
  return { issuer, tokenEndpoint: `${issuer}/token` }
}

export const isIdpMetadata = (path: string): boolean => path === `${idpPath}/.well-known/openid-configuration`

export const idpDocument = (script: Script, origins: Origins): object => {
  const { issuer, tokenEndpoint } = idpOf(script, origins)
  return { issuer, token_endpoint: tokenEndpoint, token_endpoint_auth_methods_supported: defaultMethods }
}

export const kindOf = (script: Script, at: "resource" | "authorization", path: string): Kind => {
  if (at === "resource" && (path.startsWith(protectedResource) || path === resourceMetadataPath(script))) {
    return "resourceMetadata"
  }
  if (wellKnown.test(path) || path.endsWith("/.well-known/openid-configuration")) return "serverMetadata"
  const prefix = script.endpointPath ?? ""
  switch (path) {
    case `${prefix}/register`:
      return "register"
    case `${prefix}/authorize`:
      return "authorize"
    case `${prefix}/token`:
      return "token"
    case `${idpPath}/token`:
      return "exchange"
    default:
      return at === "resource" ? "mcp" : "other"
  }
}
