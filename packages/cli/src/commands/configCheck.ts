/** `config check`: what the configuration files say, and what is wrong with them. Nothing is connected. */
import type * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as ConfigFiles from "@mcp-runtime/node/ConfigFiles"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { ExitCode, type Failure } from "../exit.js"
import type { Common } from "../Options.js"
import { Screen } from "../output/Screen.js"
import * as Table from "../output/table.js"
import { oneLine, shownName } from "../output/text.js"
import * as Setup from "../Setup.js"

export const run = (options: Common): Effect.Effect<ExitCode, Failure, Screen> =>
  Effect.gen(function*() {
    const { document, json, out } = yield* Screen
    const { loaded, timeout } = yield* Setup.read(options)
    const places = yield* ConfigFiles.places(Setup.filesOf(options, timeout))
    const chosen = <A>(of: (a: A) => string | undefined) => (a: A): boolean => {
      const name = of(a)
      return options.server.length === 0 || name === undefined || options.server.includes(name)
    }
    const problems = loaded.problems.filter(chosen((_) => _.server))
    const rows = yield* Effect.forEach(loaded.entries.filter(chosen((_) => _.name)), rowOf)
    const errors = problems.filter((_) => _.severity === "error").length
    if (json) {
      yield* document({ ok: errors === 0, files: loaded.sources, servers: rows, problems })
    } else {
      if (loaded.sources.length === 0 && problems.length === 0) {
        yield* out.line("No configuration file was found. Looked for:")
        for (const path of places.flatMap((_) => _.paths)) yield* out.line(`  ${oneLine(path)}`)
      }
      for (const { level, path } of loaded.sources) yield* out.line(out.style.dim(`${level}: ${oneLine(path)}`))
      if (rows.length > 0) {
        yield* out.line("")
        yield* out.write(Table.render(
          [
            { title: "SERVER", style: out.style.cyan },
            { title: "TRANSPORT" },
            { title: "TARGET" },
            { title: "FILE", style: out.style.dim }
          ],
          rows.map((_) => [
            shownName(_.name),
            _.enabled ? _.transport : `${_.transport} (disabled)`,
            oneLine(_.target),
            oneLine(_.file)
          ]),
          out
        ))
      }
      if (problems.length > 0 && loaded.sources.length > 0) yield* out.line("")
      for (const problem of problems) {
        const { red, yellow } = out.style
        yield* out.line((problem.severity === "error" ? red : yellow)(Setup.showProblem(problem)))
      }
      if (loaded.sources.length > 0 || problems.length > 0) {
        yield* out.line(verdict(rows.length, errors, problems.length - errors))
      }
    }
    return errors > 0 ? ExitCode.usage : ExitCode.done
  })

const rowOf = ({ config, name, origin, shadows }: ConfigFile.Entry) =>
  Effect.map(Effect.either(McpConfig.decode(config)), (decoded) => ({
    name,
    enabled: config.enabled !== false,
    transport: config.transport,
    target: Either.isRight(decoded) ? McpConfig.describeTarget(decoded.right) : "",
    level: origin.level,
    file: origin.path,
    shadows
  }))

const verdict = (servers: number, errors: number, warnings: number): string => {
  const count = (number: number, one: string) => `${number} ${one}${number === 1 ? "" : "s"}`
  return `\n${count(servers, "server")}, ${count(errors, "error")}, ${count(warnings, "warning")}`
}
