/** `tools`: what the servers offer to agents. */
import type * as Toolset from "@mcp-runtime/core/Toolset"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { documentOf, ExitCode, type Failure } from "../exit.js"
import { summary } from "../input/schema.js"
import type { Common } from "../Options.js"
import { Screen } from "../output/Screen.js"
import * as Table from "../output/table.js"
import { oneLine, shownName } from "../output/text.js"
import * as Servers from "../Servers.js"
import * as Setup from "../Setup.js"
import * as Tools from "../Tools.js"

export const run = (
  options: Common & { readonly refresh: boolean }
): Effect.Effect<ExitCode, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const { document, json } = yield* Screen
    const setup = yield* Setup.load(options)
    const servers = yield* Servers.connect(setup, { deferred: !options.refresh && !options.strict })
    const { problems, tools } = yield* Effect.flatMap(Tools.toolbox(servers), Tools.listed)
    const reports = (yield* Servers.reports(servers)).map((report) => {
      const problem = problems.find((_) => _.server === report.name)
      const error = report.error ?? (problem === undefined ? null : documentOf(problem.error))
      return { ...report, error, tools: tools.filter((_) => _.server === report.name).length }
    })
    if (json) {
      yield* document({
        servers: reports.map(({ error, milliseconds, name, status, tools }) => ({
          name,
          status,
          error,
          tools,
          milliseconds
        })),
        tools: tools.map(({ definition, description, name, server, tool }) => ({
          name,
          server,
          originalName: tool,
          description,
          inputSchema: definition.inputSchema
        }))
      })
    } else {
      yield* show(tools)
    }
    yield* Servers.tellFailures(servers)
    return options.strict && Servers.anyFailed(reports) ? ExitCode.failed : ExitCode.done
  })

const show = (tools: ReadonlyArray<Toolset.AgentTool>): Effect.Effect<void, never, Screen> =>
  Effect.flatMap(Screen, ({ out }) => {
    if (tools.length === 0) return out.line("There are no tools.")
    const rows = tools.map((_) => [shownName(_.name), summary(_.definition.inputSchema), describe(_)])
    return out.write(Table.render(
      [
        { title: "TOOL", style: out.style.cyan },
        { title: "ARGUMENTS", lines: 3 },
        { title: "DESCRIPTION", lines: 3, style: out.style.dim }
      ],
      rows,
      out
    ))
  })

const describe = ({ deferred, description, title }: Toolset.AgentTool): Table.Cell => {
  const text = oneLine((description === "" ? title ?? "" : description).slice(0, 2000))
  return deferred ? { text, end: "(from the last run)" } : text
}
