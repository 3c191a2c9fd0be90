/**
 * All servers of a configuration, looked at together, and what is said about them.
 *
 * Owns: whether all is well, the text for people and the document for programs.
 * May not touch: servers, output streams.
 */
import type * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as McpError from "@mcp-runtime/core/McpError"
import type * as McpTransport from "@mcp-runtime/core/McpTransport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Advice, explain, format } from "../Doctor.js"
import { together } from "../together.js"
import { type Examination, examine, type Step } from "./examination.js"
import * as Words from "./words.js"

export interface Report {
  /** Nothing is wrong with the files and with any server. */
  readonly ok: boolean
  readonly files: ReadonlyArray<ConfigFile.Origin>
  readonly problems: ReadonlyArray<ConfigFile.Problem>
  readonly servers: ReadonlyArray<Examination>
  /** What is wrong with the whole: there is no server, or none of that name. */
  readonly advice: Advice | undefined
}

export interface Options {
  /** How long the start and the handshake of a server may take, and each of its lists. `null`: no bound. */
  readonly timeout: Duration.Duration | null
  /** Only these servers; all of them where it is empty. */
  readonly servers: ReadonlyArray<string>
  /** Told of each server as soon as it was looked at. */
  readonly onServer?: ((examination: Examination) => Effect.Effect<void>) | undefined
}

/** Looks at all servers at once, so that it takes as long as the slowest of them. */
export const diagnose = (
  loaded: ConfigFile.Loaded,
  { onServer = () => Effect.void, servers, timeout }: Options
): Effect.Effect<Report, never, McpTransport.McpTransport> =>
  Effect.gen(function*() {
    const wanted = new Set(servers)
    const chosen = (name: string | undefined): boolean => wanted.size === 0 || name === undefined || wanted.has(name)
    const entries = loaded.entries.filter((_) => chosen(_.name))
    const problems = loaded.problems.filter((_) => chosen(_.server))
    const advice = missing(loaded, servers)
    const examinations = yield* together(
      entries,
      (entry) => Effect.tap(examine(entry, { timeout, configFile: undefined }), onServer)
    )
    return {
      ok: advice === undefined && problems.every((_) => _.severity !== "error") &&
        examinations.every((_) => _.status !== "failed"),
      files: loaded.sources,
      problems,
      servers: examinations,
      advice
    }
  })

const missing = (loaded: ConfigFile.Loaded, servers: ReadonlyArray<string>): Advice | undefined => {
  const known = new Set(loaded.entries.map((_) => _.name))
  const broken = new Set(loaded.problems.filter((_) => _.severity === "error").map((_) => _.server))
  const unknown = servers.find((_) => !known.has(_) && !broken.has(_))
  if (unknown !== undefined) return explain(unknownServer(unknown, [...known]), fileOf(loaded))
  return loaded.entries.length > 0 || loaded.problems.length > 0
    ? undefined
    : { ...explain(unknownServer("", [])), headline: "No server is configured", happened: nothingFound(loaded) }
}

const nothingFound = ({ sources }: ConfigFile.Loaded): string =>
  sources.length === 0
    ? "There is no mcp.json (or .mcp.json, .vscode/mcp.json, .cursor/mcp.json) here, and none of your own."
    : `There is none in ${sources.map((_) => Words.line(_.path)).join(", ")}.`

const fileOf = ({ sources }: ConfigFile.Loaded) => sources[0] === undefined ? {} : { configFile: sources[0].path }

const unknownServer = (server: string, configured: ReadonlyArray<string>): McpError.McpError =>
  new McpError.UnknownServer({ server, operation: "doctor", executed: "no", configured: [...configured] })

// ---------------------------------------------------------------------------------------------------------------------
// for people
// ---------------------------------------------------------------------------------------------------------------------

/** How words are marked on a terminal. */
export interface Paint {
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly odd: (text: string) => string
  readonly faint: (text: string) => string
}

const same = (text: string): string => text

export const plain: Paint = { good: same, bad: same, odd: same, faint: same }

/** The whole of a report. */
export const text = (report: Report, paint: Paint = plain): string =>
  [
    paint.faint(`Node ${process.versions.node} on ${process.platform}-${process.arch}`),
    ...report.files.map((_) => paint.faint(`read ${Words.line(_.path)} (${_.level})`)),
    ...report.problems.map((_) => problem(_, paint)),
    ...(report.advice === undefined ? [] : ["", paint.bad(format(report.advice))]),
    ...report.servers.flatMap((_) => ["", examination(_, paint)]),
    "",
    verdict(report, paint)
  ].join("\n")

const problem = (
  { column, field, line, path, problem, server, severity }: ConfigFile.Problem,
  paint: Paint
): string => {
  const place = line === undefined ? "" : `:${line}:${column ?? 1}`
  const about = [
    `${Words.line(path)}${place}`,
    ...(server === undefined ? [] : [`server ${Words.quoted(server)}`]),
    ...(field === undefined ? [] : [Words.line(field)]),
    Words.line(problem, 600)
  ].join(": ")
  return severity === "error" ? paint.bad(`error: ${about}`) : paint.odd(`warning: ${about}`)
}

/** One server of a report. */
export const examination = (one: Examination, paint: Paint = plain): string => {
  const title = `${Words.line(one.server, 100)}  ${paint.faint(`${Words.line(one.transport, 16)} ${one.target}`)}`
  const steps = one.steps.map((_) => step(_, paint))
  const warnings = one.warnings.map((_) => `  ${paint.odd(`warning: ${_}`)}`)
  switch (one.status) {
    case "disabled":
      return `${paint.faint("disabled")} ${title}`
    case "ok":
      return [`${paint.good("ok")}       ${title}`, ...steps, ...warnings].join("\n")
    case "failed":
      return [
        `${paint.bad("failed")}   ${title}`,
        ...steps,
        ...warnings,
        ...(one.advice === undefined
          ? []
          : format(one.advice).split("\n").map((_, i) => i === 0 ? `  ${paint.bad(_)}` : `  ${_}`))
      ].join("\n")
  }
}

const step = ({ milliseconds, name, note, ok }: Step, paint: Paint): string =>
  `  ${name.padEnd(14)}${ok ? paint.good("ok") : paint.bad("failed")}${" ".repeat(ok ? 6 : 2)}${
    name === "configuration" ? "" : Words.seconds(milliseconds).padEnd(8)
  }${note === "" ? "" : ` ${note}`}`.trimEnd()

/** The last line. */
export const verdict = ({ ok, problems, servers }: Report, paint: Paint = plain): string => {
  const failed = servers.filter((_) => _.status === "failed").length
  const used = servers.filter((_) => _.status !== "disabled").length
  if (ok) return paint.good(`All is well: ${used === 1 ? "1 server works" : `${used} servers work`}.`)
  const errors = problems.filter((_) => _.severity === "error").length
  return paint.bad(
    [
      ...(failed > 0 ? [`${failed} of ${used} ${used === 1 ? "server" : "servers"} failed`] : []),
      ...(errors > 0 ? [`${errors} ${errors === 1 ? "error" : "errors"} in the configuration`] : []),
      ...(failed === 0 && errors === 0 ? ["There is nothing to look at"] : [])
    ].join(", ") + "."
  )
}

// ---------------------------------------------------------------------------------------------------------------------
// for programs
// ---------------------------------------------------------------------------------------------------------------------

/** The report as `--json` gives it. */
export const json = (report: Report): object => ({
  ok: report.ok,
  node: process.versions.node,
  platform: `${process.platform}-${process.arch}`,
  files: report.files,
  problems: report.problems,
  ...(report.advice === undefined ? {} : { advice: report.advice }),
  servers: report.servers.map((_) => ({
    name: _.server,
    status: _.status,
    file: _.origin?.path ?? null,
    transport: _.transport,
    target: _.target,
    server: _.info === undefined
      ? null
      : {
        name: Words.line(_.info.implementation.name),
        version: Words.line(_.info.implementation.version),
        protocolVersion: _.info.protocolVersion,
        capabilities: Object.keys(_.info.capabilities).slice(0, 32).map((_) => Words.line(_, 64))
      },
    steps: _.steps,
    warnings: _.warnings,
    error: _.error === undefined ? null : {
      tag: _.error._tag,
      operation: _.error.operation,
      message: McpError.whatHappened(_.error),
      server: _.error.server,
      executed: _.error.executed,
      todo: _.advice?.todo ?? []
    },
    advice: _.advice ?? null
  }))
})
