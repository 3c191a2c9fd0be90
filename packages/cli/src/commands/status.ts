/** `status`: how each server is, once or for as long as one looks. */
import type * as McpManager from "@mcp-runtime/core/McpManager"
import type * as McpSession from "@mcp-runtime/core/McpSession"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { explain } from "../Doctor.js"
import { ExitCode, type Failure } from "../exit.js"
import type { Common } from "../Options.js"
import * as Json from "../output/json.js"
import { type Outlet, Screen } from "../output/Screen.js"
import * as Table from "../output/table.js"
import { oneLine, shownName } from "../output/text.js"
import * as Servers from "../Servers.js"
import * as Setup from "../Setup.js"

export const run = (
  options: Common & { readonly watch: boolean }
): Effect.Effect<ExitCode, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const { document, json, out } = yield* Screen
    const setup = yield* Setup.load(options)
    if (options.watch) return yield* watch(setup)
    const servers = yield* Servers.connect(setup, { deferred: false })
    const rows = yield* rowsOf(servers)
    if (json) yield* document({ servers: rows })
    else yield* out.write(table(rows, out))
    yield* Servers.tellFailures(servers)
    return options.strict && Servers.anyFailed(rows) ? ExitCode.failed : ExitCode.done
  })

interface Row extends Servers.ServerReport {
  readonly transport: string | null
  readonly server: { readonly name: string; readonly version: string } | null
  readonly protocolVersion: string | null
  readonly capabilities: ReadonlyArray<string>
  readonly tools: number | null
}

const rowsOf = (servers: Servers.Servers): Effect.Effect<ReadonlyArray<Row>> =>
  Effect.gen(function*() {
    const reports = yield* Servers.reports(servers)
    const { servers: statuses } = yield* servers.manager.state
    return reports.map((report) => {
      const status = statuses.find((_) => _.name === report.name)
      const info = infoOf(status)
      return {
        ...report,
        transport: info?.transport ?? status?.config?.transport ?? null,
        server: info === undefined ? null : { name: info.implementation.name, version: info.implementation.version },
        protocolVersion: info?.protocolVersion ?? null,
        capabilities: info === undefined ? [] : Object.keys(info.capabilities),
        tools: status?.tools?.items.length ?? null
      }
    })
  })

const infoOf = (status: McpManager.ServerStatus | undefined): McpSession.SessionInfo | undefined =>
  status?.state?._tag === "Ready" || status?.state?._tag === "Degraded" ? status.state.info : undefined

const table = (rows: ReadonlyArray<Row>, out: Outlet): string =>
  Table.render(
    [
      { title: "SERVER", style: out.style.cyan },
      { title: "STATUS" },
      { title: "TRANSPORT" },
      { title: "PROTOCOL" },
      { title: "TOOLS" },
      { title: "TIME" },
      { title: "ABOUT", lines: 3, style: out.style.dim }
    ],
    rows.map((_) => [
      shownName(_.name),
      _.status,
      _.transport ?? "",
      oneLine(_.protocolVersion ?? ""),
      _.tools === null ? "" : `${_.tools}`,
      `${(_.milliseconds / 1000).toFixed(2)} s`,
      _.error === null
        ? (_.server === null ? "" : oneLine(`${_.server.name} ${_.server.version}`))
        : oneLine(_.error.message)
    ]),
    out
  )

// ---------------------------------------------------------------------------------------------------------------------
// watching
// ---------------------------------------------------------------------------------------------------------------------

/** A line, or an item, for each change of a server. Ends with Ctrl-C. */
const watch = (setup: Setup.Setup) =>
  Effect.gen(function*() {
    const { json, out } = yield* Screen
    const servers = yield* Servers.connect(setup, { deferred: false })
    const add = json ? yield* Json.list : undefined
    const last = new Map<string, string>()
    const show = ({ servers }: McpManager.ManagerState) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        for (const status of servers) {
          const line = describe(status)
          if (last.get(status.name) === line) continue
          last.set(status.name, line)
          const at = new Date(now).toISOString()
          yield* add === undefined
            ? out.line(`${out.style.dim(at)} ${out.style.cyan(shownName(status.name))} ${line}`)
            : add({ at, name: status.name, phase: status.phase, state: status.state?._tag ?? null, about: line })
        }
      })
    yield* Stream.runForEach(servers.manager.changes, show)
    return ExitCode.done
  })

const describe = ({ error, phase, state, tools }: McpManager.ServerStatus): string => {
  const about = error !== undefined
    ? `: ${oneLine(explain(error).headline)}`
    : state?._tag === "Reconnecting"
    ? `: ${oneLine(explain(state.error).headline)}`
    : tools === undefined
    ? ""
    : `, ${tools.items.length} ${tools.items.length === 1 ? "tool" : "tools"}`
  return `${phase}${about}`
}
