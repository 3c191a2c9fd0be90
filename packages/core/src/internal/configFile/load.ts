/**
 * From the texts of files to servers.
 *
 * Owns: the order of the steps, and which files and servers are left out before names are compared.
 */
import type { Level, Loaded, LoadOptions, Predicate, Problem, Source } from "../../ConfigFile.js"
import * as McpError from "../../McpError.js"
import * as Document from "./document.js"
import type { Candidate } from "./entry.js"
import { merge } from "./merge.js"

const rank: { readonly [_ in Level]: number } = { explicit: 0, project: 1, user: 2 }

export const load = (sources: ReadonlyArray<Source>, options: LoadOptions = {}): Loaded =>
  merge(
    sources
      .filter((source) => options.enableProjectConfig !== false || source.level !== "project")
      .sort((a, b) => rank[a.level] - rank[b.level])
      .map((source) => without(Document.read(source, options), options.exclude ?? []))
  )

const without = (file: Document.File, exclude: ReadonlyArray<Predicate>): Document.File => {
  if (exclude.length === 0) return file
  const problems: Array<Problem> = []
  const isKept = (candidate: Candidate): boolean => {
    if (candidate._tag === "Invalid") return true
    try {
      return !exclude.some((predicate) => predicate(candidate.discovered))
    } catch {
      problems.push({
        path: file.origin.path,
        server: McpError.displayText(candidate.name, 256),
        problem: "was left out: a predicate that decides what is left out has thrown an error",
        severity: "error"
      })
      return false
    }
  }
  const candidates = file.candidates.filter(isKept)
  return { ...file, candidates, problems: [...file.problems, ...problems] }
}
