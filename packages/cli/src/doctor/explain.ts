/**
 * One advice for each class of `McpError`.
 */
import * as McpError from "@mcp-runtime/core/McpError"
import type { Advice, Surroundings } from "../Doctor.js"
import * as Call from "./explainCall.js"
import * as Http from "./explainHttp.js"
import * as Start from "./explainStart.js"
import { similar } from "./similar.js"
import * as Words from "./words.js"

export const explain = (error: McpError.McpError, surroundings: Surroundings = {}): Advice => {
  const server = Words.server(error.server)
  const said = Words.sentence(Words.said(error))
  const scheme = Words.find(surroundings, "OtherScheme")
  if (scheme !== undefined) return Http.otherScheme(error, scheme.scheme, surroundings)
  switch (error._tag) {
    case "ConfigInvalid":
      return Call.configInvalid(error, surroundings)
    case "SpawnFailed":
      return Start.spawnFailed(error, surroundings)
    case "ConnectFailed":
      return Http.connectFailed(error, surroundings)
    case "HandshakeFailed":
      return handshakeFailed(error, surroundings)
    case "VersionMismatch":
      return Call.versionMismatch(error)
    case "ConnectionClosed":
      return Call.connectionClosed(error, surroundings)
    case "RequestTimeout":
      return error.kind === "handshake" ? Start.silent(error, surroundings) : Call.timedOut(error, surroundings)
    case "SessionExpired":
      return Words.advice(`${server} has forgotten the session`, said, [
        "Try again: the next call opens a new one.",
        "If it happens each time, the server runs in several copies which do not share their sessions."
      ])
    case "Unauthorized":
      return Http.unauthorized(error, surroundings)
    case "Forbidden":
      return Http.forbidden(error, surroundings)
    case "HttpError":
      return Http.httpError(error, surroundings)
    case "ResponseLost":
      return Words.advice(`${server}: the answer to ${Words.operation(error)} was lost`, said, [
        "It may have been done all the same: look before you try again.",
        "If it happens each time, a proxy between may cut streams: see its time-outs and its buffering."
      ])
    case "ProtocolViolation":
      return Http.violation(error, surroundings)
    case "InvalidResult":
      return Words.advice(`${server} answered ${Words.operation(error)} with something malformed`, said, [
        "Update the server, or tell those who make it."
      ])
    case "RemoteError":
      return Call.remoteError(error, surroundings)
    case "ElicitationRequired":
      return Words.advice(
        `${server}: visit ${error.elicitations.length === 1 ? "a page" : "some pages"} first`,
        Words.sentence(error.reason),
        ["Open what is listed above in your browser, then try again."],
        error.elicitations.slice(0, 8).map((_) => ({
          label: Words.line(_.message, 200) || "page",
          text: pageUrl(_.url)
        }))
      )
    case "CapabilityMissing":
      return Words.advice(`${server} does not offer ${Words.quoted(error.capability)}`, said, [
        "See what it offers: mcp-runtime doctor"
      ])
    case "LimitExceeded":
      return Words.advice(`${server}: the limit ${Words.quoted(error.limit)} of ${error.max} was exceeded`, said, [
        `Raise "${Words.line(error.limit, 64)}" in ${
          Words.field("limits", error.server, surroundings)
        }, or ask for less.`
      ])
    case "TaskFailed":
      return Words.advice(`${server}: its task did not succeed`, said, [
        "Try again.",
        "Look into the log of the server."
      ])
    case "ArgumentsInvalid":
      return Call.argumentsInvalid(error)
    case "ConnectionUnavailable":
      return unavailable(error, surroundings)
    case "OutcomeUnknown": {
      const why = explain(error.error, surroundings)
      return Words.advice(
        `${server}: whether ${Words.operation(error)} was done is not known`,
        `It was sent, and not sent again, since it could have been done twice. ${why.headline}.`,
        ["Look whether it was done before you try again.", ...why.todo],
        why.details
      )
    }
    case "ToolNotFound":
      return Call.toolNotFound(error, surroundings)
    case "OutputInvalid":
      return Words.advice(
        `${server}: the answer of ${Words.quoted(error.tool)} does not fit its own output schema`,
        said,
        [
          "Nothing is wrong with your call: the server has to be mended. It has run; look before you try again."
        ]
      )
    case "ToolFailed":
      return Words.advice(
        `${Words.quoted(error.tool)} of ${Words.quoted(error.server)} says that it has failed`,
        Words.sentence(error.detail),
        [
          "Read what it says, and correct the arguments: mcp-runtime tools --json shows what it takes."
        ]
      )
    case "MetaFailed":
      return Words.advice(`${server}: the call was not sent`, said, ["Correct the function that gives \"_meta\"."])
    case "CloseFailed":
      return Words.advice(`${server} did not end in order`, said, [
        "Nothing of it is left running. If it happens each time, the server ignores the end of its input and SIGTERM."
      ])
    case "UnknownServer":
      return unknownServer(error, surroundings)
    case "ServersFailed":
      return serversFailed(error, surroundings)
  }
}

/** The user is to visit it, so it is shown as it is: printable ASCII has no surprises. */
const pageUrl = (url: string): string =>
  URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? new URL(url).href.slice(0, 2000)
    : McpError.displayUrl(url)

const handshakeFailed = (error: McpError.HandshakeFailed, surroundings: Surroundings): Advice => {
  if (error.exit !== undefined || surroundings.config?.transport === "stdio" && error.code === undefined) {
    return Start.endedEarly(error, surroundings)
  }
  const statuses = [...error.detail.matchAll(/\bHTTP (\d{3})\b/g)].map(([, status]) => Number(status))
  const [status] = statuses
  if (Http.isTaken(error.detail)) return Http.oneSession(error, Words.sentence(error.detail))
  if (Words.isRemote(surroundings.config) && status !== undefined) {
    const { data: _, detail, exit: _exit, stderrTail: _tail, code: _code, ...common } = error
    const advice = Http.httpError(
      new McpError.HttpError({
        server: common.server,
        operation: common.operation,
        executed: common.executed,
        status,
        body: ""
      }),
      surroundings
    )
    return { ...advice, happened: Words.sentence(detail) }
  }
  if (Words.isRemote(surroundings.config) && error.code === undefined) {
    return Words.advice(`${Words.server(error.server)} broke off instead of answering`, Words.sentence(error.detail), [
      `Check the port in ${
        Words.field("url", error.server, surroundings)
      }: it may belong to a program of another kind.`,
      "If it is the right one, look into the log of the server."
    ])
  }
  return Words.advice(
    `${Words.server(error.server)} refused the handshake`,
    Words.sentence(error.detail),
    [
      "Read what it says, and compare the configuration with its documentation.",
      "Update the server."
    ],
    Words.stderr(error.stderrTail)
  )
}

const unavailable = (error: McpError.ConnectionUnavailable, surroundings: Surroundings): Advice => {
  const server = Words.server(error.server)
  const said = Words.sentence(error.detail)
  switch (error.reason) {
    case "Disabled":
      return Words.advice(`${server} is disabled`, said, [
        `Take "disabled" (or "enabled": false) away from ${Words.quoted(error.server)} in ${Words.file(surroundings)}.`
      ])
    case "Released":
      return Words.advice(`${server} is closed`, said, ["Connect it again."])
    case "Connecting":
      return Words.advice(`${server} is not connected yet`, said, ["Try again in a moment."])
    case "CrashLoop":
      return Words.advice(`${server} keeps crashing`, said, ["See why: mcp-runtime doctor"])
  }
}

const unknownServer = (error: McpError.UnknownServer, surroundings: Surroundings): Advice =>
  Words.advice(
    `There is no server ${Words.quoted(error.server)}`,
    error.configured.length === 0 ? "No server is configured." : `${error.configured.length} are configured.`,
    [
      ...Words.didYouMean(similar(error.server, error.configured)),
      error.configured.length === 0
        ? "Write a configuration file, mcp.json: { \"mcpServers\": { \"name\": { \"command\": ..., \"args\": [...] } } }"
        : `Name one of those above, or add ${Words.quoted(error.server)} to ${Words.file(surroundings)}.`
    ],
    error.configured.length === 0
      ? []
      : [{ label: "servers", text: error.configured.slice(0, 100).map((_) => Words.line(_, 64)).join(", ") }]
  )

const serversFailed = (error: McpError.ServersFailed, surroundings: Surroundings): Advice => {
  const [first, ...others] = error.errors
  const advice = explain(first, surroundings)
  return others.length === 0 ? advice : {
    ...advice,
    details: [
      ...advice.details,
      ...others.slice(0, 20).map((_) => ({
        label: `also ${Words.quoted(_.server)}`,
        text: explain(_, { ...surroundings, config: undefined, findings: [] }).headline
      }))
    ]
  }
}

export const format = ({ details, happened, headline, todo }: Advice): string =>
  [
    headline,
    ...(happened === "" ? [] : [`  ${happened}`]),
    ...details.flatMap(({ label, text }) =>
      text.includes("\n") ? [`  ${label}:`, ...text.split("\n").map((_) => `    ${_}`)] : [`  ${label}: ${text}`]
    ),
    ...todo.map((_, index) => `  ${index === 0 ? "to do:" : "      "} ${_}`)
  ].join("\n")
