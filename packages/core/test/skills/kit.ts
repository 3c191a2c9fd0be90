/**
 * A server of skills for the tests: honest unless a test changes an entry or an answer.
 */
import { type McpConnection, type McpError, type McpProtocol, McpSkills } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { connect, http } from "../connection/kit.js"

export const main = "skill://pdf-processing/SKILL.md"
export const forms = "skill://pdf-processing/references/FORMS.md"

export const instructions = "# PDF\n\nRead `references/FORMS.md`.\n"
export const skillText = `---\nname: pdf-processing\ndescription: Fill PDF forms\n---\n\n${instructions}`
export const formsText = "Fields: naïve\n"

const bytesOf = (content: string | Uint8Array) => typeof content === "string" ? Buffer.from(content) : content

export const fileOf = (uri: string, content: string | Uint8Array): McpProtocol.JsonObject => ({
  uri,
  digest: `sha256:${createHash("sha256").update(bytesOf(content)).digest("hex")}`,
  size: bytesOf(content).length
})

export const entry: McpProtocol.JsonObject = {
  uri: main,
  frontmatter: { name: "pdf-processing", description: "Fill PDF forms" },
  resources: [fileOf(main, skillText), fileOf(forms, formsText)]
}

/** An entry, and a file, of a skill with this `SKILL.md`. */
export const skillWith = (text: string, frontmatter: object): McpProtocol.JsonObject => ({
  ...entry,
  frontmatter: { name: "pdf-processing", description: "Fill PDF forms", ...frontmatter },
  resources: [fileOf(main, text), fileOf(forms, formsText)]
})

export const textContent = (uri: string, text: string) => ({ contents: [{ uri, mimeType: "text/markdown", text }] })

export const capabilities = { resources: {}, extensions: { [McpSkills.extension]: {} } }

interface Script {
  readonly skills?: ReadonlyArray<unknown>
  readonly files?: { readonly [uri: string]: unknown }
  readonly handlers?: { readonly [method: string]: ScriptedServer.Handler }
  readonly capabilities?: McpProtocol.ServerCapabilities
  readonly limits?: object
  readonly options?: McpConnection.ConnectionOptions
}

/** A server with these entries and files, and a connection to it. A file is a text, or the whole answer. */
export const serving = (script: Script = {}) => {
  const files = new Map<string, unknown>(Object.entries({ [main]: skillText, [forms]: formsText, ...script.files }))
  const skills = script.skills ?? [entry]
  return Effect.map(
    connect({ ...http, limits: script.limits }, {
      capabilities: script.capabilities ?? capabilities,
      handlers: {
        "skills/list": () => Effect.succeed({ skills }),
        "skills/get": ({ params }) => {
          const skill = skills.find((_) => (_ as { uri: unknown }).uri === params.uri)
          return skill === undefined
            ? Effect.fail(new ScriptedServer.RpcError({ code: -32602, message: "no such skill" }))
            : Effect.succeed({ skill })
        },
        "resources/read": ({ params }) =>
          Effect.suspend(() => {
            const uri = String(params.uri)
            const content = files.get(uri)
            return content === undefined
              ? Effect.fail(new ScriptedServer.RpcError({ code: -32602, message: "no such file" }))
              : Effect.succeed(typeof content === "string" ? textContent(uri, content) : content)
          }),
        ...script.handlers
      }
    }, script.options),
    ({ connection, server }) => ({
      connection,
      server,
      files,
      /** The URIs that were read, in order. */
      reads: Effect.map(server.receivedOf("resources/read"), (all) => all.map((_) => _.params.uri))
    })
  )
}

/** The only skill of the list. */
export const only = (connection: McpConnection.McpConnection): Effect.Effect<McpSkills.Skill, McpError.McpError> =>
  Effect.map(McpSkills.list(connection), ({ items }) => items[0]!)

/** Lists, and loads the only skill. */
export const loaded = (
  connection: McpConnection.McpConnection
): Effect.Effect<McpSkills.LoadedSkill, McpError.McpError> =>
  Effect.flatMap(only(connection), (skill) => McpSkills.load(connection, skill))
