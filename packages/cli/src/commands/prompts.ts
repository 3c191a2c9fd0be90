/** `prompts`: which prompts there are. */
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { ExitCode, type Failure } from "../exit.js"
import * as Lists from "../Lists.js"
import type { Common } from "../Options.js"
import { Screen } from "../output/Screen.js"
import * as Table from "../output/table.js"
import { oneLine, shownName } from "../output/text.js"
import * as Servers from "../Servers.js"
import * as Setup from "../Setup.js"

export const run = (options: Common): Effect.Effect<ExitCode, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const { document, json, out } = yield* Screen
    const setup = yield* Setup.load(options)
    const servers = yield* Servers.connect(setup, { deferred: false })
    const { errors, items } = Lists.flatten(yield* servers.catalog.prompts)
    const reports = yield* Lists.reports(servers, errors)
    if (json) {
      yield* document({
        servers: reports.map((_) => ({ ..._, prompts: items.filter(({ server }) => server === _.name).length })),
        prompts: items.map(({ item, server }) => ({
          name: item.name,
          server,
          title: item.title ?? null,
          description: item.description ?? null,
          arguments: item.arguments ?? []
        }))
      })
    } else if (items.length === 0) {
      yield* out.line("There are no prompts.")
    } else {
      yield* out.write(Table.render(
        [
          { title: "PROMPT", style: out.style.cyan },
          { title: "SERVER" },
          { title: "ARGUMENTS", lines: 3 },
          { title: "DESCRIPTION", lines: 3, style: out.style.dim }
        ],
        items.map(({ item, server }) => [
          shownName(item.name),
          shownName(server),
          argumentsOf(item),
          oneLine((item.description ?? item.title ?? "").slice(0, 2000))
        ]),
        out
      ))
    }
    yield* Servers.tellFailures(servers)
    return options.strict && Servers.anyFailed(reports) ? ExitCode.failed : ExitCode.done
  })

export const argumentsOf = ({ arguments: args = [] }: McpProtocol.Prompt): string =>
  args.slice(0, 40).map(({ name, required }) => required === true ? shownName(name) : `[${shownName(name)}]`).join(", ")
