/**
 * The codes and tokens of the authorization server of `AuthFixture`.
 *
 * Owns: which are valid, for whom and for what, and that a refresh token which comes back after it was replaced ends its
 * whole family.
 * May not touch: requests and answers.
 */
import { createHash, randomUUID } from "node:crypto"

export interface Grant {
  readonly client: string
  readonly scope: string | undefined
  readonly resource: string | undefined
  /** All that came from one authorization. */
  readonly family: string
  /** The thumbprint of the key without which it is of no use. */
  readonly key?: string | undefined
}

export interface Code extends Grant {
  readonly challenge: string | undefined
  readonly redirectUri: string | undefined
}

export interface Issued {
  readonly accessToken: string
  readonly refreshToken: string | undefined
}

export class Tokens {
  private readonly codes = new Map<string, Code>()
  private readonly access = new Map<string, Grant>()
  private readonly refresh = new Map<string, Grant>()
  private readonly replaced = new Map<string, Grant>()
  reuses = 0

  constructor(private readonly secret: (value: string) => void) {}

  newCode(code: Omit<Code, "family">): string {
    const value = this.fresh("code")
    this.codes.set(value, { ...code, family: randomUUID() })
    return value
  }

  /** A code is good for one use. */
  takeCode(value: string | undefined): Code | undefined {
    const code = this.codes.get(value ?? "")
    this.codes.delete(value ?? "")
    return code
  }

  issue(grant: Grant, refreshable: boolean): Issued {
    const accessToken = this.fresh("access")
    this.access.set(accessToken, grant)
    if (!refreshable) return { accessToken, refreshToken: undefined }
    const refreshToken = this.fresh("refresh")
    this.refresh.set(refreshToken, grant)
    return { accessToken, refreshToken }
  }

  granted(accessToken: string | undefined): Grant | undefined {
    return this.access.get(accessToken ?? "")
  }

  refreshable(refreshToken: string | undefined): Grant | undefined {
    const grant = this.refresh.get(refreshToken ?? "")
    if (grant !== undefined) return grant
    const stolen = this.replaced.get(refreshToken ?? "")
    if (stolen === undefined) return undefined
    this.reuses++
    for (const tokens of [this.access, this.refresh]) {
      for (const [token, { family }] of tokens) if (family === stolen.family) tokens.delete(token)
    }
    return undefined
  }

  replace(refreshToken: string): void {
    const grant = this.refresh.get(refreshToken)
    if (grant === undefined) return
    this.refresh.delete(refreshToken)
    this.replaced.set(refreshToken, grant)
  }

  expireAccess(): void {
    this.access.clear()
  }

  revokeRefresh(): void {
    this.refresh.clear()
  }

  private fresh(kind: string): string {
    const value = `${kind}-${randomUUID()}`
    this.secret(value)
    return value
  }
}

export const isVerifier = (challenge: string | undefined, verifier: string | undefined): boolean =>
  challenge !== undefined && verifier !== undefined && /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) &&
  createHash("sha256").update(verifier).digest("base64url") === challenge
