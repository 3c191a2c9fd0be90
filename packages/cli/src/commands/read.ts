/** `read`: the contents of one resource. */
import * as McpConnection from "@mcp-runtime/core/McpConnection"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { Buffer } from "node:buffer"
import { ExitCode, type Failure, usage } from "../exit.js"
import { shellWord } from "../input/toolArguments.js"
import * as Lists from "../Lists.js"
import type { Common } from "../Options.js"
import * as Content from "../output/content.js"
import * as Images from "../output/images.js"
import { Screen } from "../output/Screen.js"
import { oneLine, shownName } from "../output/text.js"
import * as Servers from "../Servers.js"
import * as Setup from "../Setup.js"
import { didYouMean } from "../suggest.js"

export interface Options extends Common {
  readonly out: Option.Option<string>
  readonly uri: string
}

export const run = (options: Options): Effect.Effect<ExitCode, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const { document, json, out } = yield* Screen
    const setup = yield* Setup.load(options)
    const servers = yield* Servers.connect(setup, { deferred: false })
    const server = yield* serverOf(options.uri, servers)
    const connection = yield* Effect.catchAll(servers.manager.connection(server), Servers.failureOf(setup))
    const startedAt = yield* Clock.currentTimeMillis
    const { contents } = yield* Effect.catchAll(
      McpConnection.readResource(connection, options.uri),
      Servers.failureOf(setup)
    )
    const milliseconds = (yield* Clock.currentTimeMillis) - startedAt
    const shown = json && Option.isNone(options.out) ? [] : yield* show(options, contents)
    if (json) {
      const files = Option.isSome(options.out) ? { files: shown.flatMap(({ file }) => file ?? []) } : {}
      yield* document({ server, uri: options.uri, contents, milliseconds, ...files })
    } else {
      for (const { text } of shown) yield* out.write(text.endsWith("\n") ? text : `${text}\n`)
    }
    return ExitCode.done
  })

/** What there is to be shown of the contents; what is for files is saved. */
const show = (
  { out: directory, uri }: Options,
  contents: ReadonlyArray<Parameters<typeof Content.contents>[0]>
): Effect.Effect<ReadonlyArray<Content.Shown>, Failure> => {
  const saver = Images.saver(uri.split(/[\\/]/).pop() ?? "", Option.getOrUndefined(directory))
  return Effect.forEach(contents, (content, index) =>
    // Where a directory is named, texts are wanted as they are, and those may not be shown.
    Option.isSome(directory) && content.text !== undefined
      ? asFile(content.text, content.mimeType, index, saver)
      : Content.contents(content, index, saver))
}

const asFile = (text: string, mimeType: string | undefined, index: number, saver: Images.Saver) =>
  Effect.map(
    saver.save(index, { data: Buffer.from(text, "utf8"), mimeType: mimeType ?? "text/plain" }),
    (file): Content.Shown => ({ text: `${file.path} (${file.mimeType}, ${Content.size(file.bytes)})`, file })
  )

/** The one that lists it; else the one whose template fits; else the only one that has resources. */
const serverOf = (uri: string, servers: Servers.Servers): Effect.Effect<string, Failure> =>
  Effect.gen(function*() {
    const resources = Lists.flatten(yield* servers.catalog.resources)
    const listed = [...new Set(resources.items.filter(({ item }) => item.uri === uri).map((_) => _.server))]
    if (listed.length === 1) return listed[0]!
    if (listed.length > 1) return yield* several(uri, listed)
    const templates = Lists.flatten(yield* servers.catalog.templates)
    const fitting = [...new Set(templates.items.filter(({ item }) => fits(uri, item.uriTemplate)).map((_) => _.server))]
    if (fitting.length === 1) return fitting[0]!
    if (fitting.length > 1) return yield* several(uri, fitting)
    const connected = yield* servers.manager.connected
    if (connected.length === 1 && servers.setup.loaded.entries.length === 1) return connected[0]!
    const [error] = (yield* servers.manager.errors).values()
    if (error !== undefined && connected.length === 0) return yield* Servers.failureOf(servers.setup)(error)
    return yield* usage(`No server lists the resource "${oneLine(uri.slice(0, 512))}"`, [
      ...didYouMean(uri, resources.items.map((_) => _.item.uri), oneLine),
      ...(yield* Servers.silent(servers)),
      "See what there is: mcp-runtime resources",
      "Or say which server to ask: --server <name>"
    ], "ResourceNotFound")
  })

const several = (uri: string, names: ReadonlyArray<string>): Failure =>
  usage(`More than one server has the resource "${oneLine(uri.slice(0, 512))}"`, [
    `Say which one: ${names.map((_) => `--server ${shellWord(shownName(_))}`).join(", ")}`
  ], "ResourceAmbiguous")

/** Whether the text before the first variable and after the last one is there: enough to choose a server. */
export const fits = (uri: string, template: string): boolean => {
  const first = template.indexOf("{")
  const last = template.lastIndexOf("}")
  if (first < 0 || last < first) return uri === template
  const before = template.slice(0, first)
  const after = template.slice(last + 1)
  return before !== "" && uri.length >= before.length + after.length && uri.startsWith(before) && uri.endsWith(after)
}
