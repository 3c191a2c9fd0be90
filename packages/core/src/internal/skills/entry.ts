/**
 * Entries of skills as servers send them.
 *
 * Owns: what an entry must have. It is whole or it is refused: with a file less, it would be another skill.
 */
import * as McpProtocol from "../../McpProtocol.js"
import type { Skill, SkillFile } from "../../McpSkills.js"
import * as Places from "./places.js"

/**
 * How servers announce the extension. A client that knows it says so, too, with the option `capabilities` of a connection:
 * `{ extensions: { [McpSkills.extension]: {} } }`.
 *
 * @since 0.1.0
 * @category constants
 */
export const extension = "io.modelcontextprotocol/skills"

/**
 * How many files a skill may have. An entry with more is left out of the list.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxFiles = 512

/**
 * How many bytes the files of a skill may have together: 16 MiB. An entry with more is left out of the list.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxBytes = 16_777_216

type Refused = { readonly problem: string }

export const decode = (server: string, item: unknown): McpProtocol.Decoded<Skill> => {
  if (!McpProtocol.isObject(item)) return { problem: "is not an object" }
  const { frontmatter, uri } = item
  if (typeof uri !== "string") return { problem: `"uri" is not a text` }
  const place = Places.placeOf(uri)
  if (place === undefined) {
    return { problem: `"uri" is not the place of a skill, such as skill://name/SKILL.md`, name: uri.slice(0, 128) }
  }
  const refused = (problem: string) => ({ problem, name: place.name.slice(0, 128) })
  if (!McpProtocol.isObject(frontmatter)) return refused(`"frontmatter" is not an object`)
  const name = textOf(frontmatter, "name")
  const description = textOf(frontmatter, "description")
  if (name === undefined || !isSkillName(name)) {
    return refused(`"frontmatter.name" is not made of 1 to 64 small letters, digits and single hyphens`)
  }
  if (name !== place.name) return refused(`"frontmatter.name" is not the last part of the path of "uri"`)
  if (description === undefined) return refused(`"frontmatter.description" is not a non-empty text`)
  const files = filesOf(place, uri, item.resources)
  if ("problem" in files) return refused(files.problem)
  return { value: Object.freeze({ server, uri, name, description, frontmatter, files: files.value }) }
}

const textOf = (object: McpProtocol.JsonObject, field: string): string | undefined => {
  const value = Object.hasOwn(object, field) ? object[field] : undefined
  return typeof value === "string" && value.trim() !== "" ? value : undefined
}

const isSkillName = (name: string): boolean =>
  name.length <= 64 && /^[\p{Ll}\p{Lo}\p{M}\p{Nd}]+(?:-[\p{Ll}\p{Lo}\p{M}\p{Nd}]+)*$/u.test(name)

const filesOf = (
  place: Places.Place,
  main: string,
  resources: unknown
): { readonly value: Skill["files"] } | Refused => {
  if (resources === "dynamic") return { value: resources }
  if (!Array.isArray(resources)) return { problem: `"resources" is neither a list of files nor "dynamic"` }
  if (resources.length > maxFiles) {
    return { problem: `"resources" has ${resources.length} files; at most ${maxFiles} are accepted` }
  }
  const files: Array<SkillFile> = []
  const paths = new Set<string>()
  let bytes = 0
  for (const [index, resource] of resources.entries()) {
    const file = fileOf(place, resource)
    if ("problem" in file) return { problem: `"resources[${index}]${file.problem}` }
    if (paths.has(file.path)) return { problem: `"resources[${index}]" has the same path as an earlier file` }
    paths.add(file.path)
    bytes += file.size
    files.push(file)
  }
  if (bytes > maxBytes) {
    return { problem: `"resources" has ${bytes} bytes together; at most ${maxBytes} are accepted` }
  }
  return files.some((_) => _.uri === main)
    ? { value: Object.freeze(files) }
    : { problem: `"resources" does not have the file of "uri" itself` }
}

const fileOf = (place: Places.Place, resource: unknown): SkillFile | Refused => {
  if (!McpProtocol.isObject(resource)) return { problem: `" is not an object` }
  const { digest, size, uri } = resource
  const path = typeof uri === "string" ? Places.pathOf(place, uri) : undefined
  if (typeof uri !== "string" || path === undefined) return { problem: `.uri" is not the place of a file in the skill` }
  if (typeof digest !== "string" || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
    return { problem: `.digest" is not "sha256:" with 64 hexadecimal digits` }
  }
  if (!Number.isSafeInteger(size) || (size as number) < 0) return { problem: `.size" is not a number of bytes` }
  return Object.freeze({ uri, path, digest, size: size as number })
}
