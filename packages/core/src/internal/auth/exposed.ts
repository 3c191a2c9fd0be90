/**
 * What was given to the servers of an authorization, or by them, and must not show, should one of them repeat it.
 *
 * Owns: that all of it is known for a while after it was replaced, in bounded number.
 * May not touch: texts; and what is kept.
 */
import * as Redacted from "effect/Redacted"
import * as Secrets from "../secrets.js"
import type * as Records from "./record.js"

type Secret = Redacted.Redacted<string>

const mostRemembered = 64

export class Exposed {
  /** In all spellings. Another list each time that there is something new. */
  spellings: ReadonlyArray<string> = Secrets.none
  /** The newest last. */
  private readonly values = new Set<string>()

  add(...secrets: ReadonlyArray<string | undefined>): void {
    let isNew = false
    for (const secret of secrets) {
      if (secret === undefined) continue
      if (!this.values.delete(secret)) isNew = true
      this.values.add(secret)
    }
    if (!isNew) return
    for (const oldest of this.values) {
      if (this.values.size <= mostRemembered) break
      this.values.delete(oldest)
    }
    this.spellings = Secrets.spellingsOf(this.values)
  }

  /** All that is kept is in use. */
  addRecord({ clients, pending, tokens }: Records.Record): void {
    const of = (secret: Secret | undefined) => secret === undefined ? undefined : Redacted.value(secret)
    this.add(
      ...clients.map((_) => of(_.clientSecret)),
      of(pending?.client.clientSecret),
      of(pending?.verifier),
      of(tokens?.client.clientSecret),
      of(tokens?.refresh),
      of(tokens?.key?.d),
      of(tokens?.access)
    )
  }
}
