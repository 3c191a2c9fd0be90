/**
 * The clients of the authorization server of `AuthFixture`.
 *
 * Owns: who has registered, and whether a request to the token endpoint comes from who it says.
 * May not touch: tokens.
 */
import { createPublicKey, randomUUID, verify } from "node:crypto"
import type { Client, ClientMethod, Script } from "../../AuthFixture.js"

export interface Claim {
  readonly client: string | undefined
  readonly method: ClientMethod
  /** The secret or the assertion. */
  readonly proof: string | undefined
}

export const defaultMethods: ReadonlyArray<ClientMethod> = ["none", "client_secret_basic", "client_secret_post"]

/** Who a request to the token endpoint says it comes from. */
export const claimOf = (authorization: string | undefined, parameters: ReadonlyMap<string, string>): Claim => {
  const basic = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(authorization ?? "")?.[1]
  if (basic !== undefined) {
    const [client, secret] = Buffer.from(basic, "base64").toString("utf8").split(":").map(formDecoded)
    return { client, method: "client_secret_basic", proof: secret }
  }
  const assertion = parameters.get("client_assertion")
  if (assertion !== undefined) {
    const subject = partOf(assertion, 1)?.sub
    const client = parameters.get("client_id") ?? (typeof subject === "string" ? subject : undefined)
    return { client, method: "private_key_jwt", proof: assertion }
  }
  const secret = parameters.get("client_secret")
  return {
    client: parameters.get("client_id"),
    method: secret === undefined ? "none" : "client_secret_post",
    proof: secret
  }
}

const formDecoded = (text: string): string => decodeURIComponent(text.replaceAll("+", " "))

const partOf = (jwt: string, part: 0 | 1): { readonly [claim: string]: unknown } | undefined => {
  try {
    return JSON.parse(Buffer.from(jwt.split(".")[part] ?? "", "base64url").toString("utf8"))
  } catch {
    return undefined
  }
}

const isSigned = (algorithm: unknown, signed: Buffer, publicKey: string, signature: Buffer): boolean => {
  try {
    const key = createPublicKey(publicKey)
    return algorithm === "EdDSA"
      ? verify(null, signed, key, signature)
      : verify(`sha${String(algorithm).slice(2)}`, signed, { key, dsaEncoding: "ieee-p1363" }, signature)
  } catch {
    return false
  }
}

export class Clients {
  private readonly registered = new Map<string, Client>()
  private readonly assertions = new Set<unknown>()

  constructor(private readonly script: () => Script) {}

  register(
    redirectUris: ReadonlyArray<string>,
    requested: string | undefined
  ): Client & { readonly method: ClientMethod | undefined } {
    const methods = this.script().clientMethods ?? defaultMethods
    const method = methods.find((_) => _ === requested) ?? (methods.length === 1 ? methods[0] : undefined)
    const client: Client = {
      id: `client-${randomUUID()}`,
      ...(method !== "none" && { secret: `secret-${randomUUID()}` }),
      redirectUris
    }
    this.registered.set(client.id, client)
    return { ...client, method }
  }

  forget(): void {
    this.registered.clear()
  }

  find(id: string | undefined): Client | undefined {
    if (id === undefined) return undefined
    const script = this.script()
    return this.registered.get(id) ?? script.clients?.find((_) => _.id === id) ??
      (script.clientDocuments === true && /^https:\/\/[^/]+\/./.test(id) ? { id } : undefined)
  }

  /** Why the claim is not believed, or `undefined`. */
  problem(claim: Claim, audiences: ReadonlyArray<string>): string | undefined {
    const client = this.find(claim.client)
    if (client === undefined) return "there is no such client"
    const methods = this.script().clientMethods ?? defaultMethods
    if (!methods.includes(claim.method)) return `${claim.method} is not supported`
    switch (claim.method) {
      case "none":
        return undefined
      case "client_secret_basic":
      case "client_secret_post":
        return client.secret === claim.proof ? undefined : "the secret is wrong"
      case "private_key_jwt":
        return this.assertionProblem(client, claim.proof ?? "", audiences)
    }
  }

  private assertionProblem(client: Client, jwt: string, audiences: ReadonlyArray<string>): string | undefined {
    const [head, body] = [partOf(jwt, 0), partOf(jwt, 1)]
    if (head === undefined || body === undefined) return "the assertion is no JWT"
    if (client.publicKey === undefined) return "the client has no key"
    const signature = Buffer.from(jwt.split(".")[2] ?? "", "base64url")
    const signed = Buffer.from(jwt.slice(0, jwt.lastIndexOf(".")))
    if (!isSigned(head.alg, signed, client.publicKey, signature)) return "the signature of the assertion is wrong"
    if (body.iss !== client.id || body.sub !== client.id) return "iss and sub of the assertion must be the client"
    if (![body.aud].flat().some((_) => audiences.includes(String(_)))) return "aud of the assertion is wrong"
    if (typeof body.exp !== "number" || body.exp * 1000 < Date.now()) return "the assertion has expired"
    if (body.jti === undefined || this.assertions.has(body.jti)) return "jti of the assertion must be new"
    this.assertions.add(body.jti)
    return undefined
  }
}
