/**
 * How a remote server is authorized to be used: the field `auth` of its configuration.
 *
 * Owns: that field's schemas.
 * May not touch: tokens, servers.
 */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { SecretInput } from "./deferred.js"

type Secret = Schema.Schema<Redacted.Redacted<string>, SecretInput>

/** RFC 6749, 3.3: printable, without space, quote and backslash. */
const scope = Schema.String.pipe(
  Schema.pattern(/^[\x21\x23-\x5b\x5d-\x7e]+$/, { message: () => "must be a scope: printable, without spaces" })
)

const clientId = Schema.String.pipe(
  Schema.pattern(/^[\x20-\x7e]+$/, { message: () => "must be a printable text" })
)

const port = Schema.Number.pipe(
  Schema.int({ message: () => "must be a whole number" }),
  Schema.between(1, 65535, { message: () => "must be a port: 1 to 65535" })
)

const urlOf = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

const isLoopback = (url: URL): boolean =>
  url.hostname === "localhost" || url.hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(url.hostname)

const issuer = Schema.String.pipe(
  Schema.filter((text) => {
    const url = urlOf(text)
    return url !== undefined && (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url)))
  }, {
    message: () => "must be an https:// URL (http:// on this machine), exactly as the authorization server writes it"
  })
)

const metadataUrl = Schema.String.pipe(
  Schema.filter((text) => {
    const url = urlOf(text)
    return url !== undefined && url.protocol === "https:" && url.pathname !== "/" && url.hash === "" &&
      url.username === "" && url.password === ""
  }, { message: () => "must be an https:// URL with a path, where the metadata of this client is published" })
)

/** Back to this machine, or to a page of the application's. */
const redirectUri = Schema.String.pipe(
  Schema.filter((text) => {
    const url = urlOf(text)
    return url !== undefined && url.hash === "" && url.protocol !== "javascript:" && url.protocol !== "data:"
  }, { message: () => "must be a URL without a fragment" })
)

const dpop = Schema.optional(Schema.Boolean)

export const oauth = (secret: Secret) =>
  Schema.Struct({
    type: Schema.Literal("oauth"),
    /** A client that was registered with the authorization server before. */
    clientId: Schema.optional(clientId),
    clientSecret: Schema.optional(secret),
    /** The authorization server that `clientId` was registered with; no other one ever sees it. */
    issuer: Schema.optional(issuer),
    /** Where the metadata of this client is published: it stands in for a registration where the server supports it. */
    clientMetadataUrl: Schema.optional(metadataUrl),
    /** Asked for in place of what the server suggests. */
    scopes: Schema.optional(Schema.Array(scope)),
    /** The port of this machine to which the browser comes back, where it was registered. */
    redirectPort: Schema.optional(port),
    /** Where the browser comes back to, where that is not `http://127.0.0.1:<redirectPort>/callback`. */
    redirectUri: Schema.optional(redirectUri),
    /** Tokens bound to a key (RFC 9449): `true` only those, `false` none. Default: where the server asks for them. */
    dpop
  })

export const clientCredentials = (secret: Secret) =>
  Schema.Struct({
    type: Schema.Literal("clientCredentials"),
    clientId,
    clientSecret: Schema.optional(secret),
    /** PEM, PKCS #8 (`-----BEGIN PRIVATE KEY-----`). */
    privateKey: Schema.optional(secret),
    /** How `privateKey` signs. Default: `"ES256"`. */
    algorithm: Schema.optional(Schema.Literal("ES256", "RS256")),
    issuer: Schema.optional(issuer),
    scopes: Schema.optional(Schema.Array(scope)),
    dpop
  }).pipe(
    Schema.filter((_) => (_.clientSecret === undefined) !== (_.privateKey === undefined), {
      message: () => "must have either clientSecret or privateKey"
    })
  )

/** A workload shows the identity that its platform has given it (RFC 7523). */
export const jwtBearer = (secret: Secret) =>
  Schema.Struct({
    type: Schema.Literal("jwtBearer"),
    clientId,
    /** The JWT, or better where it is: it is looked up anew for each token. */
    assertion: secret,
    /** Only where the client was registered with one. */
    clientSecret: Schema.optional(secret),
    issuer: Schema.optional(issuer),
    scopes: Schema.optional(Schema.Array(scope)),
    dpop
  })

/** An organisation says at its identity provider who may use the server: RFC 8693 there, then RFC 7523. */
export const enterprise = (secret: Secret) =>
  Schema.Struct({
    type: Schema.Literal("enterprise"),
    /** The client at the authorization server of the MCP server. */
    clientId,
    clientSecret: secret,
    issuer: Schema.optional(issuer),
    scopes: Schema.optional(Schema.Array(scope)),
    dpop,
    /** The identity provider of the organisation. */
    idp: Schema.Struct({
      issuer,
      /** Found by the metadata of `issuer`, if it is not given. */
      tokenEndpoint: Schema.optional(issuer),
      /** The client at the identity provider, for which the id token was issued. */
      clientId,
      clientSecret: Schema.optional(secret),
      /** Of the person who has logged in, or better where it is: it is looked up anew for each token. */
      idToken: secret
    })
  })

export const auth = (secret: Secret) =>
  Schema.Union(
    Schema.Literal("none"),
    oauth(secret),
    clientCredentials(secret),
    jwtBearer(secret),
    enterprise(secret)
  )

/** What its fields hold, also those inside of others. */
export const valuesOf = (auth: object): ReadonlyArray<unknown> =>
  Object.values(auth).flatMap((value: unknown) =>
    typeof value === "object" && value !== null && !Redacted.isRedacted(value) && !Array.isArray(value)
      ? valuesOf(value)
      : [value]
  )

/** `Schema` makes a text of what tells the kinds of `auth` apart, which throws for `{ "toString": null }`. */
export const withKindOfAuth = <A extends { readonly auth?: unknown }>(input: A): A => {
  const { auth } = input
  const type = typeof auth === "object" && auth !== null && "type" in auth ? auth.type : undefined
  return typeof type === "object" ? { ...input, auth: { ...auth as object, type: null } } : input
}
