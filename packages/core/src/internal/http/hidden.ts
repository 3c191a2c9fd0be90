/**
 * What must not show in one session, should the server repeat it.
 *
 * Owns: what is secret in headers; that what was sent once is hidden from then on, in bounded number.
 * May not touch: texts.
 */
import * as Secrets from "../secrets.js"
import { decodeText } from "./bytes.js"

type Headers = { readonly [name: string]: string }

/** Of headers that are others for each request. */
const mostAdded = 256

export class Hidden {
  /** Always the same list, so that who has it knows also what comes later: a request may be sent again in another's place. */
  readonly all: Array<string>
  private readonly added = new Map<string, ReadonlyArray<string>>()
  private known: ReadonlyArray<string> = Secrets.none
  private size = 0

  /** `always`: what the configuration sends. */
  constructor(private readonly always: ReadonlyArray<string>) {
    this.all = [...always]
  }

  /** With what the credentials know now, and the headers of one request. Of most requests, nothing is new. */
  with(known: ReadonlyArray<string>, headers?: Headers): ReadonlyArray<string> {
    if (known === this.known && known.length === this.size && !this.isNew(headers)) return this.all
    this.known = known
    this.size = known.length
    for (const value of Object.values(headers ?? {})) {
      const secrets = this.added.get(value) ?? Secrets.spellingsOf(within(value))
      this.added.delete(value)
      this.added.set(value, secrets)
    }
    for (const oldest of this.added.keys()) {
      if (this.added.size <= mostAdded) break
      this.added.delete(oldest)
    }
    this.all.length = 0
    this.all.push(...this.always, ...[...this.added.values()].flat(), ...known)
    return this.all
  }

  private isNew(headers: Headers | undefined): boolean {
    for (const name in headers) if (!this.added.has(headers[name]!)) return true
    return false
  }
}

/** The values of headers, and what is within those that say who we are. */
export const valuesOf = (headers: Headers): ReadonlyArray<string> => Object.values(headers).flatMap(within)

const within = (value: string): ReadonlyArray<string> => {
  const [, scheme, credentials] = /^([A-Za-z]+) +(\S.*)$/.exec(value) ?? []
  if (scheme === undefined || credentials === undefined) return [value]
  return [value, credentials, ...(scheme.toLowerCase() === "basic" ? userAndPassword(credentials) : [])]
}

const userAndPassword = (credentials: string): ReadonlyArray<string> => {
  try {
    const both = decodeText(Uint8Array.from(atob(credentials), (_) => _.charCodeAt(0)))
    return [both, both.slice(both.indexOf(":") + 1)]
  } catch {
    return []
  }
}
