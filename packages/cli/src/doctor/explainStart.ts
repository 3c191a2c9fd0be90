/**
 * Advice about servers that are processes: not started, ended at once, silent.
 */
import type * as McpError from "@mcp-runtime/core/McpError"
import type { Advice, Detail, Surroundings } from "../Doctor.js"
import { recognize } from "./symptoms.js"
import * as Words from "./words.js"

/** What brings well-known programs, for those who don't have them. */
const bringers: ReadonlyMap<string, string> = new Map([
  ["node", "Install Node.js: https://nodejs.org"],
  ["npx", `"npx" comes with Node.js: https://nodejs.org`],
  ["npm", `"npm" comes with Node.js: https://nodejs.org`],
  ["tsx", `Install it: "npm install --global tsx", or use "npx" with "-y", "tsx" in "args".`],
  ["uv", "Install uv: https://docs.astral.sh/uv"],
  ["uvx", `"uvx" comes with uv: https://docs.astral.sh/uv`],
  ["python", `Many systems call it "python3".`],
  ["python3", "Install Python: https://www.python.org"],
  ["docker", "Install Docker: https://docs.docker.com/get-docker"],
  ["bun", "Install Bun: https://bun.sh"],
  ["bunx", `"bunx" comes with Bun: https://bun.sh`],
  ["deno", "Install Deno: https://deno.com"]
])

export const spawnFailed = (error: McpError.SpawnFailed, surroundings: Surroundings): Advice => {
  const server = Words.server(error.server)
  const command = Words.quoted(error.command)
  const where = Words.field("command", error.server, surroundings)
  switch (error.reason) {
    case "NotFound":
      return notFound(error, surroundings)
    case "NotExecutable":
      return Words.advice(
        `${server}: ${command} can't be run as a program`,
        Words.sentence(error.detail),
        [
          `If it is a script, name its interpreter as "command" ("node", "python3", "sh") and the script as the first of "args".`,
          `Otherwise make it executable: chmod +x ${Words.line(error.command)}`
        ]
      )
    case "BadDirectory":
      return Words.advice(
        `${server}: its working directory can't be used`,
        Words.sentence(error.detail),
        [`Correct ${Words.field("cwd", error.server, surroundings)}, or leave it out.`]
      )
    case "InvalidArgument":
      return Words.advice(`${server}: the command can't be started as it is written`, Words.sentence(error.detail), [
        `Correct ${where}, and "args" and "env" beside it.`
      ])
    case "TooLarge":
      return Words.advice(`${server}: its arguments and variables are too large`, Words.sentence(error.detail), [
        `Make "args" or "env" smaller, or hand the server a file instead.`
      ])
    case "Other":
      return Words.advice(`${server}: the system did not start ${command}`, Words.sentence(error.detail), [
        "Try again. If it stays so, the system may have too many processes or open files: see \"ulimit -a\"."
      ])
  }
}

const notFound = (error: McpError.SpawnFailed, surroundings: Surroundings): Advice => {
  const { command } = error
  const server = Words.server(error.server)
  const where = Words.field("command", error.server, surroundings)
  const interpreter = Words.find(surroundings, "InterpreterMissing")
  if (interpreter !== undefined) {
    return Words.advice(
      `${server}: ${Words.quoted(interpreter.interpreter)}, which runs ${Words.quoted(command)}, was not found`,
      `${Words.quoted(interpreter.file)} is there, but its first line says that ${
        Words.quoted(interpreter.interpreter)
      } runs it.`,
      [...bringer(interpreter.interpreter), `Or name another interpreter in ${where}, and the file in "args".`],
      path(surroundings)
    )
  }
  const missing = `${server}: the command ${Words.quoted(command)} was not found`
  const words = command.trim().split(/\s+/)
  if (words.length > 1) {
    return Words.advice(missing, `"command" is the name of one program; everything after it belongs to "args".`, [
      `Write "command": ${Words.quoted(words[0]!)} and the rest, word by word, in "args", in ${
        Words.file(surroundings)
      }.`
    ])
  }
  if (/[/\\]/.test(command)) {
    return Words.advice(missing, `There is no file ${Words.quoted(command)}.`, [
      ...(command.startsWith("~") ? ["\"~\" is not expanded: write \"${userHome}\", or the whole path."] : []),
      `Correct ${where}.`,
      ...(isAbsolute(command) ? [] : ["A path that is not absolute is looked up in \"cwd\": write the whole path."])
    ])
  }
  return Words.advice(
    missing,
    "No program of this name is in any directory of PATH.",
    [
      ...Words.didYouMean(Words.find(surroundings, "CommandMissing")?.similar ?? []),
      ...bringer(command),
      `Correct ${where}, or write the whole path of the program there (what "which ${
        Words.line(command, 64)
      }" prints in your shell).`
    ],
    path(surroundings)
  )
}

const bringer = (command: string): ReadonlyArray<string> => {
  const found = bringers.get(command.toLowerCase().replace(/\.(?:exe|cmd)$/, ""))
  return found === undefined ? [] : [found]
}

const path = ({ path }: Surroundings): ReadonlyArray<Detail> =>
  path === undefined
    ? []
    : Words.detail("PATH was", path === "" ? "(empty)" : Words.line(path, 4000))

const isAbsolute = (file: string): boolean => file.startsWith("/") || /^[a-z]:[\\/]/i.test(file)

interface Ended {
  readonly server: string
  readonly detail: string
  readonly exit?: McpError.ProcessExit | undefined
  readonly stderrTail?: string | undefined
}

/** A process that was there, and is gone or closed before it could be used. */
export const endedEarly = (error: Ended, surroundings: Surroundings): Advice => {
  const { exit, stderrTail } = error
  const server = Words.server(error.server)
  const details = Words.stderr(stderrTail)
  const how = exit === undefined
    ? Words.sentence(error.detail)
    : `The process ${endOf(exit)} before it answered "initialize".`
  const script = Words.find(surroundings, "ScriptMissing")
  if (script !== undefined) return scriptMissing(error.server, script, surroundings, how)
  const directory = Words.find(surroundings, "DirectoryMissing")
  if (directory !== undefined) {
    return Words.advice(`${server}: its working directory is not there`, how, [
      `Correct ${Words.field("cwd", error.server, surroundings)}: ${Words.quoted(directory.directory)} does not exist.`
    ], details)
  }
  const symptom = recognize(stderrTail, { ...surroundings, server: error.server })
  if (symptom !== undefined) {
    return Words.advice(`${server} ended at its start: ${symptom.reason}`, how, symptom.todo, details)
  }
  return Words.advice(`${server} ended at its start`, how, [
    ...(details.length > 0 ? ["Read what it wrote to stderr, above: it usually says why."] : []),
    ...ofExit(exit, error.server, surroundings),
    "Run the same command in your shell, in the same directory: it has to start and wait for input.",
    `A server gets only the variables that it is given and a few of yours (PATH, HOME, ...): name others that it needs in ${
      Words.field("env", error.server, surroundings)
    }.`
  ], details.length > 0 ? details : [...details, { label: "stderr", text: "(nothing)" }])
}

export const scriptMissing = (
  name: string,
  finding: { readonly file: string; readonly similar: ReadonlyArray<string> },
  surroundings: Surroundings,
  how: string
): Advice =>
  Words.advice(`${Words.server(name)}: the file ${Words.quoted(finding.file)} is not there`, how, [
    ...Words.didYouMean(finding.similar),
    `Correct the path in ${Words.field("args", name, surroundings)}.`,
    "A path that is not absolute is looked up in \"cwd\", or where mcp-runtime was started: write the whole path."
  ])

export const endOf = ({ code, signal }: McpError.ProcessExit): string =>
  signal !== null ? `was killed by ${Words.line(signal, 32)}` : `exited with code ${code}`

const ofExit = (
  exit: McpError.ProcessExit | undefined,
  name: string,
  surroundings: Surroundings
): ReadonlyArray<string> => {
  const args = Words.field("args", name, surroundings)
  if (exit === undefined) return []
  if (exit.signal === "SIGKILL") {
    return ["It was killed from outside: the memory of this machine may not be enough for it."]
  }
  if (exit.signal === "SIGSEGV" || exit.signal === "SIGABRT" || exit.signal === "SIGILL") {
    return ["The program itself crashed: update it, or tell those who make it."]
  }
  switch (exit.code) {
    case 0:
      return [
        `A program that ends without an error is not an MCP server, or needs an argument (such as "stdio") to be one: check ${args}.`
      ]
    case 126:
      return ["Code 126 of a shell: the program is there, but may not be run (chmod +x)."]
    case 127:
      return ["Code 127 of a shell: the program that it was told to start was not found."]
    default:
      return []
  }
}

/** The deadline of the handshake has passed. */
export const silent = (error: McpError.RequestTimeout, surroundings: Surroundings): Advice => {
  const server = Words.server(error.server)
  const { config } = surroundings
  const how = `It did not answer within ${Words.seconds(error.millis)}.`
  const longer =
    `If it is only slow (the first start of "npx" or "docker" downloads it), give it more time: --timeout 120000${
      surroundings.configFile === Words.commandLine ? "" : `, or "timeout" in ${Words.file(surroundings)}`
    }.`
  if (config !== undefined && config.transport !== "stdio") {
    return Words.advice(`${server} did not answer in time`, how, [
      "Check the URL: something accepts the connection, and says nothing.",
      longer
    ], Words.detail("waited for", error.detail === undefined ? undefined : Words.line(error.detail)))
  }
  const noise = Words.find(surroundings, "Noise")?.line ??
    (error.detail !== undefined && /is not JSON/.test(error.detail) ? error.detail : undefined)
  if (noise !== undefined) {
    return Words.advice(
      `${server} did not answer, and writes to stdout what is no message of MCP`,
      `${how} Its stdout belongs to the protocol alone.`,
      [
        "Log to stderr in the server (console.error, not console.log; in Python print(..., file=sys.stderr)).",
        "If it is no MCP server at all, correct the command. Some need an argument, such as \"stdio\".",
        longer
      ],
      [...Words.detail("on its stdout", Words.line(noise)), ...Words.stderr(error.stderrTail)]
    )
  }
  const symptom = recognize(error.stderrTail, { ...surroundings, server: error.server })
  return Words.advice(
    symptom === undefined
      ? `${server} started, but did not answer`
      : `${server} started, but did not answer: ${symptom.reason}`,
    how,
    [
      ...(symptom?.todo ?? []),
      ...(Words.stderr(error.stderrTail).length > 0 ? ["Read what it wrote to stderr, above."] : []),
      "Check that the command is an MCP server that speaks over stdio. Some need an argument for that, such as \"stdio\".",
      longer
    ],
    Words.stderr(error.stderrTail)
  )
}
