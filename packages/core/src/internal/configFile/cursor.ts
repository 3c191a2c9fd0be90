/**
 * What Cursor writes in another way: `"auth": { "CLIENT_ID": "...", "CLIENT_SECRET": "...", "scopes": [...] }`.
 *
 * Owns: that spelling, for the reader and for editors.
 * May not touch: everything else, which is written as it is here.
 */
import type { JsonObject } from "../../McpProtocol.js"

type Fields = Readonly<Record<string, unknown>>

const isFields = (u: unknown): u is Fields => typeof u === "object" && u !== null && !Array.isArray(u)

/** The server in our words. */
export const read = (server: unknown): unknown => {
  if (!isFields(server) || !isFields(server.auth) || !Object.hasOwn(server.auth, "CLIENT_ID")) return server
  const { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, ...rest } = server.auth
  return { ...server, auth: { type: "oauth", ...rest, clientId, ...(clientSecret !== undefined && { clientSecret }) } }
}

export const authSchema: JsonObject = {
  type: "object",
  description: "As Cursor writes it.",
  required: ["CLIENT_ID"],
  properties: {
    CLIENT_ID: { type: "string", pattern: "\\S" },
    CLIENT_SECRET: { $ref: "#/$defs/Secret" },
    scopes: { type: "array", items: { type: "string", pattern: "\\S" } }
  },
  additionalProperties: false
}
