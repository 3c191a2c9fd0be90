/**
 * A request to a token endpoint, whatever it asks for.
 *
 * Owns: how the client shows who it is, the proof that goes with it, and what an answer means that gives nothing. Only for
 * the nonce that an authorization server wants to see in the proof is it asked again, and never at another place.
 * May not touch: when it is asked, and what it gives.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as McpError from "../../McpError.js"
import { retryAfterMillis } from "../http/classify.js"
import { valuesOf } from "../http/hidden.js"
import * as Secrets from "../secrets.js"
import * as Dpop from "./dpop.js"
import * as Reasons from "./reasons.js"
import { objectOf, type Requests } from "./requests.js"

/** The authorization server has said no. Asking the same again is of no use. */
export class Rejected {
  readonly _tag = "Rejected"
  constructor(
    /** In its words (RFC 6749, 5.2). */
    readonly code: string | undefined,
    readonly detail: string
  ) {}

  /** The grant or the client is of no use any more. Anything else may come from something in between. */
  get isFinal(): boolean {
    return this.code !== undefined && finalCodes.has(this.code)
  }
}

const finalCodes: ReadonlySet<string> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"])

export type Params = ReadonlyArray<readonly [string, string]>

/** By which a client shows who it is. */
export interface ClientProof {
  readonly headers: { readonly [name: string]: string }
  readonly params: Params
}

interface TokenRequest {
  readonly endpoint: string
  readonly params: Params
  /** Made for each try: a signature may be good for one. */
  readonly client: Effect.Effect<ClientProof, McpError.McpError>
  /** What is asked for is to be bound to it. */
  readonly key?: Dpop.Key | undefined
  /** What must not show, beside the parameters that are secrets. */
  readonly secrets?: ReadonlyArray<string> | undefined
}

export type Fields = { readonly [key: string]: unknown }

/** An answer that can't be used, and why. */
export interface Unusable {
  readonly unusable: string
}

const what = "the token request"
const millis = 30_000
const mostNonces = 2

const secretParams: ReadonlySet<string> = new Set([
  "assertion",
  "code",
  "code_verifier",
  "refresh_token",
  "client_secret",
  "client_assertion",
  "subject_token"
])

type Read<A> = (body: Fields, now: number) => A | Unusable | undefined

export const ask = <A extends object>(
  requests: Requests,
  request: TokenRequest,
  read: Read<A>
): Effect.Effect<A, McpError.McpError | Rejected> => askAgain(requests, request, read, 0)

/** `before`: how often it was asked already, and wanted to see another nonce. */
const askAgain = <A extends object>(
  requests: Requests,
  request: TokenRequest,
  read: Read<A>,
  before: number
): Effect.Effect<A, McpError.McpError | Rejected> =>
  Effect.gen(function*() {
    const { client, endpoint, key, secrets = [] } = request
    const { nonces, server } = requests
    const url = new URL(endpoint)
    const shown = yield* client
    const params = new URLSearchParams([...request.params, ...shown.params].map(([name, value]) => [name, value]))
    const nonce = nonces.of(url.origin)
    const proof = key === undefined
      ? undefined
      : yield* proven(server, Dpop.prove(key, { method: "POST", url: url.href, nonce }))
    const answer = yield* requests.send({
      method: "POST",
      url,
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        ...shown.headers,
        ...(proof === undefined ? undefined : { dpop: proof })
      },
      body: params.toString(),
      what,
      millis
    })
    const now = yield* Clock.currentTimeMillis
    const { status } = answer
    const learned = key === undefined ? undefined : nonces.learn(url.origin, answer.header("dpop-nonce"))
    if (Reasons.isTroubled(status)) {
      const retryAfter = retryAfterMillis(answer.header("retry-after"), now)
      return yield* Effect.fail(Reasons.troubled(server, what, url, status, retryAfter))
    }
    const body = objectOf(answer.body)
    if (learned !== undefined && learned !== nonce && before < mostNonces && wantsNonce(status, body)) {
      return yield* askAgain(requests, request, read, before + 1)
    }
    const found = status === 200 && body !== undefined ? read(body, now) : undefined
    if (found !== undefined && !("unusable" in found)) return found
    const sent = [...params].filter(([name]) => secretParams.has(name)).map(([, value]) => value)
    const hidden = Secrets.spellingsOf([...sent, ...secrets, ...valuesOf(shown.headers)])
    return yield* Effect.fail(rejected(url, status, body, [...requests.exposed(), ...hidden], found?.unusable))
  })

/** Where there is no Web Crypto, nothing can be signed. */
export const proven = <A>(server: string, made: Effect.Effect<A, "NoCrypto">): Effect.Effect<A, McpError.McpError> =>
  Effect.mapError(
    made,
    () => Reasons.misconfigured(server, "auth", "can't be used: this platform has no Web Crypto with ES256")
  )

const wantsNonce = (status: number, body: Fields | undefined): boolean =>
  (status === 400 || status === 401) && body?.error === "use_dpop_nonce"

const errorCode = /^[a-z_]{1,64}$/

const rejected = (
  url: URL,
  status: number,
  body: Fields | undefined,
  secrets: ReadonlyArray<string>,
  unusable: string | undefined
): Rejected => {
  const where = McpError.displayUrl(url.href)
  if (status >= 300 && status < 400) {
    return new Rejected(undefined, `${where} answers with a redirect, which is not followed`)
  }
  const error = body?.error
  const code = typeof error === "string" && errorCode.test(error) ? error : undefined
  if (code === undefined && status === 200) {
    return new Rejected(undefined, `${where} gives ${unusable ?? "no token that can be used"}`)
  }
  const shown = code ?? Reasons.shown(error, secrets) ?? "no reason given"
  const description = Reasons.shown(body?.error_description, secrets)
  return new Rejected(
    code ?? (status === 401 ? "invalid_client" : undefined),
    `${where} refuses to give a token (HTTP ${status}): ${shown}${description === undefined ? "" : `, ${description}`}`
  )
}
