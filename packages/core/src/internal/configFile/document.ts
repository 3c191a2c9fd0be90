/**
 * One file: which servers, inputs and lists of names are in it.
 *
 * Owns: the shapes that files have, and that what is broken costs no more than itself.
 * May not touch: other files.
 */
import type { Input, LoadOptions, Origin, Problem, Source } from "../../ConfigFile.js"
import { type Candidate, isFields, read as readEntry } from "./entry.js"
import * as Jsonc from "./jsonc.js"
import { Report } from "./report.js"
import { closest } from "./suggest.js"

export interface File {
  readonly origin: Origin
  readonly candidates: ReadonlyArray<Candidate>
  readonly inputs: ReadonlyArray<Input>
  /** Names of servers that are switched off, in whatever file they are. */
  readonly disabled: ReadonlyArray<string>
  /** Names of servers that are switched on, in whatever file they are. */
  readonly enabled: ReadonlyArray<string>
  readonly problems: ReadonlyArray<Problem>
}

type Fields = Readonly<Record<string, unknown>>

const mostCharacters = 4 * 1024 * 1024
const mostServers = 1000
const mostNames = 10_000

export const read = (source: Source, options: LoadOptions): File => {
  const origin: Origin = { level: source.level, path: source.path }
  const nothing = { origin, candidates: [], inputs: [], disabled: [], enabled: [] }
  if (source.text.length > mostCharacters) {
    const report = new Report(origin)
    report.add("error", "is larger than 4 MiB, and was not read")
    return { ...nothing, problems: report.inOrder }
  }
  const document = Jsonc.parse(source.text)
  const report = new Report(origin, document)
  const { broken, root } = document
  if (broken !== undefined) {
    report.add("error", `is not valid JSON: ${broken.problem}`, { offset: broken.offset })
    return { ...nothing, problems: report.inOrder }
  }
  if (!isFields(root)) {
    report.add("error", `must be an object: { "mcpServers": { ... } }`, { offset: 0 })
    return { ...nothing, problems: report.inOrder }
  }
  const tables = tablesOf(root)
  duplicates(document, tables, report)
  if (tables.length === 0) missingTable(root, document, report)
  for (const field of Object.keys(root)) {
    if (!rootFields.includes(field)) misspeltRoot(field, tables, document, report)
  }
  return {
    origin,
    candidates: serversOf(tables, { origin, document, report, options }),
    inputs: [...inputsOf(root, [], origin, document, report), ...settingsInputs(root, origin, document, report)],
    disabled: namesOf(root, "disabledServers", origin, document, report),
    enabled: namesOf(root, "enabledServers", origin, document, report),
    problems: report.inOrder
  }
}

const rootFields = ["mcpServers", "servers", "inputs", "mcp", "disabledServers", "enabledServers"]

/** Where servers are, and what is there. */
interface Table {
  readonly path: ReadonlyArray<string>
  readonly servers: unknown
}

const tablesOf = (root: Fields): ReadonlyArray<Table> => [
  ...["mcpServers", "servers"].flatMap((key) => root[key] === undefined ? [] : [{ path: [key], servers: root[key] }]),
  ...(isFields(root.mcp) && root.mcp.servers !== undefined
    ? [{ path: ["mcp", "servers"], servers: root.mcp.servers }]
    : [])
]

interface Context {
  readonly origin: Origin
  readonly document: Jsonc.Document
  readonly report: Report
  readonly options: LoadOptions
}

const serversOf = (tables: ReadonlyArray<Table>, context: Context): ReadonlyArray<Candidate> => {
  const { document, report } = context
  const candidates: Array<Candidate> = []
  for (const { path, servers } of tables) {
    const offset = document.offsetOf(path)
    if (!isFields(servers)) {
      report.add("error", `must be an object of servers by name: { "<name>": { ... } }`, {
        field: path.join("."),
        offset
      })
      continue
    }
    for (const name of Object.keys(servers)) {
      if (candidates.length === mostServers) {
        report.add("error", `has more than ${mostServers} servers; the others were left out`, { offset })
        return candidates
      }
      candidates.push(readEntry(name, servers[name], { ...context, report: report.of(name, [...path, name]) }))
    }
  }
  return candidates
}

const duplicates = (document: Jsonc.Document, tables: ReadonlyArray<Table>, report: Report): void => {
  for (const { first, offset, path } of document.duplicates) {
    const problem = `is there twice, first in line ${document.placeOf(first).line}; this one counts`
    const table = tables.find((_) => _.path.length < path.length && _.path.every((key, i) => path[i] === key))
    if (table === undefined) report.add("warning", problem, { field: path.join("."), offset })
    else {
      const [server, ...field] = path.slice(table.path.length)
      report.add("warning", problem, {
        server: server!,
        ...(field.length > 0 && { field: field.join(".") }),
        offset
      })
    }
  }
}

/** Something else that the file holds, or a name that was misspelt. */
const misspeltRoot = (field: string, tables: ReadonlyArray<Table>, document: Jsonc.Document, report: Report): void => {
  const word = closest(field, rootFields.filter((_) => _.length > 3))
  if (word === undefined || (tables.length === 0 && isTableName(word))) return
  report.add("warning", `is not a known field: did you mean "${word}"?`, { field, offset: document.offsetOf([field]) })
}

const isTableName = (field: string): boolean => field === "mcpServers" || field === "servers"

const missingTable = (root: Fields, document: Jsonc.Document, report: Report): void => {
  const fields = Object.keys(root)
  const misspelt = fields.find((_) => !rootFields.includes(_) && isTableName(closest(_, rootFields) ?? ""))
  if (misspelt !== undefined) {
    return report.add("error", `is not a known field: did you mean "${closest(misspelt, rootFields)}"?`, {
      field: misspelt,
      offset: document.offsetOf([misspelt])
    })
  }
  if (fields.some((_) => isServer(root[_]))) {
    return report.add("error", `has servers in the wrong place: write { "mcpServers": { ... } } around them`, {
      offset: 0
    })
  }
  if (fields.every((_) => _.startsWith("$") || ["disabledServers", "enabledServers", "inputs"].includes(_))) return
  report.add("error", `has no servers: write { "mcpServers": { "<name>": { ... } } }`, { offset: 0 })
}

const isServer = (u: unknown): boolean => isFields(u) && (typeof u.command === "string" || typeof u.url === "string")

const namesOf = (
  root: Fields,
  field: "disabledServers" | "enabledServers",
  origin: Origin,
  document: Jsonc.Document,
  report: Report
): ReadonlyArray<string> => {
  const names = root[field]
  if (names === undefined) return []
  const at = { field, offset: document.offsetOf([field]) }
  if (origin.level === "project") {
    report.add("warning", "has no effect in a file of a project: it belongs into your own", at)
    return []
  }
  if (!Array.isArray(names) || names.length > mostNames) {
    report.add("error", "must be a list of the names of servers", at)
    return []
  }
  if (!names.every((_) => typeof _ === "string")) {
    report.add("warning", "must be a list of the names of servers; what is no text has no effect", at)
  }
  return names.filter((_): _ is string => typeof _ === "string")
}

const settingsInputs = (
  root: Fields,
  origin: Origin,
  document: Jsonc.Document,
  report: Report
): ReadonlyArray<Input> => isFields(root.mcp) ? inputsOf(root.mcp, ["mcp"], origin, document, report) : []

const inputsOf = (
  holder: Fields,
  path: ReadonlyArray<string>,
  origin: Origin,
  document: Jsonc.Document,
  report: Report
): ReadonlyArray<Input> => {
  if (holder.inputs === undefined) return []
  const at = { field: [...path, "inputs"].join("."), offset: document.offsetOf([...path, "inputs"]) }
  if (!Array.isArray(holder.inputs)) {
    report.add("warning", `must be a list of inputs: [{ "id": "...", "type": "promptString" }]`, at)
    return []
  }
  return holder.inputs.slice(0, mostServers).flatMap((input: unknown, i) => {
    if (isFields(input) && typeof input.id === "string" && input.id !== "") return [inputOf(input, input.id, origin)]
    report.add("warning", `must be an object with an "id"`, { ...at, field: `${at.field}.${i}` })
    return []
  })
}

const inputOf = (input: Fields, id: string, origin: Origin): Input => ({
  id,
  origin,
  type: typeof input.type === "string" ? input.type : "promptString",
  ...(typeof input.description === "string" && { description: input.description }),
  password: input.password === true,
  ...(typeof input.default === "string" && { default: input.default }),
  ...(Array.isArray(input.options) && { options: input.options.flatMap(optionOf) })
})

/** A text, or one with a label. */
const optionOf = (option: unknown): ReadonlyArray<string> => {
  const value = isFields(option) ? option.value : option
  return typeof value === "string" ? [value] : []
}
