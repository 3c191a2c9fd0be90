/** `call`: calls one tool, and shows what it answers. */
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as ToolOutput from "@mcp-runtime/core/ToolOutput"
import type * as Toolset from "@mcp-runtime/core/Toolset"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ExitCode, Failure } from "../exit.js"
import * as Sources from "../input/sources.js"
import * as Arguments from "../input/toolArguments.js"
import type { Common } from "../Options.js"
import * as Content from "../output/content.js"
import * as Images from "../output/images.js"
import * as Progress from "../output/progress.js"
import { Screen } from "../output/Screen.js"
import { oneLine, shownName } from "../output/text.js"
import * as Servers from "../Servers.js"
import * as Setup from "../Setup.js"
import * as Tools from "../Tools.js"

export interface Options extends Common {
  readonly out: Option.Option<string>
  readonly tool: string
  readonly arguments: ReadonlyArray<string>
}

export const run = (options: Options): Effect.Effect<ExitCode, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const setup = yield* Setup.load(options)
    const found = yield* find(options.tool, setup)
    const target = targetOf(found.tool)
    const args = yield* Arguments.parse(options.arguments, target, Sources.read)
    const startedAt = yield* Clock.currentTimeMillis
    const result = yield* Effect.scoped(call(found, args))
    const milliseconds = (yield* Clock.currentTimeMillis) - startedAt
    yield* show(options, found.tool, result, milliseconds)
    if (options.strict) {
      const reports = yield* Servers.reports(found.servers)
      if (Servers.anyFailed(reports)) {
        yield* Servers.tellFailures(found.servers)
        return ExitCode.failed
      }
    }
    return result.isError === true ? ExitCode.toolFailed : ExitCode.done
  })

// ---------------------------------------------------------------------------------------------------------------------
// the tool
// ---------------------------------------------------------------------------------------------------------------------

interface Found {
  readonly tool: Toolset.AgentTool
  readonly toolbox: Tools.Toolbox
  readonly servers: Servers.Servers
}

/** Connects no more servers than it has to. */
const find = (written: string, setup: Setup.Setup): Effect.Effect<Found, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const chosen = setup.loaded.entries.map((_) => _.name)
    const first = yield* Tools.candidates(written, setup)
    const rest = new Set(chosen.filter((_) => !first.has(_)))
    const seen: Array<Toolset.AgentTool> = []
    const failed: Array<string> = setup.broken.map((_) => _.name)
    for (const only of [first, rest]) {
      if (only.size === 0) continue
      const servers = yield* Servers.connect(setup, { deferred: false, only })
      const toolbox = yield* Tools.toolbox(servers)
      const { problems, tools } = yield* Tools.listed(toolbox)
      const resolved = Tools.resolve(written, tools)
      if (Either.isRight(resolved)) return { tool: resolved.right, toolbox, servers }
      if (resolved.left._tag === "Ambiguous") return yield* Tools.ambiguousTool(written, resolved.left.tools)
      yield* notThere(written, servers)
      const errors = yield* servers.manager.errors
      // The one server that may have it does not work: that is what is wrong. Where it begins with one that works, none else may.
      const [error] = [...errors.values(), ...problems.map((_) => _.error)]
      const mayBeThere = seen.length === 0 && (only.size === 1 || tools.length === 0)
      if (error !== undefined && mayBeThere) return yield* Servers.failureOf(setup)(error)
      seen.push(...tools)
      failed.push(...errors.keys())
    }
    return yield* Tools.unknownTool(written, seen, failed)
  })

/** Tools that are there but may not be seen, and servers that are switched off, are told as such. */
const notThere = (written: string, { catalog, manager, setup }: Servers.Servers): Effect.Effect<void, Failure> =>
  Effect.gen(function*() {
    for (const { items, server } of yield* catalog.tools) {
      for (const { name } of items) {
        if (written !== name && written !== `${server}__${name}` && written !== `${server}/${name}`) continue
        const file = setup.loaded.entries.find((_) => _.name === server)?.origin.path ?? "the configuration"
        return yield* new Failure({
          code: ExitCode.usage,
          text: `"${shownName(name)}" of "${shownName(server)}" may not be used\n  to do: Change "tools" of "${
            shownName(server)
          }" in ${oneLine(file)}.`,
          document: {
            tag: "ToolBlocked",
            message: `"${shownName(name)}" of "${shownName(server)}" may not be used`,
            server,
            executed: "no",
            todo: [`Change "tools" of "${shownName(server)}" in ${oneLine(file)}.`]
          }
        })
      }
    }
    const { servers } = yield* manager.state
    const off = servers.find((_) =>
      _.phase === "disabled" && (written.startsWith(`${_.name}__`) || written.startsWith(`${_.name}/`))
    )
    if (off === undefined) return
    const message = `The server "${shownName(off.name)}" is disabled`
    const by = setup.loaded.entries.find((_) => _.name === off.name)?.disabledBy
    const name = `"${shownName(off.name)}"`
    const todo = [
      by === undefined
        ? `Remove "enabled": false or "disabled": true of ${name} from the configuration.`
        : `Take ${name} out of "disabledServers" in ${oneLine(by.path)}, or remove what disables it there.`
    ]
    return yield* new Failure({
      code: ExitCode.usage,
      text: `${message}\n  to do: ${todo[0]}`,
      document: { tag: "ConnectionUnavailable", message, server: off.name, executed: "no", todo }
    })
  })

// ---------------------------------------------------------------------------------------------------------------------
// the call
// ---------------------------------------------------------------------------------------------------------------------

const targetOf = ({ definition, name, server }: Toolset.AgentTool): Arguments.Target => ({
  name,
  server,
  inputSchema: definition.inputSchema
})

const call = (
  { servers: { setup }, tool, toolbox }: Found,
  args: McpProtocol.JsonObject
): Effect.Effect<McpProtocol.CallToolResult, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const onProgress = yield* Progress.bar(tool.name)
    const options = { onProgress }
    const target = targetOf(tool)
    const result = yield* toolbox.call(tool, args, options).pipe(
      // Whoever types a call has decided that it is to be made.
      Effect.catchTag("ApprovalRequired", ({ pending }) => toolbox.approve(pending, options)),
      Effect.catchAll((error): Effect.Effect<never, Failure> => {
        switch (error._tag) {
          case "NamesClash":
          case "RequestMissing":
            return Effect.fail(Tools.listError(error))
          case "ArgumentsInvalid":
            return Effect.fail(
              Arguments.wrong(
                target,
                error.problems.slice(0, 8).map((_) => oneLine(`${_.field}: ${_.problem}`)).join("; "),
                []
              )
            )
          default:
            return Servers.failureOf(setup)(error)
        }
      })
    )
    if (result._tag === "Success") return result.result
    if (result._tag === "Failure") return yield* Servers.failureOf(setup)(result.error)
    return yield* Effect.die("a call that nobody has rejected was rejected")
  })

// ---------------------------------------------------------------------------------------------------------------------
// the answer
// ---------------------------------------------------------------------------------------------------------------------

const show = (
  options: Options,
  { server, tool }: Toolset.AgentTool,
  result: McpProtocol.CallToolResult,
  milliseconds: number
): Effect.Effect<void, Failure, Screen> =>
  Effect.gen(function*() {
    const { document, err, json, out } = yield* Screen
    const directory = Option.getOrUndefined(options.out)
    const saver = Images.saver(tool, directory)
    if (json) {
      const files = directory === undefined ? undefined : yield* save(result.content, saver)
      return yield* document({
        server,
        tool,
        isError: result.isError === true,
        content: result.content,
        structuredContent: result.structuredContent ?? null,
        milliseconds,
        ...(files !== undefined && { files })
      })
    }
    if (result.isError === true) {
      yield* err.line(err.style.red(`"${shownName(tool)}" of "${shownName(server)}" says that it has failed:`))
    }
    const parts = partsOf.convert(result, undefined)
    if (parts.length === 0) return yield* err.line(err.style.dim("(the tool answered nothing)"))
    for (const [index, part] of parts.entries()) {
      const { text } = yield* Content.block(part, index, saver)
      yield* out.write(text.endsWith("\n") ? text : `${text}\n`)
    }
  })

const partsOf = ToolOutput.make({ structured: "append" })

const save = (
  content: McpProtocol.CallToolResult["content"],
  saver: Images.Saver
): Effect.Effect<ReadonlyArray<Images.SavedFile>, Failure> =>
  Effect.map(
    Effect.forEach(content, (block, index) => Content.block(block, index, saver)),
    (shown) => shown.flatMap(({ file }) => (file === undefined ? [] : [file]))
  )
