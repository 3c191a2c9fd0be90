/**
 * Several files as one.
 *
 * Owns: which of several servers with one name is taken, and whether it is enabled.
 * May not touch: fields. A server is taken whole, or not at all.
 *
 * | the higher one is | the lower one |
 * |---|---|
 * | valid, enabled or not | is hidden |
 * | wrong | is taken |
 * | wrong, or nothing at all, but disabled | is taken and disabled: nothing connects under a name that was switched off |
 */
import type { Entry, Input, Loaded, Origin, Problem } from "../../ConfigFile.js"
import * as McpError from "../../McpError.js"
import type { File } from "./document.js"
import type { Invalid, Valid } from "./entry.js"

interface Owner {
  readonly server: Valid
  readonly shadows: Array<Origin>
  readonly switchedOff: Origin | undefined
}

/** The highest level first. */
export const merge = (files: ReadonlyArray<File>): Loaded => {
  const owners = new Map<string, Owner>()
  const broken = new Map<string, Array<Invalid>>()
  for (const { candidates } of files) {
    for (const candidate of candidates) {
      const owner = owners.get(candidate.name)
      if (owner !== undefined) {
        if (candidate._tag === "Valid") owner.shadows.push(candidate.origin)
      } else if (candidate._tag === "Valid") {
        const switchedOff = broken.get(candidate.name)?.find((_) => !_.enabled)?.origin
        owners.set(candidate.name, { server: candidate, shadows: [], switchedOff })
      } else {
        const known = broken.get(candidate.name)
        if (known === undefined) broken.set(candidate.name, [candidate])
        else known.push(candidate)
      }
    }
  }
  const disabled = firstByName(files, (file) => file.disabled)
  const enabled = firstByName(files, (file) => file.enabled)
  return {
    entries: Array.from(owners.values(), (owner) => entryOf(owner, disabled, enabled)),
    problems: files.flatMap((file) => [...file.problems, ...replaced(file, broken, owners)]),
    sources: files.map((file) => file.origin),
    inputs: inputsOf(files)
  }
}

const firstByName = (
  files: ReadonlyArray<File>,
  names: (file: File) => ReadonlyArray<string>
): ReadonlyMap<string, Origin> => {
  const found = new Map<string, Origin>()
  for (const file of files) for (const name of names(file)) if (!found.has(name)) found.set(name, file.origin)
  return found
}

/** To be switched off by name is final; to be switched on by name is stronger than what is said of the server itself. */
const entryOf = (
  { server, shadows, switchedOff }: Owner,
  disabled: ReadonlyMap<string, Origin>,
  enabled: ReadonlyMap<string, Origin>
): Entry => {
  const { config, name, origin, rules } = server
  const off = disabled.get(name) ?? (enabled.has(name) ? undefined : switchedOff)
  const isEnabled = off === undefined && (server.enabled || enabled.has(name))
  const { enabled: _, ...plain } = config
  return {
    name,
    origin,
    shadows,
    ...(off !== undefined && { disabledBy: off }),
    config: (isEnabled ? plain : { ...plain, enabled: false }) as Entry["config"],
    rules
  }
}

/** What takes the place of the servers of a file that are wrong. */
const replaced = (
  file: File,
  broken: ReadonlyMap<string, ReadonlyArray<Invalid>>,
  owners: ReadonlyMap<string, Owner>
): ReadonlyArray<Problem> =>
  file.candidates.flatMap((candidate): ReadonlyArray<Problem> => {
    if (candidate._tag === "Valid" || !broken.get(candidate.name)?.includes(candidate)) return []
    const owner = owners.get(candidate.name)
    const problem = (severity: Problem["severity"], problem: string): Problem => ({
      path: file.origin.path,
      ...candidate.place,
      server: McpError.displayText(candidate.name, 256),
      problem,
      severity
    })
    if (candidate.isSwitch) {
      return owner === undefined ? [problem("warning", "is switched off, but no file has a server of this name")] : []
    }
    if (owner === undefined) return []
    return [problem(
      "warning",
      candidate.enabled
        ? `the server of this name in ${owner.server.origin.path} is used in its place`
        : `it is disabled, and so is the server of this name in ${owner.server.origin.path}`
    )]
  })

/** Of two with one id, the first. */
const inputsOf = (files: ReadonlyArray<File>): ReadonlyMap<string, Input> => {
  const inputs = new Map<string, Input>()
  for (const file of files) for (const input of file.inputs) if (!inputs.has(input.id)) inputs.set(input.id, input)
  return inputs
}
