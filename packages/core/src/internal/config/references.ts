/**
 * References in texts of a configuration: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:id}`, `${workspaceFolder}`,
 * `${workspaceFolderBasename}` and `${userHome}`.
 *
 * Owns: what is a reference in a text, and what is only text.
 * May not touch: what a reference stands for.
 */

/** What stands in place of a reference. */
export interface Variable {
  readonly kind: "env" | "input" | "workspaceFolder" | "workspaceFolderBasename" | "userHome"
  readonly name: string
  /** What it is where it is not set; it may hold references itself. */
  readonly otherwise: Template | undefined
}

/** A text in its parts, in order. */
export type Template = ReadonlyArray<string | Variable>

/** A default within a default within a default is written by hand; more than this is not. */
export const mostNested = 16

/** The beginning of a reference, up to its end or to its default. Bounded, so that no text takes long. */
const opening = /\$\{(?:(env|input):([^\s{}$:="'\\\p{Cc}]{1,256})|([A-Za-z_][A-Za-z0-9_]{0,255}))(\}|:-)/uy

/** A reference whose end was not found yet, or the text as a whole. */
interface Open {
  readonly variable: Pick<Variable, "kind" | "name">
  readonly start: number
  /** Where its default begins. */
  readonly body: number
  readonly parts: Array<string | Variable>
}

/**
 * The text in its parts, in one pass. What is no reference stays as it is: `$NAME`, `${NAME-x}`, `${ NAME }`, one without an
 * end. Nothing where defaults are nested too deeply.
 */
export const parse = (text: string): Template | undefined => {
  const root: Array<string | Variable> = []
  const stack: Array<Open> = []
  const mark = /\$\{|\}/g
  let taken = 0
  let parts = root
  const take = (until: number): void => {
    if (until > taken) parts.push(text.slice(taken, until))
  }
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const at = found.index
    if (found[0] === "}") {
      const closed = stack.pop()
      if (closed === undefined) continue
      take(at)
      parts = stack.at(-1)?.parts ?? root
      parts.push({ ...closed.variable, otherwise: closed.parts })
      taken = at + 1
      continue
    }
    opening.lastIndex = at
    const matched = opening.exec(text)
    if (matched === null) continue
    if (stack.length === mostNested && matched[4] !== "}") return undefined
    take(at)
    taken = mark.lastIndex = opening.lastIndex
    const variable = variableOf(matched[1], matched[2] ?? matched[3]!)
    if (matched[4] === "}") {
      parts.push({ ...variable, otherwise: undefined })
    } else {
      parts = []
      stack.push({ variable, start: at, body: taken, parts })
    }
  }
  take(text.length)
  // Those that never end are text, which may hold references that do.
  for (const { body, parts, start } of stack) {
    root.push(text.slice(start, body))
    for (const part of parts) root.push(part)
  }
  return root
}

const variableOf = (prefix: string | undefined, name: string): Pick<Variable, "kind" | "name"> =>
  prefix === "env" || prefix === "input"
    ? { kind: prefix, name }
    : name === "workspaceFolder" || name === "workspaceFolderBasename" || name === "userHome"
    ? { kind: name, name }
    : { kind: "env", name }

/** Whether something in the text is to be resolved. */
export const isTemplate = (text: string): boolean =>
  text.includes("${") && (parse(text)?.some((_) => typeof _ !== "string") ?? true)

/** The text as it is written, without defaults. Nothing where it holds no references. */
const namesOnly = (text: string): string | undefined => {
  if (!isTemplate(text)) return undefined
  const named = (parse(text) ?? []).map((_) => typeof _ === "string" ? _ : nameOf(_))
  return named.join("").replace(/\p{Cc}/gu, " ")
}

const nameOf = ({ kind, name }: Variable): string => kind === "input" ? `\${input:${name}}` : `\${${name}}`

/** What a text refers to, also where it only does so if something else is not set. */
export const namesIn = (text: string): ReadonlyArray<string> => namesOfAll(parse(text) ?? [])

const namesOfAll = (parts: Template): ReadonlyArray<string> =>
  parts.flatMap((_) => typeof _ === "string" ? [] : [nameOf(_), ...namesOfAll(_.otherwise ?? [])])

/** A URL that is not known yet, in its parts that are no secret. Nothing where it holds no references. */
export const urlParts = (
  text: string
): { readonly place: string; readonly query: ReadonlyArray<string> } | undefined => {
  const named = namesOnly(text)
  if (named === undefined) return undefined
  const [, place, query = ""] = /^([^?#]*)(?:\?([^#]*))?/.exec(named)!
  return {
    place: place!.replace(/^([a-z][a-z0-9+.-]*:[/\\]*)?[^/\\]*@/i, "$1"),
    query: query.split("&").map((_) => _.replace(/=.*$/s, "")).filter((_) => _ !== "")
  }
}
