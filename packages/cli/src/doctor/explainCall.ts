/**
 * Advice about requests to servers that were reached: wrong names, wrong arguments, lost answers.
 */
import type * as McpError from "@mcp-runtime/core/McpError"
import type { Advice, Surroundings } from "../Doctor.js"
import { endOf } from "./explainStart.js"
import { similar } from "./similar.js"
import { recognize } from "./symptoms.js"
import * as Words from "./words.js"

export const configInvalid = (error: McpError.ConfigInvalid, surroundings: Surroundings): Advice => {
  const file = Words.file(surroundings)
  const problems = error.problems.map((_) => `${Words.line(_.field, 128)}: ${Words.line(_.problem, 600)}`)
  const first = error.problems[0]
  const happened = problems.length <= 1 ? "Nothing was started or sent." : `${problems.length} fields are wrong.`
  return Words.advice(
    `${Words.server(error.server)}: ${first === undefined ? "its configuration is wrong" : problems[0]}`,
    happened,
    [
      ...error.problems.flatMap(({ problem }) => missingVariable(problem)),
      problems.length <= 1
        ? `Correct ${
          first === undefined
            ? `${Words.quoted(error.server)} in ${file}`
            : Words.field(first.field, error.server, surroundings)
        }.`
        : surroundings.configFile === Words.commandLine
        ? "Correct these options."
        : `Correct these fields of ${Words.quoted(error.server)} in ${file}.`
    ],
    problems.length <= 1 ? [] : [{ label: "wrong", text: problems.slice(0, 50).join("\n") }]
  )
}

/** A reference to a variable that is not set. */
const missingVariable = (problem: string): ReadonlyArray<string> => {
  const name = /\b(?:variable)\s+"?(?:\$\{)?([A-Za-z_]\w{0,127})"?\}?/.exec(problem)?.[1]
  return name === undefined || !/not set|unset|is not there|no value/i.test(problem) ? [] : [
    `Set it before you start mcp-runtime: export ${name}=...`,
    `Or give a default where it is used: \${${name}:-default}`
  ]
}

export const versionMismatch = (error: McpError.VersionMismatch): Advice =>
  Words.advice(
    `${Words.server(error.server)} and mcp-runtime speak no common version of the protocol`,
    `Asked for ${Words.line(error.requested, 64)}, the server offers ${
      error.offered.length === 0 ? "none" : error.offered.map((_) => Words.line(_, 64)).join(", ")
    }.`,
    [
      "Update the server: versions it shares with mcp-runtime are listed above.",
      "If it offers a newer one, update mcp-runtime."
    ],
    [{ label: "mcp-runtime supports", text: error.supported.join(", ") }]
  )

export const connectionClosed = (error: McpError.ConnectionClosed, surroundings: Surroundings): Advice => {
  const server = Words.server(error.server)
  const symptom = recognize(error.stderrTail, { ...surroundings, server: error.server })
  const happened = error.exit === undefined
    ? Words.sentence(`${error.detail}, while ${Words.operation(error)} was under way`)
    : `The process ${endOf(error.exit)} while ${Words.operation(error)} was under way.`
  if (error.reason === "Overflow") {
    return Words.advice(`${server} sent a message that is too large`, Words.sentence(error.detail), [
      `Ask it for less, or raise "messageBytes" in ${Words.field("limits", error.server, surroundings)}.`
    ])
  }
  return Words.advice(
    `${server}: the connection was lost${symptom === undefined ? "" : `: ${symptom.reason}`}`,
    happened,
    [
      ...(symptom?.todo ?? []),
      "Try again: the next call connects anew.",
      ...(error.exit === undefined
        ? []
        : [
          `If it happens each time, the server crashes: see its own log${
            Words.stderr(error.stderrTail).length > 0 ? ", and its stderr above" : ""
          }.`
        ])
    ],
    Words.stderr(error.stderrTail)
  )
}

export const timedOut = (error: McpError.RequestTimeout, surroundings: Surroundings): Advice =>
  error.kind === "wait"
    ? Words.advice(
      `${Words.server(error.server)}: ${Words.operation(error)} could not be sent in time`,
      Words.sentence(
        `It waited for ${Words.seconds(error.millis)}${error.detail === undefined ? "" : `: ${error.detail}`}`
      ),
      ["Try again.", "Give it more time: --timeout 120000."]
    )
    : Words.advice(
      `${Words.server(error.server)} did not answer ${Words.operation(error)} in time`,
      `There was no answer within ${Words.seconds(error.millis)}.`,
      [
        "Give it more time: --timeout 120000 (milliseconds; 0 for no bound).",
        ...(Words.stderr(error.stderrTail).length > 0 ? ["Read what it wrote to stderr, above."] : []),
        `If it never answers, restart it${surroundings.config?.transport === "stdio" ? "" : " where it runs"}.`
      ],
      Words.stderr(error.stderrTail)
    )

export const toolNotFound = (error: McpError.ToolNotFound, surroundings: Surroundings): Advice => {
  const { tools = [] } = surroundings
  return Words.advice(
    `${Words.server(error.server)} has no tool ${Words.quoted(error.tool)}`,
    Words.sentence(error.detail),
    [...Words.didYouMean(similar(error.tool, tools)), `See what there is: mcp-runtime tools`],
    tools.length === 0 || tools.length > 30 ? [] : [{ label: "its tools", text: Words.line(tools.join(", "), 2000) }]
  )
}

export const argumentsInvalid = (error: McpError.ArgumentsInvalid): Advice =>
  Words.advice(
    `The arguments of ${Words.quoted(error.tool)} are wrong: ${
      Words.line(error.problems.slice(0, 3).map((_) => `${_.field}: ${_.problem}`).join("; "))
    }`,
    "Nothing was sent to the server.",
    [
      `Correct ${error.problems.length === 1 ? `"${Words.line(error.problems[0]!.field, 128)}"` : "these arguments"}.`,
      "See what it takes: mcp-runtime tools --json"
    ],
    error.problems.length <= 3 ? [] : [{
      label: "wrong",
      text: error.problems.slice(0, 50).map((_) => `${Words.line(_.field, 128)}: ${Words.line(_.problem)}`).join("\n")
    }]
  )

export const remoteError = (error: McpError.RemoteError, surroundings: Surroundings): Advice => {
  const server = Words.server(error.server)
  const happened = `It answered ${Words.operation(error)} with error ${error.code}.`
  const details = Words.detail("it says", Words.lines(error.reason))
  switch (error.code) {
    case -32601:
      return byName.has(error.operation)
        ? Words.advice(`${server} has refused ${Words.operation(error)}: ${Words.line(error.reason)}`, happened, [
          ...toolHint(error, surroundings),
          `See whether it is among what the server lists: ${
            Words.command(listOf(error.operation), error.server, surroundings)
          }`,
          ...(error.operation === "tools/call" ? [toolThatAsks] : [])
        ], details)
        : Words.advice(`${server} does not know ${Words.operation(error)}`, happened, [
          "See what it offers: mcp-runtime doctor"
        ], details)
    case -32602:
      return Words.advice(`${server} does not accept what it was sent: ${Words.line(error.reason)}`, happened, [
        ...toolHint(error, surroundings),
        `Compare the name and the arguments with what the server lists: ${
          Words.command(listOf(error.operation), error.server, surroundings)
        }`
      ], details)
    case -32700:
    case -32600:
      return Words.advice(`${server} does not understand the request`, happened, ["Update the server."], details)
    default:
      return Words.advice(`${server} has failed: ${Words.line(error.reason)}`, happened, [
        "Read what it says, and look into its log: mcp-runtime logs"
      ], details)
  }
}

/** The server may well know the method, and not what it is asked for by it. */
const byName: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"])

const toolThatAsks =
  "A tool may ask for what only an application has: a model, the user or roots. Then it may have run, so look before you try again."

/** The command that lists what was asked for. */
const listOf = (operation: string): string =>
  operation.startsWith("resources/") ? "resources" : operation.startsWith("prompts/") ? "prompts" : "tools --json"

const toolHint = (error: McpError.RemoteError, { tools = [] }: Surroundings): ReadonlyArray<string> => {
  const named = /(?:unknown tool:?|tool)\s+"?([\w./-]{1,128})"?/i.exec(error.reason)?.[1]
  return named === undefined || tools.includes(named) ? [] : Words.didYouMean(similar(named, tools))
}
