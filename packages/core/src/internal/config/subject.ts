/**
 * Of whom a JWT speaks.
 *
 * Owns: that answer, which tells one user from another; a JWT that is renewed speaks of the same one.
 * May not touch: whether it is true. Nobody but who issued it can say, and who it is sent to checks it.
 */

const longest = 65_536

/** Who has issued it, and about whom. A text that says neither stands for itself. */
export const of = (text: string): string => said(text) ?? text

/** Whether both say of whom they speak, and it is not the same one. */
export const isAnother = (one: string, other: string): boolean => {
  const [first, second] = [said(one), said(other)]
  return first !== undefined && second !== undefined && first !== second
}

const said = (text: string): string | undefined => {
  const claims = text.length > longest ? undefined : claimsOf(text)
  const iss = claims?.iss
  const sub = claims?.sub
  return typeof iss === "string" && typeof sub === "string" && sub !== "" ? JSON.stringify([iss, sub]) : undefined
}

const claimsOf = (jwt: string): { readonly [claim: string]: unknown } | undefined => {
  const part = jwt.trim().split(".")[1]
  if (part === undefined) return undefined
  try {
    const text = atob(part.replaceAll("-", "+").replaceAll("_", "/"))
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? value as { readonly [claim: string]: unknown } : undefined
  } catch {
    return undefined
  }
}
