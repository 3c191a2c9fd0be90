/**
 * What the browser brings back.
 *
 * Owns: whether it is the answer to what we asked, from whom we asked: they say so (RFC 9207), or it comes to an address that
 * is for them alone (RFC 9700, 4.4.2.2). All comparisons are of plain texts.
 * May not touch: the code, beyond handing it on.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Pkce from "./pkce.js"
import * as Reasons from "./reasons.js"
import type { Pending } from "./record.js"
import * as Urls from "./urls.js"

/** `own`: it is about this authorization, which is over with it. */
export interface Refused {
  readonly own: boolean
  readonly detail: string
}

const longest = 16 * 1024

/** Where the browser comes back to from this authorization server, and from no other one. */
export const pathOf = (issuer: string): Effect.Effect<string> =>
  Effect.map(Pkce.challengeOf(issuer), (digest) => `/callback/${digest}`)

const pathOfOne = /^\/callback\/[\w-]{43}$/

/** The code. `callback` is a URL or its query. */
export const read = (
  callback: string,
  pending: Pending,
  secrets: ReadonlyArray<string>
): Either.Either<string, Refused> => {
  const params = paramsOf(callback)
  if (params === undefined) return foreign("it is not the URL to which the browser was sent, nor its query")
  const state = one(params, "state")
  if (state === undefined || state !== pending.state) {
    return foreign("its state is not that of the authorization that was begun")
  }
  if (isElsewhere(callback, pending.redirectUri)) {
    return own("it has come back to the address that is for another authorization server")
  }
  const issuers = params.getAll("iss")
  if (issuers.length > 1 || (issuers.length === 1 && issuers[0] !== pending.authority.issuer)) {
    return own("it comes from another authorization server than the one that was asked")
  }
  if (issuers.length === 0 && pending.authority.sendsIssuer) {
    return own("it does not say from which authorization server it comes, though that server says that it would")
  }
  const error = params.get("error")
  if (error !== null) {
    const shown = [error, params.get("error_description")].map((_) => Reasons.shown(_, secrets)).filter((_) =>
      _ !== undefined
    )
    return own(`the authorization was refused: ${shown.join(", ")}`)
  }
  const code = one(params, "code")
  return code === undefined ? own("it has no code") : Either.right(code)
}

const foreign = (detail: string) => Either.left({ own: false, detail })
const own = (detail: string) => Either.left({ own: true, detail })

/** A query alone does not say where it has come to. */
const isElsewhere = (callback: string, redirectUri: string): boolean => {
  const expected = Urls.parse(redirectUri)?.pathname
  const came = URL.canParse(callback.trim()) ? new URL(callback.trim()).pathname : undefined
  return expected !== undefined && pathOfOne.test(expected) && came !== undefined && came !== expected
}

const one = (params: URLSearchParams, name: string): string | undefined => {
  const values = params.getAll(name)
  return values.length === 1 && values[0] !== "" ? values[0] : undefined
}

const paramsOf = (callback: string): URLSearchParams | undefined => {
  const text = callback.trim()
  if (text === "" || text.length > longest) return undefined
  try {
    return new URL(text).searchParams
  } catch {
    return text.includes("=") ? new URLSearchParams(text.slice(text.indexOf("?") + 1)) : undefined
  }
}
