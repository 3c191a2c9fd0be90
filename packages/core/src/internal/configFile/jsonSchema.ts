/**
 * The format of files as JSON Schema, for editors.
 *
 * Owns: what a file as a whole looks like. One server is as `format` says.
 */
import * as JSONSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import type { JsonObject } from "../../McpProtocol.js"
import * as Cursor from "./cursor.js"
import { fields, Local, notePatterns, Remote } from "./format.js"

const { $defs, $schema } = JSONSchema.make(Schema.Union(Local, Remote))

/** Notes may stand in a server, which a closed object must know. */
const withNotes = (definition: object | undefined): JsonObject => ({ ...definition, patternProperties: notePatterns })

const withCursor = (definition: JSONSchema.JsonSchema7 | undefined): object => {
  const { auth, ...properties } = definition !== undefined && "properties" in definition ? definition.properties : {}
  return { ...definition, properties: { ...properties, auth: { ...auth, anyOf: [...anyOf(auth), Cursor.authSchema] } } }
}

const anyOf = (schema: JSONSchema.JsonSchema7 | undefined): ReadonlyArray<object> =>
  schema !== undefined && "anyOf" in schema ? schema.anyOf : []

const mayStand = Object.fromEntries([...fields.local, ...fields.remote].map((_) => [_, true]))

const { command: _, url: __, ...besidePlaces } = mayStand

const switchedOff: JsonObject = {
  type: "object",
  description: "Switches a server of this name in another file off.",
  anyOf: [
    { required: ["enabled"], properties: { enabled: { enum: [false] } } },
    { required: ["disabled"], properties: { disabled: { enum: [true] } } }
  ],
  properties: besidePlaces,
  additionalProperties: false
}

const definitions: JsonObject = {
  ...$defs,
  LocalServer: withNotes($defs?.LocalServer),
  RemoteServer: withNotes(withCursor($defs?.RemoteServer)),
  SwitchedOff: withNotes(switchedOff),
  Server: { anyOf: ["LocalServer", "RemoteServer", "SwitchedOff"].map((_) => ({ $ref: `#/$defs/${_}` })) }
}

const servers = (description: string): JsonObject => ({
  type: "object",
  description,
  additionalProperties: { $ref: "#/$defs/Server" },
  propertyNames: { minLength: 1, maxLength: 256 }
})

const inputs: JsonObject = {
  type: "array",
  description: "What a user is asked for, to be used as ${input:id}.",
  items: {
    type: "object",
    required: ["id", "type"],
    properties: {
      id: { type: "string", minLength: 1 },
      type: { type: "string", description: "\"promptString\" or \"pickString\"." },
      description: { type: "string" },
      password: { type: "boolean", description: "Whether it is a secret." },
      default: { type: "string" },
      options: { type: "array" }
    }
  }
}

const names = (description: string): JsonObject => ({ type: "array", description, items: { type: "string" } })

const properties: JsonObject = {
  $schema: { type: "string" },
  mcpServers: servers("The servers, by name."),
  servers: servers("The servers, by name, as VS Code has it."),
  inputs,
  disabledServers: names("Names of servers of all files that are not connected. Not in files of a project."),
  enabledServers: names(
    "Names of servers of all files that are connected though they are disabled there. Not in files of a project."
  ),
  mcp: {
    type: "object",
    description: "The servers, as settings of VS Code have them.",
    properties: { servers: servers("The servers, by name."), inputs }
  }
}

export const jsonSchema: JsonObject = {
  $schema,
  title: "Servers of MCP",
  description: "A configuration file of mcp-runtime. Files of Claude Desktop, Cursor and VS Code are such files.",
  type: "object",
  properties,
  $defs: definitions
}
