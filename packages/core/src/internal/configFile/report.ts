/**
 * What is wrong with one file.
 *
 * Owns: where a problem is said to be, and how many there may be.
 * May not touch: values of the file.
 */
import type { Origin, Problem } from "../../ConfigFile.js"
import * as McpError from "../../McpError.js"
import type * as Jsonc from "./jsonc.js"

const mostProblems = 1000

/** Problems of one file. */
export class Report {
  private readonly problems: Array<Problem> = []

  constructor(private readonly origin: Origin, private readonly document?: Jsonc.Document) {}

  add(
    severity: Problem["severity"],
    problem: string,
    at: { readonly server?: string; readonly field?: string; readonly offset?: number | undefined } = {}
  ): void {
    if (this.problems.length > mostProblems) return
    if (this.problems.length === mostProblems) {
      this.problems.push({ path: this.origin.path, problem: "has more problems than are shown", severity: "warning" })
      return
    }
    this.problems.push({
      path: this.origin.path,
      ...(at.offset !== undefined && this.document?.placeOf(at.offset)),
      ...(at.server !== undefined && { server: McpError.displayText(at.server, 256) }),
      ...(at.field !== undefined && { field: McpError.displayText(at.field, 128) }),
      problem,
      severity
    })
  }

  /** In the order of the file; first what belongs to no place in it. */
  get inOrder(): ReadonlyArray<Problem> {
    return [...this.problems].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
  }

  /** For one server, which is found under this path. */
  of(server: string, path: Jsonc.Path): ServerReport {
    return new ServerReport(this, server, path, this.document)
  }
}

/** Problems of one server. An error means that it can't be used. */
export class ServerReport {
  hasErrors = false

  constructor(
    private readonly report: Report,
    private readonly server: string,
    private readonly path: Jsonc.Path,
    private readonly document: Jsonc.Document | undefined
  ) {}

  error(field: string | undefined, problem: string): void {
    this.hasErrors = true
    this.add("error", field, problem)
  }

  warning(field: string | undefined, problem: string): void {
    this.add("warning", field, problem)
  }

  /** Where the server is. */
  get place(): Partial<Jsonc.Place> {
    const offset = this.document?.offsetOf(this.path)
    return offset === undefined ? {} : this.document!.placeOf(offset)
  }

  private add(severity: Problem["severity"], field: string | undefined, problem: string): void {
    this.report.add(severity, problem, {
      server: this.server,
      ...(field !== undefined && { field }),
      offset: this.document?.offsetOf([...this.path, ...(field === undefined ? [] : pathOf(field))])
    })
  }
}

/** A field, and what is in it: `env.MY.NAME` is `MY.NAME` in `env`, and `args.0` the first of `args`. */
const pathOf = (field: string): Jsonc.Path => {
  const dot = field.indexOf(".")
  return dot === -1 ? [field] : [field.slice(0, dot), field.slice(dot + 1)]
}
