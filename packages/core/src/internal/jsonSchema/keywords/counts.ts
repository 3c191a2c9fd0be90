/**
 * Numbers of things, as keywords give them.
 */
export const isCount = (u: unknown): u is number => typeof u === "number" && Number.isInteger(u) && u >= 0
