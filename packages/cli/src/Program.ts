/**
 * The command tree.
 *
 * Owns: which commands there are, their arguments and their help.
 * May not touch: what they do, and the process.
 */
import * as Args from "@effect/cli/Args"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"
import * as Argv from "./Argv.js"
import * as Auth from "./commands/auth.js"
import * as Call from "./commands/call.js"
import * as ConfigCheck from "./commands/configCheck.js"
import * as Doctor from "./commands/doctor.js"
import * as Logs from "./commands/logs.js"
import * as Prompt from "./commands/prompt.js"
import * as Prompts from "./commands/prompts.js"
import * as Read from "./commands/read.js"
import * as Resources from "./commands/resources.js"
import * as Status from "./commands/status.js"
import * as Tools from "./commands/tools.js"
import { ExitCode, type Failure, usage } from "./exit.js"
import * as Help from "./Help.js"
import * as Options from "./Options.js"
import { Screen } from "./output/Screen.js"
import * as Style from "./output/style.js"
import { tell } from "./output/tell.js"
import { oneLine } from "./output/text.js"

/** With which code the command ends, once it is done. */
class Outcome extends Context.Tag("@mcp-runtime/cli/Outcome")<Outcome, Ref.Ref<ExitCode>>() {}

/** A failure is told before the servers are closed, which may take its time. */
const ending =
  <A>(run: (options: A) => Effect.Effect<ExitCode, Failure, Screen | Scope.Scope>) =>
  (options: A): Effect.Effect<void, Failure, Screen | Outcome> =>
    Effect.flatMap(
      Effect.scoped(Effect.tapError(run(options), tell)),
      (code) => Effect.flatMap(Outcome, (outcome) => Ref.set(outcome, code))
    )

const text = (name: string, description: string): Args.Args<string> =>
  Args.text({ name }).pipe(Args.withDescription(description), Args.map(Argv.unshield))

const texts = (name: string, description: string): Args.Args<ReadonlyArray<string>> =>
  Args.repeated(text(name, description))

const { common, out, refresh } = Options

const tools = Command.make("tools", { ...common, refresh }, ending(Tools.run)).pipe(
  Command.withDescription("List the tools of all servers.")
)

const call = Command.make("call", {
  ...common,
  out,
  tool: text("tool", "server__tool, server/tool, or the name of the tool alone."),
  arguments: texts(
    "arguments",
    "JSON, @file, - for stdin, or key=value ... (typed as the tool asks for; key:=json for anything else)."
  )
}, ending(Call.run)).pipe(Command.withDescription("Call a tool."))

const prompts = Command.make("prompts", common, ending(Prompts.run)).pipe(
  Command.withDescription("List the prompts of all servers.")
)

const prompt = Command.make("prompt", {
  ...common,
  out,
  name: text("name", "The prompt, or server/prompt."),
  arguments: texts("arguments", "key=value ...")
}, ending(Prompt.run)).pipe(Command.withDescription("Show the messages of a prompt."))

const resources = Command.make("resources", common, ending(Resources.run)).pipe(
  Command.withDescription("List the resources of all servers, and their templates.")
)

const read = Command.make("read", { ...common, out, uri: text("uri", "The resource.") }, ending(Read.run)).pipe(
  Command.withDescription("Show a resource.")
)

const status = Command.make("status", { ...common, watch: Options.watch }, ending(Status.run)).pipe(
  Command.withDescription("Show how each server is.")
)

const doctor = Command.make("doctor", common, ending(Doctor.run)).pipe(
  Command.withDescription("Find out what is wrong, and say what to do.")
)

const check = Command.make("check", common, ending(ConfigCheck.run)).pipe(
  Command.withDescription("Check the configuration files; nothing is connected.")
)

const config = Command.make("config").pipe(
  Command.withDescription("The configuration files."),
  Command.withSubcommands([check])
)

const auth = Command.make("auth", {
  ...common,
  noBrowser: Options.noBrowser,
  forget: Options.forget,
  name: text("server", "The server, as it is configured.").pipe(Args.withDefault(""))
}, ending(Auth.run)).pipe(Command.withDescription("Authorize a remote server in the browser."))

const logs = Command.make("logs", {
  ...common,
  level: Options.level,
  name: text("server", "The server, as it is configured.").pipe(Args.withDefault(""))
}, ending(Logs.run)).pipe(Command.withDescription("Show what a server logs, until Ctrl-C."))

const children = [tools, call, prompts, prompt, resources, read, status, doctor, config, auth, logs] as const

/** What help says of each command, and the names of those below it. */
const commands: ReadonlyMap<string, Help.CommandHelp> = new Map<string, Help.CommandHelp>([
  ["tools", { usage: "", description: "List the tools of all servers.", options: ["refresh"] }],
  ["call", {
    usage: "<tool> [json | @file | - | key=value ...]",
    description: "Call a tool.",
    options: ["out"],
    more: [
      "<tool> is server__tool, server/tool, or the name of the tool alone where only one server has it.",
      "key=value is typed as the tool asks for; key:=json for anything else; a.b=value for a property of a property."
    ]
  }],
  ["prompts", { usage: "", description: "List the prompts of all servers." }],
  ["prompt", { usage: "<name> [key=value ...]", description: "Show the messages of a prompt.", options: ["out"] }],
  ["resources", { usage: "", description: "List the resources of all servers, and their templates." }],
  ["read", { usage: "<uri>", description: "Show a resource.", options: ["out"] }],
  ["status", { usage: "", description: "Show how each server is.", options: ["watch"] }],
  ["doctor", { usage: "", description: "Find out what is wrong, and say what to do." }],
  ["config", {
    usage: "check",
    description: "Check the configuration files; nothing is connected.",
    below: ["check"]
  }],
  ["auth", {
    usage: "[server]",
    description: "Authorize a remote server in the browser.",
    options: ["no-browser", "forget"]
  }],
  ["logs", {
    usage: "[server]",
    description: "Show what a server logs, or all of them, until Ctrl-C.",
    options: ["level"]
  }]
])

const commandNames = new Map([...commands].map(([name, { below = [] }]) => [name, below]))

const root = Command.make("mcp-runtime").pipe(Command.withSubcommands(children))

/** What is wrong with the words, if anything, and what they mean. */
export const parse = (args: ReadonlyArray<string>) => Argv.parse(args, commandNames)

const execute = (version: string) =>
  Command.run(root, {
    name: "mcp-runtime",
    version
  })

/** Runs a command line to its end, and gives its exit code. */
export const run = (
  argv: Argv.Argv,
  version: string
): Effect.Effect<ExitCode, Failure, Screen> =>
  Effect.gen(function*() {
    const screen = yield* Screen
    if (argv.help !== undefined) {
      yield* screen.out.write(Help.render(argv.help, commands, screen.out))
      return ExitCode.done
    }
    const outcome = yield* Ref.make<ExitCode>(ExitCode.done)
    yield* execute(version)(argv.words).pipe(
      Effect.provideService(Outcome, outcome),
      Effect.provideService(CliConfig.CliConfig, cliConfig),
      Effect.provide(services),
      Effect.withConsole(consoleOf(screen)),
      Effect.mapError((error) => ValidationError.isValidationError(error) ? invalid(error, argv.words) : error)
    )
    return yield* Ref.get(outcome)
  })

/** What `@effect/cli` asks for, one after the other. `NodeContext.layer` merges its layers; see `Servers.platform`. */
const services = NodePath.layer.pipe(
  Layer.provideMerge(NodeTerminal.layer),
  Layer.provideMerge(NodeFileSystem.layer)
)

const cliConfig = CliConfig.make({ isCaseSensitive: true, autoCorrectLimit: 0, showBuiltIns: false, showTypes: false })

/** The name of the command is the first word that was typed. */
const invalid = (
  { error }: ValidationError.ValidationError,
  [, , name = "<command>"]: ReadonlyArray<string>
): Failure =>
  usage(oneLine(Argv.unmarked(Style.strip(HelpDoc.toAnsiText(error)))), [
    `See how it is used: mcp-runtime ${name} --help`
  ])

/** Help goes to stdout, in colours only where they are wanted; errors are told once, by `main`. */
const consoleOf = ({ out }: Context.Tag.Service<Screen>): Console.Console => {
  const show = (...args: ReadonlyArray<unknown>): Effect.Effect<void> => {
    const text = args.map(String).join(" ")
    return out.line((out.style === Style.plain ? Style.strip(text) : text).trimEnd())
  }
  return { ...silent, log: show }
}

/** Nothing else is written by `@effect/cli`. */
const nothing = () => Effect.void

const silent: Console.Console = {
  [Console.TypeId]: Console.TypeId,
  assert: nothing,
  clear: Effect.void,
  count: nothing,
  countReset: nothing,
  debug: nothing,
  dir: nothing,
  dirxml: nothing,
  error: nothing,
  group: nothing,
  groupEnd: Effect.void,
  info: nothing,
  log: nothing,
  table: nothing,
  time: nothing,
  timeEnd: nothing,
  timeLog: nothing,
  trace: nothing,
  warn: nothing,
  unsafe: globalThis.console
}
