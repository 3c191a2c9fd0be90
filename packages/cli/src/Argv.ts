/**
 * The command line in the order in which `@effect/cli` wants it.
 *
 * Owns: options anywhere on the line, before or after the command and between its arguments; `--`; what is not an option;
 * the options of the program itself.
 * May not touch: the meaning of options and arguments.
 */
import * as Either from "effect/Either"
import { type Failure, usage } from "./exit.js"
import * as Options from "./Options.js"
import { oneLine } from "./output/text.js"
import { didYouMean } from "./suggest.js"

export interface Argv {
  /** For `Command.run`, with the two words before the first. */
  readonly words: ReadonlyArray<string>
  readonly json: boolean
  readonly logLevel: string | undefined
  /** The command whose help is wanted; empty for that of the program. */
  readonly help: ReadonlyArray<string> | undefined
}

const shells = ["bash", "sh", "fish", "zsh"]

/** `commands`: the names of the commands, and of those below them. */
export const parse = (
  args: ReadonlyArray<string>,
  commands: ReadonlyMap<string, ReadonlyArray<string>>
): Either.Either<Argv, Failure> =>
  Either.gen(function*() {
    const options: Array<string> = []
    const positional: Array<string> = []
    const own = new Map<string, string>()
    for (let at = 0; at < args.length; at++) {
      const word = args[at]!
      if (word === "--") {
        positional.push(...args.slice(at + 1))
        break
      }
      if (word === "-h") {
        own.set("help", "true")
        continue
      }
      // A single dash is stdin, and a negative number is a value.
      if (!word.startsWith("-") || word === "-" || /^-\d/.test(word)) {
        positional.push(word)
        continue
      }
      const { given, name } = split(word)
      const option = Options.all.get(name)
      if (option === undefined) return yield* Either.left(unknown(word, name))
      if (option.kind === "flag") {
        if (given !== undefined && given !== "true" && given !== "false") {
          return yield* Either.left(usage(`--${name} takes no value`, [`Leave out "=${oneLine(given.slice(0, 40))}".`]))
        }
        if (programs.has(name)) own.set(name, "true")
        else options.push(`--${name}=${given ?? "true"}`)
        continue
      }
      const value = given ?? args[++at]
      if (value === undefined || value === "") {
        return yield* Either.left(usage(`--${name} needs a value`, [
          value === undefined
            ? `Write it after the option: --${name} <value>`
            : "It is empty: if it comes from a variable of your shell, that is not set."
        ]))
      }
      if (programs.has(name)) own.set(name, value)
      else options.push(`--${name}`, value)
    }
    const json = options.includes("--json=true")
    const logLevel = own.get("log-level")
    const done = (...words: ReadonlyArray<string>): Argv => ({
      words: ["node", "mcp-runtime", ...words],
      json,
      logLevel,
      help: undefined
    })
    if (own.has("version")) return done("--version")
    const shell = own.get("completions")
    if (shell !== undefined) {
      if (!shells.includes(shell)) {
        return yield* Either.left(
          usage(`--completions knows no shell "${oneLine(shell)}"`, [`Choose one of ${shells.join(", ")}.`])
        )
      }
      return done("--completions", shell)
    }
    const help = positional[0] === "help" || own.has("help")
    const { path, rest } = yield* commandOf(positional[0] === "help" ? positional.slice(1) : positional, commands, help)
    if (help || path.length === 0) return { ...done(), help: path }
    return done(...path, ...options, "--", ...rest.map(shield))
  })

/** Those that are not handed on as they are. */
const programs: ReadonlySet<string> = new Set(["help", "version", "completions", "log-level"])

const split = (word: string): { readonly name: string; readonly given: string | undefined } => {
  const at = word.indexOf("=")
  const name = (at < 0 ? word : word.slice(0, at)).replace(/^--?/, "")
  return { name, given: at < 0 ? undefined : word.slice(at + 1) }
}

const unknown = (word: string, name: string): Failure =>
  usage(`There is no option "${oneLine(word.slice(0, 80))}"`, [
    ...didYouMean(name, Options.all.keys(), (_) => `--${_}`),
    "See all options: mcp-runtime <command> --help",
    "An argument that begins with a dash goes after --: mcp-runtime call <tool> -- -x=1"
  ])

interface Chosen {
  readonly path: ReadonlyArray<string>
  readonly rest: ReadonlyArray<string>
}

const commandOf = (
  words: ReadonlyArray<string>,
  commands: ReadonlyMap<string, ReadonlyArray<string>>,
  help: boolean
): Either.Either<Chosen, Failure> => {
  const [first, second] = words
  if (first === undefined) return Either.right({ path: [], rest: [] })
  const below = commands.get(first)
  if (below === undefined) {
    return Either.left(usage(`There is no command "${oneLine(first.slice(0, 80))}"`, [
      ...didYouMean(first, commands.keys(), (_) => `mcp-runtime ${_}`),
      `The commands are ${[...commands.keys()].join(", ")}.`
    ]))
  }
  if (below.length === 0) return Either.right({ path: [first], rest: words.slice(1) })
  if (second !== undefined && below.includes(second)) {
    return Either.right({ path: [first, second], rest: words.slice(2) })
  }
  if (help) return Either.right({ path: [first], rest: [] })
  return Either.left(usage(
    second === undefined
      ? `"${first}" needs to know what to do`
      : `There is no command "${first} ${oneLine(second.slice(0, 80))}"`,
    below.map((_) => `mcp-runtime ${first} ${_}`)
  ))
}

/** `@effect/cli` looks for its own options everywhere, also after `--`. */
const mark = "\u0000"

const shield = (word: string): string => `${mark}${word}`

/** An argument as it was typed. */
export const unshield = (word: string): string => (word.startsWith(mark) ? word.slice(mark.length) : word)

/** A text of `@effect/cli` in which arguments may be. */
export const unmarked = (text: string): string => text.replaceAll(mark, "")
