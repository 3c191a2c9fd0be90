/**
 * What a browser is shown when it comes back. Nothing of the request is in it.
 */
import type { OutgoingHttpHeaders } from "node:http"

export interface Page {
  readonly status: number
  readonly title: string
  readonly text: string
}

export const done: Page = {
  status: 200,
  title: "You are back",
  text: "The program goes on with your authorization. You can close this window."
}

export const declined: Page = {
  status: 200,
  title: "Not authorized",
  text: "The authorization server did not authorize the program, which will say why. You can close this window."
}

export const unexpected: Page = {
  status: 400,
  title: "Not expected",
  text: "No authorization that the program has begun ends here. Please begin again from the program."
}

export const notFound: Page = { status: 404, title: "Not found", text: "There is nothing here." }

export const notAllowed: Page = { status: 405, title: "Not allowed", text: "Only GET is answered here." }

export const html = (page: Page): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${page.title}</title></head>` +
  `<body><h1>${page.title}</h1><p>${page.text}</p></body></html>\n`

/** Nothing is loaded, kept, framed, or told to another site, and the connection ends. */
export const headers: OutgoingHttpHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "connection": "close"
}
