/**
 * Whether tokens of an application were given for what its configuration shows.
 *
 * Owns: what is kept beside them to tell that. It is of little use to whoever guesses a secret: it is salted, and each guess
 * takes a hundred thousand rounds. One is computed in the life of an application, as a rule.
 * May not touch: the store; what is shown to anybody.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { base64url, random } from "./pkce.js"

/** Both are texts without a secret. */
export interface Proof {
  readonly salt: string
  readonly hash: string
}

const iterations = 100_000

export class Witness {
  private known: Proof | undefined

  /** Nothing where it is no application: then whoever has the store has its tokens. */
  constructor(private readonly credentials: Redacted.Redacted<string> | undefined) {}

  /** For new tokens. */
  readonly proof: Effect.Effect<Proof | undefined> = Effect.suspend(() =>
    this.known !== undefined ? Effect.succeed(this.known) : Effect.flatMap(random, (salt) => this.with(salt))
  )

  /** Whether this is kept beside tokens that were given for the same. */
  knows(proof: Proof | undefined): Effect.Effect<boolean> {
    if (this.credentials === undefined) return Effect.succeed(true)
    return proof === undefined
      ? Effect.succeed(false)
      : Effect.map(this.with(proof.salt), (own) => own?.hash === proof.hash)
  }

  /** Nothing where it can't be computed. */
  private with(salt: string): Effect.Effect<Proof | undefined> {
    const { credentials, known } = this
    if (credentials === undefined || known?.salt === salt) return Effect.succeed(known)
    return Effect.tryPromise(() => hashOf(Redacted.value(credentials), salt)).pipe(
      Effect.map((hash) => this.known = { salt, hash }),
      Effect.orElseSucceed(() => undefined)
    )
  }
}

const hashOf = (credentials: string, salt: string): Promise<string> => {
  const bytes = new TextEncoder()
  const how = { name: "PBKDF2", hash: "SHA-256", salt: bytes.encode(salt), iterations }
  return crypto.subtle.importKey("raw", bytes.encode(credentials), "PBKDF2", false, ["deriveBits"])
    .then((key) => crypto.subtle.deriveBits(how, key, 256))
    .then((bits) => base64url(new Uint8Array(bits)))
}
