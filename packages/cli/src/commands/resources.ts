/** `resources`: which resources and templates of resources there are. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { ExitCode, type Failure } from "../exit.js"
import * as Lists from "../Lists.js"
import type { Common } from "../Options.js"
import { size } from "../output/content.js"
import { Screen } from "../output/Screen.js"
import * as Table from "../output/table.js"
import { oneLine } from "../output/text.js"
import * as Servers from "../Servers.js"
import * as Setup from "../Setup.js"

export const run = (options: Common): Effect.Effect<ExitCode, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const { document, json, out } = yield* Screen
    const setup = yield* Setup.load(options)
    const servers = yield* Servers.connect(setup, { deferred: false })
    const listing = yield* Effect.fork(servers.catalog.templates)
    const found = Lists.flatten(yield* servers.catalog.resources)
    const patterns = Lists.flatten(yield* Fiber.join(listing))
    const reports = yield* Lists.reports(servers, new Map([...patterns.errors, ...found.errors]))
    if (json) {
      yield* document({
        servers: reports.map((_) => ({
          ..._,
          resources: found.items.filter(({ server }) => server === _.name).length,
          templates: patterns.items.filter(({ server }) => server === _.name).length
        })),
        resources: found.items.map(({ item, server }) => ({
          server,
          ...described(item),
          uri: item.uri,
          size: item.size ?? null
        })),
        templates: patterns.items.map(({ item, server }) => ({
          server,
          ...described(item),
          uriTemplate: item.uriTemplate
        }))
      })
    } else if (found.items.length + patterns.items.length === 0) {
      yield* out.line("There are no resources.")
    } else {
      const rows = [
        ...found.items.map(({ item, server }) => [item.uri, server, typeOf(item), textOf(item)]),
        ...patterns.items.map(({ item, server }) => [item.uriTemplate, server, typeOf(item), textOf(item)])
      ]
      yield* out.write(Table.render(
        [
          { title: "URI", style: out.style.cyan },
          { title: "SERVER" },
          { title: "TYPE" },
          { title: "NAME", lines: 3, style: out.style.dim }
        ],
        rows.map((row) => row.map(oneLine)),
        out
      ))
    }
    yield* Servers.tellFailures(servers)
    return options.strict && Servers.anyFailed(reports) ? ExitCode.failed : ExitCode.done
  })

interface Described {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly size?: number | undefined
}

const described = ({ description, mimeType, name, title }: Described) => ({
  name,
  title: title ?? null,
  description: description ?? null,
  mimeType: mimeType ?? null
})

const typeOf = ({ mimeType = "", size: bytes }: Described): string =>
  bytes === undefined ? mimeType : `${mimeType} ${size(bytes)}`.trim()

const textOf = ({ description, name, title }: Described): string =>
  `${title ?? name}${description === undefined ? "" : `: ${description.slice(0, 2000)}`}`
