/**
 * Content types.
 */

export const isEventStream = (type: string | undefined): boolean =>
  type === "text/event-stream" || (type !== undefined && /^\s*text\/event-stream\s*(?:;|$)/i.test(type))

export const isJson = (type: string | undefined): boolean =>
  type === "application/json" || (type !== undefined && /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type))
