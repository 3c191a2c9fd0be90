/**
 * The requests of the protocol that we send.
 *
 * Owns: their names, and which may run twice without harm.
 */

/** Whether it may run twice without harm. A tool's own annotations may say more of `tools/call`. */
const idempotence: ReadonlyMap<string, boolean> = new Map([
  ["initialize", false],
  ["ping", true],
  ["tools/call", false],
  ["tools/list", true],
  ["prompts/get", true],
  ["prompts/list", true],
  ["resources/list", true],
  ["resources/read", true],
  ["resources/subscribe", true],
  ["resources/templates/list", true],
  ["resources/unsubscribe", true],
  ["skills/get", true],
  ["skills/list", true],
  ["completion/complete", true],
  ["logging/setLevel", true],
  ["tasks/cancel", false],
  ["tasks/get", true],
  ["tasks/list", true],
  ["tasks/result", true]
])

export const isKnown = (method: string): boolean => idempotence.has(method)

export const isIdempotent = (method: string): boolean => idempotence.get(method) === true
