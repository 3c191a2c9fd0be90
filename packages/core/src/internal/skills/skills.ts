/**
 * The operations on skills, over a connection.
 *
 * Owns: what is asked of a server, and that `SKILL.md` says what its entry says.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { CallOptions, McpConnection } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import type { LoadedSkill, Skill } from "../../McpSkills.js"
import { whole } from "../connection/operations.js"
import { listAll } from "../operations/lists.js"
import { type Port, requiring } from "../operations/port.js"
import { shownAs } from "../shownAs.js"
import { sha256 } from "../toolset/sha256.js"
import * as Entry from "./entry.js"
import * as Frontmatter from "./frontmatter.js"
import * as Held from "./held.js"

type Result<A> = Effect.Effect<A, McpError.McpError>

const ifAnnounced = <A>(port: Port, method: string, effect: Result<A>): Result<A> => {
  const { extensions } = port.info.capabilities
  const announced = McpProtocol.isObject(extensions) && Object.hasOwn(extensions, Entry.extension)
    ? extensions[Entry.extension]
    : undefined
  return requiring(port, method, `extensions["${Entry.extension}"]`, announced, effect)
}

export const list = (connection: McpConnection, options?: CallOptions): Result<McpProtocol.Listing<Skill>> =>
  whole(
    connection,
    "skills/list",
    (port, options) =>
      ifAnnounced(
        port,
        "skills/list",
        Effect.suspend(() => listAll(port, "skills/list", "skills", decoderOfList(connection.server), options))
      ),
    options
  )

/** One URI is one skill. */
const decoderOfList = (server: string): (item: unknown) => McpProtocol.Decoded<Skill> => {
  const seen = new Set<string>()
  return (item) => {
    const decoded = Entry.decode(server, item)
    if ("problem" in decoded) return decoded
    const { name, uri } = decoded.value
    if (seen.has(uri)) return { problem: `"uri" is that of an earlier skill`, name }
    seen.add(uri)
    return decoded
  }
}

export const get = (connection: McpConnection, uri: string, options?: CallOptions): Result<Skill> =>
  connection.perform({
    method: "skills/get",
    options,
    send: (session, options) => {
      const decode = decoderOf(connection.server, uri)
      return ifAnnounced(session, "skills/get", session.requestWith("skills/get", { uri }, decode, options))
    }
  })

const decoderOf =
  (server: string, uri: string) => (result: unknown): { readonly value: Skill } | { readonly problem: string } => {
    if (!McpProtocol.isObject(result)) return { problem: "the result is not an object" }
    const decoded = Entry.decode(server, result.skill)
    if ("problem" in decoded) return { problem: `"skill": ${decoded.problem}` }
    return decoded.value.uri === uri ? decoded : { problem: `"skill" is another one than was asked for` }
  }

export const load = (connection: McpConnection, skill: Skill, options?: CallOptions): Result<LoadedSkill> =>
  Effect.suspend(() =>
    Either.match(entryOf(connection, skill), {
      onLeft: (problem) => Effect.fail(Held.unusable(connection, "skill", problem)),
      onRight: (entry) => open(new Held.Held(connection, entry), options)
    })
  )

/** Applications keep entries in files and databases, so that it is looked at again. */
const entryOf = (connection: McpConnection, skill: Skill): Either.Either<Held.Entry, string> => {
  const { description, files, frontmatter, name, server, uri } = skill
  if (server !== connection.server) return Either.left(`is one of the server "${McpError.displayName(server, 100)}"`)
  const decoded = Entry.decode(server, { uri, frontmatter, resources: files })
  if ("problem" in decoded) return Either.left(decoded.problem)
  const entry = decoded.value
  if (entry.name !== name || entry.description !== description) {
    return Either.left("its name or its description is not that of its frontmatter")
  }
  return entry.files === "dynamic"
    ? Either.left(`its files are "dynamic": none of them could be checked, so it can't be loaded`)
    : Either.right({ ...entry, files: entry.files })
}

const open = (held: Held.Held, options: CallOptions | undefined): Result<LoadedSkill> =>
  Effect.flatMap(held.read(held.entry.uri, options), ({ bytes, path }) => {
    const { entry } = held
    const document = Frontmatter.parse(bytes)
    if (Either.isLeft(document)) return Effect.fail(held.refuse(path, document.left))
    const { body, head, text } = document.right
    const field = Frontmatter.difference(head, entry.frontmatter)
    if (field !== undefined) {
      const where = field === "" ? "" : `, in ${McpError.displayText(field, 100)}`
      return Effect.fail(held.refuse(path, `its frontmatter is another one than in the entry${where}`))
    }
    const skill: LoadedSkill = {
      skill: entry,
      text,
      instructions: body,
      read: (path, options) => held.read(path, options)
    }
    return Effect.succeed(
      Object.freeze(shownAs(skill, "LoadedSkill", () => ({ server: entry.server, uri: entry.uri })))
    )
  })

/** For the same files it is the same, in whatever order the server lists them. */
export const fingerprint = ({ files, server, uri }: Skill): string | undefined =>
  files === "dynamic"
    ? undefined
    : sha256(JSON.stringify([server, uri, files.map((_) => JSON.stringify([_.uri, _.digest])).sort()]))
