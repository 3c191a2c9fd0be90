/**
 * From the options of a command to servers: which files are read, which servers are meant, and how long they may take.
 *
 * Owns: the choice. What is wrong with the files is told here, once, on stderr.
 * May not touch: connections.
 */
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import * as ConfigFiles from "@mcp-runtime/node/ConfigFiles"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Path from "node:path"
import { commandLine } from "./doctor/words.js"
import { type Failure, usage } from "./exit.js"
import * as CommandLine from "./input/commandLine.js"
import * as Durations from "./input/durations.js"
import { shellWord } from "./input/toolArguments.js"
import type { Common } from "./Options.js"
import { Screen } from "./output/Screen.js"
import { clean, oneLine, shownName } from "./output/text.js"
import { didYouMean } from "./suggest.js"

const configVariable = "MCP_RUNTIME_CONFIG"
const timeoutVariable = "MCP_RUNTIME_TIMEOUT"

/** A server that is written down but can't be used. */
export interface Broken {
  readonly name: string
  readonly problems: ReadonlyArray<ConfigFile.Problem>
}

export interface Setup {
  readonly common: Common
  /** With the servers that were chosen only. */
  readonly loaded: ConfigFile.Loaded
  readonly broken: ReadonlyArray<Broken>
  /** In milliseconds, 0 for none, if somebody has said so. */
  readonly timeout: number | undefined
}

/** Reads what the options say, tells what is wrong, and chooses. Fails where nothing can be done with it. */
export const load = (
  common: Common,
  options: { readonly quiet?: boolean } = {}
): Effect.Effect<Setup, Failure, Screen> =>
  Effect.gen(function*() {
    const all = yield* read(common)
    yield* checkFiles(common, all.loaded)
    if (all.loaded.entries.length === 0 && all.broken.length === 0) return yield* yield* nothing(common, all.loaded)
    if (options.quiet !== true) {
      yield* tell(all.loaded.problems.filter((_) =>
        (_.severity === "error" || _.path === timeoutVariable) && meant(common, _.server)
      ))
    }
    return yield* choose(all)
  })

/** The same without any judgement: for those who explain what is wrong. */
export const read = (common: Common): Effect.Effect<Setup, Failure> =>
  Effect.gen(function*() {
    const timeout = Option.isNone(common.timeout) ? undefined : yield* Durations.millis("timeout", common.timeout.value)
    const direct = yield* directly(common, timeout)
    const loaded = direct ?? (yield* ConfigFiles.load(filesOf(common, timeout)))
    return { common, loaded, broken: brokenOf(loaded), timeout }
  })

export const filesOf = (common: Common, timeout: number | undefined): ConfigFiles.Options => ({
  ...(common.config.length > 0 && { explicit: common.config, user: false }),
  enableProjectConfig: !common.noProject && common.config.length === 0,
  ...(timeout !== undefined && { environment: { ...process.env, MCP_RUNTIME_TIMEOUT: `${timeout}` } })
})

const meant = ({ server }: Common, name: string | undefined): boolean =>
  server.length === 0 || name === undefined || server.includes(name)

/** Servers of which there is nothing but problems. */
const brokenOf = ({ entries, problems }: ConfigFile.Loaded): ReadonlyArray<Broken> => {
  const usable = new Set(entries.map((_) => _.name))
  const broken = new Map<string, Array<ConfigFile.Problem>>()
  for (const problem of problems) {
    if (problem.severity !== "error" || problem.server === undefined || usable.has(problem.server)) continue
    broken.set(problem.server, [...(broken.get(problem.server) ?? []), problem])
  }
  return [...broken].map(([name, problems]) => ({ name, problems }))
}

export const showProblem = (problem: ConfigFile.Problem): string =>
  `${problem.severity}: ${oneLine(ConfigFile.display(problem))}`

const tell = (problems: ReadonlyArray<ConfigFile.Problem>): Effect.Effect<void, never, Screen> =>
  Effect.flatMap(
    Screen,
    ({ err }) =>
      Effect.forEach(problems, (problem) => {
        const { red, yellow } = err.style
        return err.line((problem.severity === "error" ? red : yellow)(showProblem(problem)))
      }, { discard: true })
  )

/** A file that was asked for and can't be read at all is not what was wanted, whatever else there is. */
const checkFiles = (common: Common, { problems }: ConfigFile.Loaded): Effect.Effect<void, Failure> => {
  const named = process.env[configVariable]
  const asked = (path: string): boolean =>
    common.config.length > 0 || (named !== undefined && named !== "" && path === Path.resolve(named))
  const fatal = problems.find((_) => _.severity === "error" && _.server === undefined && asked(_.path))
  return fatal === undefined ? Effect.void : Effect.fail(
    usage(`The configuration can't be used: ${oneLine(ConfigFile.display(fatal))}`, [
      `Correct ${oneLine(fatal.path)}, or name another file: ${
        common.config.length > 0 ? "--config <file>" : `${configVariable}=<file>`
      }`,
      seeAll(common)
    ], "ConfigInvalid")
  )
}

const choose = (setup: Setup): Effect.Effect<Setup, Failure> => {
  const { broken, common, loaded } = setup
  if (common.server.length === 0) return Effect.succeed(setup)
  const names = [...loaded.entries.map((_) => _.name), ...broken.map((_) => _.name)]
  const unknown = common.server.find((_) => !names.includes(_))
  if (unknown !== undefined) return Effect.fail(noServer(unknown, names))
  const wanted = (_: { readonly name: string }) => common.server.includes(_.name)
  return Effect.succeed({
    ...setup,
    loaded: { ...loaded, entries: loaded.entries.filter(wanted) },
    broken: broken.filter(wanted)
  })
}

export const noServer = (name: string, names: ReadonlyArray<string>): Failure =>
  usage(`There is no server "${oneLine(name.slice(0, 256))}"`, [
    ...didYouMean(name, names, shownName),
    names.length === 0
      ? "None is configured."
      : `There ${names.length === 1 ? "is" : "are"} ${names.map(shownName).join(", ")}.`
  ], "UnknownServer")

/** With the same files. */
const seeAll = ({ config, noProject }: Common): string =>
  ["See all that is wrong: mcp-runtime config check", ...config.map((_) => `--config ${shellWord(_)}`)].join(" ") +
  (noProject ? " --no-project" : "")

const nothing = (common: Common, { problems }: ConfigFile.Loaded): Effect.Effect<Failure> => {
  const unread = problems.find((_) => _.severity === "error" && _.server === undefined)
  if (unread !== undefined) {
    return Effect.succeed(usage(`No server could be read: ${oneLine(ConfigFile.display(unread))}`, [
      `Correct ${oneLine(unread.path)}.`,
      seeAll(common)
    ], "ConfigInvalid"))
  }
  return Effect.map(ConfigFiles.places(filesOf(common, undefined)), (places) => {
    const own = places.find((_) => _.level === "user")?.paths[0]
    const file = common.config[0] ?? (common.noProject ? own : undefined) ?? "mcp.json"
    return usage("No server is configured", [
      `Write ${oneLine(file)}: {"mcpServers": {"time": {"command": "npx", "args": ["-y", "some-mcp-server"]}}}`,
      "Or try one without a file: mcp-runtime tools --command \"npx -y some-mcp-server\", or --url https://...",
      `Looked for ${places.flatMap((_) => _.paths).map(oneLine).join(", ")}`
    ], "NoServers")
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// a server without a file
// ---------------------------------------------------------------------------------------------------------------------

const directly = (common: Common, timeout: number | undefined): Either.Either<ConfigFile.Loaded | undefined, Failure> =>
  Either.gen(function*() {
    const { command, url } = common
    if (Option.isSome(url) && Option.isSome(command)) {
      return yield* Either.left(usage("--url and --command are two servers", ["Give one of them."]))
    }
    if (Option.isNone(url) && common.header.length > 0) {
      return yield* Either.left(
        usage("--header is for --url", ["Headers of a server in a file are written there: \"headers\"."])
      )
    }
    if (Option.isNone(command) && common.env.length > 0) {
      return yield* Either.left(
        usage("--env is for --command", ["Variables of a server in a file are written there: \"env\"."])
      )
    }
    if (Option.isSome(url)) return single(yield* remote(url.value, common), timeout)
    return Option.isSome(command) ? single(yield* local(command.value, common), timeout) : undefined
  })

const single = (input: McpConfig.ServerConfigInput, timeout: number | undefined): ConfigFile.Loaded => {
  const bound = timeout === 0 ? null : timeout
  const config = bound === undefined ? input : { ...input, timeouts: { handshake: bound, request: bound } }
  const path = commandLine
  return {
    entries: [{ name: config.name, origin: { level: "explicit", path }, shadows: [], config, rules: {} }],
    problems: [],
    sources: [],
    inputs: new Map()
  }
}

const remote = (url: string, { header }: Common): Either.Either<McpConfig.ServerConfigInput, Failure> => {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    return Either.left(
      usage(
        `--url: ${
          McpError.displayUrl(url) === "<not a URL>" ? "this is" : oneLine(McpError.displayUrl(url)) + " is"
        } not a web address`,
        [
          "Write it with its scheme: --url https://example.com/mcp"
        ]
      )
    )
  }
  return Either.map(pairs("header", header, /^([^:=\s]+)\s*[:]\s*(.*)$/s, "Name: value"), (headers) => ({
    name: nameOf(new URL(url).hostname),
    transport: "auto",
    expand: true,
    url,
    ...(header.length > 0 && { headers })
  }))
}

const local = (line: string, { env }: Common): Either.Either<McpConfig.ServerConfigInput, Failure> =>
  Either.gen(function*() {
    const words = yield* Either.mapLeft(
      CommandLine.split(line),
      (problem) => usage(`--command: ${problem}`, ["Write it as in a shell: --command \"npx -y some-mcp-server\""])
    )
    const [command = "", ...args] = words
    const name = nameOf(nameOfCommand(command, args))
    // A script alone is run by what runs such scripts.
    const server = args.length === 0
      ? McpConfig.from(command, name)
      : { name, transport: "stdio" as const, command, args }
    if (server.transport !== "stdio") {
      return yield* Either.left(
        usage("--command is a program to be started", ["A server on the web is given by --url."])
      )
    }
    const variables = yield* pairs("env", env, /^([^=\s]+)=(.*)$/s, "NAME=value")
    return { ...server, expand: true as const, ...(env.length > 0 && { env: variables }) }
  })

const pairs = (
  option: string,
  texts: ReadonlyArray<string>,
  pattern: RegExp,
  form: string
): Either.Either<{ readonly [name: string]: string }, Failure> => {
  const result: Record<string, string> = {}
  for (const text of texts) {
    const [, name, value] = pattern.exec(text) ?? []
    if (name === undefined || value === undefined) {
      return Either.left(usage(`--${option} is not understood`, [`Write it as --${option} '${form}'.`]))
    }
    Object.defineProperty(result, name, { value, enumerable: true })
  }
  return Either.right(result)
}

const launchers = /^(?:npx|npm|pnpm|yarn|bunx?|deno|uvx?|pipx|node|python3?|tsx|docker|sh|bash)$/
const ofLaunchers = /^(?:run|exec|x|dlx|tool)$/
const saysNothing = /^(?:index|main|server|cli|bin|dist|build|lib|src|out)$/

/** `npx -y @scope/server-files` is `files`, `node dist/weather.mjs` is `weather`, `node memory/dist/index.js` is `memory`. */
const nameOfCommand = (command: string, args: ReadonlyArray<string>): string => {
  const program = partsOf(command).at(-1) ?? ""
  const named = launchers.test(program) ? args.find((_) => !_.startsWith("-") && !ofLaunchers.test(_)) : command
  const parts = partsOf((named ?? command).replace(/(?<=[^/])@[^/]*$/, ""))
  const telling = parts.filter((_) => !saysNothing.test(_)).at(-1) ?? parts.at(-1) ?? program
  return telling.replace(/^(?:mcp-)?server-/, "")
}

const partsOf = (path: string): ReadonlyArray<string> =>
  path.split(/[\\/]/).filter((_) => _ !== "").map((_) => _.replace(/\.(?:exe|[cm]?[jt]s|py|sh)$/, ""))

const nameOf = (text: string): string =>
  clean(text).replace(/[^A-Za-z0-9-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 24) || "server"
