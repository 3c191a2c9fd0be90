/**
 * Skills that a server offers: instructions for an agent, with the files that belong to them. The extension
 * `io.modelcontextprotocol/skills` of the protocol (SEP-2640).
 *
 * Owns: the list of skills, reading a file of one, and the check of what was read against the entry of its skill before
 * anything of it is given out.
 * May not touch: agents, approvals, the disk. Nothing is read ahead, nothing is run, no permission that a skill asks for is
 * given, and no URI of a server is ever resolved by us: it only goes back to the server that it came from.
 *
 * ```text
 * list, get ......... entries: what a person can be asked about. No file is read.
 * load(entry) ....... SKILL.md, if its length, its digest and its frontmatter are those of the entry
 *   read(path) ...... one more file of that entry, if its length and its digest are those of the entry
 * ```
 *
 * What does not fit fails with `InvalidResult`, and nothing of it is given out. After that a loaded skill is refused: no
 * file of it is read any more. `get` and `load` begin anew, with the entry as it is now.
 *
 * A digest comes from the same server as the file. It shows that they belong together, not that one can trust them.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as internal from "./internal/skills/skills.js"
import type { CallOptions, McpConnection } from "./McpConnection.js"
import type * as McpError from "./McpError.js"
import type * as McpProtocol from "./McpProtocol.js"

export { extension, maxBytes, maxFiles } from "./internal/skills/entry.js"

/**
 * One file of a skill, as the entry of the skill describes it.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillFile {
  readonly uri: string
  /** Relative to the skill: `SKILL.md`, `references/FORMS.md`. Has no empty, `.` or `..` segment, and no backslash. */
  readonly path: string
  /** `sha256:`, and 64 hexadecimal digits. */
  readonly digest: string
  /** In bytes. */
  readonly size: number
}

/**
 * The entry of a skill. A skill is identified by `server` and `uri` together; names are not unique.
 *
 * @since 0.1.0
 * @category models
 */
export interface Skill {
  /** The configured name of the server that it comes from. */
  readonly server: string
  /** The URI of its `SKILL.md`. */
  readonly uri: string
  readonly name: string
  readonly description: string
  /** Everything that its `SKILL.md` begins with. What it asks for there, such as `allowed-tools`, is only a wish. */
  readonly frontmatter: McpProtocol.JsonObject
  /** All its files, `SKILL.md` among them. `"dynamic"`: they change, so that nothing could be checked, and it can't be loaded. */
  readonly files: ReadonlyArray<SkillFile> | "dynamic"
}

/**
 * A file of a skill that was checked.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillContent {
  readonly uri: string
  readonly path: string
  readonly mimeType: string | undefined
  /** What the server sent as a text; of what it sent as bytes there are only those. */
  readonly text: string | undefined
  /** The bytes that were checked. */
  readonly bytes: Uint8Array
}

/**
 * A skill whose `SKILL.md` was checked.
 *
 * @since 0.1.0
 * @category models
 */
export interface LoadedSkill {
  /** The entry that it was loaded with, and that its files are checked against. */
  readonly skill: Skill
  /** The whole text of `SKILL.md`. */
  readonly text: string
  /** The text without the frontmatter: what the agent is to do. */
  readonly instructions: string
  /**
   * Reads one file: `references/FORMS.md`, also `./references/FORMS.md`, or its URI. Only files of the entry can be read, and
   * none any more after one that did not fit.
   */
  readonly read: (path: string, options?: CallOptions) => Effect.Effect<SkillContent, McpError.McpError>
}

/**
 * All skills that a server lists. An entry that breaks the rules of the extension is left out, and `dropped` says why. No
 * file is read. A server may have skills that it does not list: see `get`.
 *
 * @example
 * ```ts
 * import { type McpConnection, McpSkills } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const catalogue = (connection: McpConnection.McpConnection) =>
 *   Effect.map(McpSkills.list(connection), ({ items }) => items.map(({ description, name }) => `${name}: ${description}`))
 * ```
 *
 * @since 0.1.0
 * @category operations
 */
export const list: (
  connection: McpConnection,
  options?: CallOptions
) => Effect.Effect<McpProtocol.Listing<Skill>, McpError.McpError> = internal.list

/**
 * The entry of the skill whose `SKILL.md` has this URI, as it is now. No file is read.
 *
 * @since 0.1.0
 * @category operations
 */
export const get: (
  connection: McpConnection,
  uri: string,
  options?: CallOptions
) => Effect.Effect<Skill, McpError.McpError> = internal.get

/**
 * Reads `SKILL.md` of a skill. It must have the length, the digest and the frontmatter of the entry.
 *
 * @example
 * ```ts
 * import { type McpConnection, McpSkills } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const forms = Effect.fnUntraced(function*(connection: McpConnection.McpConnection, entry: McpSkills.Skill) {
 *   const skill = yield* McpSkills.load(connection, entry)
 *   const { text } = yield* skill.read("references/FORMS.md")
 *   return [skill.instructions, text]
 * })
 * ```
 *
 * @since 0.1.0
 * @category operations
 */
export const load: (
  connection: McpConnection,
  skill: Skill,
  options?: CallOptions
) => Effect.Effect<LoadedSkill, McpError.McpError> = internal.load

/**
 * What a person's approval of a skill is to be kept with: it changes with the server, the URI, and with each file that is
 * added, removed or changed. Nothing for a skill whose files change: there is nothing that an approval could hold on to.
 *
 * @since 0.1.0
 * @category accessors
 */
export const fingerprint: (skill: Skill) => string | undefined = internal.fingerprint
