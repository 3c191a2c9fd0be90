/** `prompt`: the messages of one prompt. */
import * as McpConnection from "@mcp-runtime/core/McpConnection"
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
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
import { argumentsOf } from "./prompts.js"

export interface Options extends Common {
  readonly out: Option.Option<string>
  readonly name: string
  readonly arguments: ReadonlyArray<string>
}

export const run = (options: Options): Effect.Effect<ExitCode, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const { document, json, out } = yield* Screen
    const setup = yield* Setup.load(options)
    const servers = yield* Servers.connect(setup, { deferred: false })
    const { errors, items } = Lists.flatten(yield* servers.catalog.prompts)
    const found = find(options.name, items, yield* Servers.silent(servers))
    if (Either.isLeft(found)) {
      const error = [...(yield* servers.manager.errors).values(), ...errors.values()][0]
      return yield* items.length === 0 && error !== undefined ? Servers.failureOf(setup)(error) : found.left
    }
    const { item, server } = found.right
    const args = yield* parse(options.arguments, found.right)
    const connection = yield* Effect.catchAll(servers.manager.connection(server), Servers.failureOf(setup))
    const startedAt = yield* Clock.currentTimeMillis
    const { description, messages } = yield* McpConnection.getPrompt(connection, { name: item.name, arguments: args })
      .pipe(
        Effect.catchAll(Servers.failureOf(setup))
      )
    const milliseconds = (yield* Clock.currentTimeMillis) - startedAt
    const saver = Images.saver(item.name, Option.getOrUndefined(options.out))
    const save = Effect.forEach(messages, ({ content }, index) => Content.block(content, index, saver))
    if (json) {
      const files = Option.isNone(options.out) ? {} : { files: (yield* save).flatMap(({ file }) => file ?? []) }
      yield* document({ server, prompt: item.name, description: description ?? null, messages, milliseconds, ...files })
      return ExitCode.done
    }
    for (const [index, { text }] of (yield* save).entries()) {
      yield* out.line(`${out.style.bold(`${shownName(messages[index]!.role)}:`)}\n${text.trimEnd()}\n`)
    }
    return ExitCode.done
  })

type Item = Lists.Listed<McpProtocol.Prompt>

const find = (
  written: string,
  items: ReadonlyArray<Item>,
  silent: ReadonlyArray<string>
): Either.Either<Item, Failure> => {
  const found = items.filter(({ item, server }) =>
    item.name === written || `${server}/${item.name}` === written || `${server}__${item.name}` === written
  )
  const [only] = found
  if (only === undefined) {
    return Either.left(usage(`There is no prompt "${oneLine(written.slice(0, 256))}"`, [
      ...didYouMean(written, items.map((_) => _.item.name), shownName),
      ...silent,
      "See what there is: mcp-runtime prompts"
    ], "PromptNotFound"))
  }
  return found.length === 1 ?
    Either.right(only) :
    Either.left(usage(`More than one server has a prompt "${shownName(written)}"`, [
      `Say which one: ${
        found.map(({ item, server }) => shellWord(`${shownName(server)}/${shownName(item.name)}`)).join(", ")
      }`
    ], "PromptAmbiguous"))
}

/** Arguments of prompts are texts. */
const parse = (
  words: ReadonlyArray<string>,
  { item: prompt, server }: Item
): Either.Either<{ readonly [name: string]: string }, Failure> => {
  const known = prompt.arguments ?? []
  const result: Record<string, string> = {}
  const wrong = (problem: string, todo: ReadonlyArray<string> = []) =>
    usage(
      `The arguments of the prompt "${shownName(prompt.name)}" are wrong: ${problem}`,
      [
        ...todo,
        known.length === 0 ? "It takes no arguments." : `It takes: ${argumentsOf(prompt)}`,
        `A line that would work: mcp-runtime prompt ${shellWord(prompt.name)}${
          known.filter((_) => _.required === true).map((_) => ` ${shellWord(`${_.name}=text`)}`).join("")
        }`
      ],
      "ArgumentsInvalid",
      server
    )
  for (const word of words) {
    const at = word.indexOf("=")
    if (at <= 0) return Either.left(wrong(`"${oneLine(word.slice(0, 80))}" is not key=value`))
    const name = word.slice(0, at)
    if (!known.some((_) => _.name === name)) {
      return Either.left(
        wrong(`there is no "${oneLine(name.slice(0, 80))}"`, didYouMean(name, known.map((_) => _.name), shownName))
      )
    }
    if (Object.hasOwn(result, name)) return Either.left(wrong(`${shownName(name)} is given twice`))
    Object.defineProperty(result, name, { value: word.slice(at + 1), enumerable: true })
  }
  const missing = known.find((_) => _.required === true && !Object.hasOwn(result, _.name))
  return missing === undefined ? Either.right(result) : Either.left(wrong(`${oneLine(missing.name)} is missing`))
}
