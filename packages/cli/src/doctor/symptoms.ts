/**
 * What servers say on stderr when they can't start, and what it means.
 *
 * Owns: the texts of the usual tools (Node, npm, Python, shells, Docker) that give a reason away.
 * May not touch: anything else. A text that is not known is shown as it is.
 */
import type { Surroundings } from "../Doctor.js"
import { field, line, quoted } from "./words.js"

/** The reason that a text gives away. */
export interface Symptom {
  /** Goes after `it ended at its start: `. */
  readonly reason: string
  readonly todo: ReadonlyArray<string>
}

interface About extends Surroundings {
  readonly server: string
}

type Recognize = (text: string, about: About) => Symptom | undefined

const args = (about: About) => field("args", about.server, about)
const env = (about: About) => field("env", about.server, about)

const onMatch =
  (pattern: RegExp, say: (found: ReadonlyArray<string | undefined>, about: About) => Symptom): Recognize =>
  (text, about) => {
    const found = pattern.exec(text)
    return found === null ? undefined : say(found.slice(1), about)
  }

const relative =
  `A path that is not absolute is looked up in "cwd", or where mcp-runtime was started: write the whole path.`

const missingFile = (file: string, about: About): Symptom => ({
  reason: `the file ${quoted(file)} is not there`,
  todo: [`Correct the path in ${args(about)}.`, relative]
})

const portInUse = (port: string | undefined): Symptom => ({
  reason: `${port === undefined ? "the port" : `port ${port}`} that it wants is in use`,
  todo: [
    `Another program, perhaps an older copy of this server, uses ${
      port === undefined ? "the port" : `port ${port}`
    }: end it${port === undefined ? "" : ` ("lsof -i :${port}" shows which)`}, or give the server another port.`,
    "A server that listens on a port is reached by its URL: configure \"url\" instead of \"command\"."
  ]
})

/** Names in capitals that are codes of errors, or known to every process. */
const noVariable = /^(?:ERR_|UND_ERR|MODULE_NOT_FOUND|E[A-Z]+$|NODE_|SELF_SIGNED|CERT_|UNABLE_TO)/

const variable = "([A-Z][A-Z0-9]*_[A-Z0-9_]{1,64})"
const lacking =
  "(?:[Rr]equired|REQUIRED|[Mm]issing|MISSING|[Nn]ot (?:set|defined|provided|found)|[Uu]ndefined|[Mm]ust be (?:set|provided)|[Uu]nset)"
const variableThenLacking = new RegExp(`\\b${variable}\\b[^\\n]{0,60}?\\b${lacking}\\b`, "g")
const lackingThenVariable = new RegExp(`\\b(?:${lacking}|[Pp]lease set|[Ss]et)\\b[^\\n]{0,60}?\\b${variable}\\b`, "g")

const missingVariable: Recognize = (text, about) => {
  for (const pattern of [variableThenLacking, lackingThenVariable]) {
    for (const [, name] of text.matchAll(pattern)) {
      if (name === undefined || noVariable.test(name)) continue
      const given = about.config?.transport === "stdio" && Object.hasOwn(about.config.env ?? {}, name)
      return {
        reason: `it says that the variable ${name} is missing`,
        todo: given
          ? [`${name} is in ${env(about)}, but the server does not accept its value: check it.`]
          : [
            `Add "${name}" to ${
              env(about)
            }: a server gets only what is written there, and not the whole environment of your shell.`
          ]
      }
    }
  }
  return undefined
}

const recognizers: ReadonlyArray<Recognize> = [
  onMatch(/Cannot find package '([^'\n]{1,300})'/, ([name]) => ({
    reason: `the package ${quoted(name ?? "")}, which it needs, is not installed`,
    todo: [`Install what the server needs: run "npm install" in its directory.`]
  })),
  onMatch(
    /Cannot find module '([^'\n]{1,300})'/,
    ([name = ""], about) =>
      name.startsWith("/") || /^[a-z]:\\/i.test(name) ? missingFile(name, about) : {
        reason: `the module ${quoted(name)}, which it needs, is not installed`,
        todo: [`Install what the server needs: run "npm install" in its directory.`]
      }
  ),
  onMatch(/can't open file '([^'\n]{1,300})'/, ([name = ""], about) => missingFile(name, about)),
  onMatch(/No module named '?([\w.]{1,100})/, ([name]) => ({
    reason: `the Python module ${quoted(name ?? "")} is not installed`,
    todo: [
      `Install it for the Python that "command" starts: run "python3 -m pip install ${line(name ?? "", 100)}".`,
      `If the server has its own virtual environment, write the whole path of its Python as "command".`
    ]
  })),
  onMatch(
    /npm (?:error|ERR!) code E404[\s\S]{0,400}?'?((?:@[\w.-]{1,100}\/)?[\w.-]{1,100})@[^'\s]{0,40}'? (?:is not in|could not be found)/,
    ([name], about) => ({
      reason: `npm knows no package ${quoted(name ?? "")}`,
      todo: [`Check the spelling of the package in ${args(about)}.`]
    })
  ),
  onMatch(/npm (?:error|ERR!) code E404/, (_, about) => ({
    reason: "npm does not know the package",
    todo: [`Check the spelling of the package in ${args(about)}.`]
  })),
  onMatch(/npm (?:error|ERR!) code (E401|E403|ENEEDAUTH)/, ([code]) => ({
    reason: `npm may not read the package (${code})`,
    todo: [`Check the spelling of the package. If it is a private one, run "npm login" first.`]
  })),
  onMatch(/npm (?:error|ERR!) code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH)/, ([code]) => ({
    reason: `npm can't reach its registry (${code})`,
    todo: [`Check your network, and "npm config get registry" and "npm config get proxy".`]
  })),
  onMatch(/could not determine executable to run/, (_, about) => ({
    reason: "the package has no program of its own name",
    todo: [`Check the name of the package in ${args(about)}.`]
  })),
  onMatch(/(?:EADDRINUSE|[Aa]ddress already in use)(?:[^\n]{0,80}?:(\d{2,5})\b)?/, ([port]) => portInUse(port)),
  onMatch(/\b[Pp]ort (\d{2,5})\b[^\n]{0,40}\bin use\b/, ([port]) => portInUse(port)),
  onMatch(/Cannot connect to the Docker daemon/, () => ({
    reason: "Docker does not run",
    todo: ["Start Docker, and check that you may use it: \"docker ps\"."]
  })),
  onMatch(/(?:pull access denied|manifest unknown|repository does not exist)/, (_, about) => ({
    reason: "Docker does not find the image",
    todo: [`Check the name of the image in ${args(about)}.`]
  })),
  onMatch(
    /(?:sh|bash|zsh|dash|env)(?:: line \d+)?(?:: \d+)?: ['"‘]?([^\s:'"’]{1,200})['"’]?: (?:command )?(?:not found|No such file)/,
    ([name]) => ({
      reason: `the program ${quoted(name ?? "")}, which it starts, was not found`,
      todo: [`Install ${quoted(name ?? "")}, or write its whole path.`]
    })
  ),
  missingVariable,
  onMatch(
    /ENOENT: no such file or directory[^\n']{0,80}'([^'\n]{1,300})'/,
    ([name = ""], about) => missingFile(name, about)
  ),
  onMatch(/(?:ERR_UNKNOWN_FILE_EXTENSION|Unknown file extension "\.ts")/, (_, about) => ({
    reason: "Node does not run TypeScript as it is",
    todo: [`Build the server and name the .js file in ${args(about)}, or start it with "tsx".`]
  })),
  onMatch(/(?:EBADENGINE|Unsupported engine|requires? Node(?:\.js)? (?:version )?(?:>=? ?)?(\d+))/i, ([version]) => ({
    reason: `it needs ${version === undefined ? "another version of Node" : `Node ${version}`}`,
    todo: [
      `This is Node ${process.versions.node}: install ${
        version === undefined ? "a newer one" : `Node ${version}`
      }, or name another "node" as "command".`
    ]
  })),
  onMatch(/heap out of memory/, (_, about) => ({
    reason: "its memory was not enough",
    todo: [`Give it more: "NODE_OPTIONS": "--max-old-space-size=4096" in ${env(about)}.`]
  })),
  onMatch(/(?:invalid|wrong|bad|expired|incorrect) (?:api[ _-]?key|access token|token|credentials)/i, (_, about) => ({
    reason: "it says that its key or token is wrong",
    todo: [`Check the key or token in ${env(about)}.`]
  })),
  onMatch(/(?:EACCES|[Pp]ermission denied)(?:[^\n']{0,80}'([^'\n]{1,300})')?/, ([name]) => ({
    reason: `it may not use ${name === undefined ? "something it needs" : quoted(name)}`,
    todo: [`Check the permissions of ${name === undefined ? "the files it names" : quoted(name)}.`]
  })),
  onMatch(/^[ \t]*usage:/im, (_, about) => ({
    reason: "it prints how it is to be used: an argument is missing or wrong",
    todo: [`Compare its usage, above, with ${args(about)}.`]
  })),
  onMatch(/(?:SyntaxError|Unexpected token)/, (_, about) => ({
    reason: "its program can't be read",
    todo: [
      `Check that ${args(about)} names the right file, and that it is built for this version of ${
        about.config?.transport === "stdio" && /python/.test(about.config.command) ? "Python" : "Node"
      }.`
    ]
  }))
]

/** The reason that a text gives away, if it is a known one. */
export const recognize = (text: string | undefined, about: About): Symptom | undefined => {
  if (text === undefined || text.trim() === "") return undefined
  for (const recognizer of recognizers) {
    const symptom = recognizer(text, about)
    if (symptom !== undefined) return symptom
  }
  return undefined
}
