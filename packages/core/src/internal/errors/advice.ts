/**
 * What to do about an error.
 *
 * Owns: the end of each message, and what a message is without it, for whoever has words of their own for that.
 * May not touch: what happened. Where a server's own words, or the problems of an input, say what to do, there is nothing to add.
 */
import type * as McpError from "../../McpError.js"

const label = "; to do: "

/** What a `HandshakeFailed` says where the server has no part in it. */
export const ofTheApplication =
  "the transport, a handler or the schedule of reconnections died while the session was opened; the log says of what"

/** As a message has it. */
export const todo = (error: McpError.McpError): string => {
  const advice = adviceOn(error)
  return advice === undefined ? "" : label + advice
}

/** The message without it, and without that of an error inside. */
export const without = (error: McpError.McpError): string =>
  [error, ...within(error)].reduce((message, one) => message.replace(todo(one), ""), error.message)

/** Those inside of it that are in its message. */
const within = (error: McpError.McpError): ReadonlyArray<McpError.McpError> => {
  switch (error._tag) {
    case "OutcomeUnknown":
      return [error.error]
    case "ServersFailed":
      return [error.errors[0], ...within(error.errors[0])]
    default:
      return []
  }
}

const adviceOn = (error: McpError.McpError): string | undefined => {
  switch (error._tag) {
    case "SpawnFailed":
      return onSpawn[error.reason]
    case "ConnectFailed":
      return byCode.get(error.code) ?? onConnect[error.reason]
    case "HandshakeFailed":
      if (error.detail === ofTheApplication) return "mend what the log names"
      return error.exit === undefined
        ? "see whether that is an MCP server, and whether it is reached in the right way"
        : "run its command by hand, to see why it ends"
    case "VersionMismatch":
      return "update the server, or this library"
    case "ConnectionClosed":
      return error.reason === "Closing" ? "connect it again, to use it" : again(error)
    case "RequestTimeout":
      return onTimeout(error)
    case "SessionExpired":
      return "send it again over a new session"
    case "Unauthorized":
      if (error.authorizationUrl !== undefined) return undefined
      // With credentials that are configured it says what is wrong with them.
      return error.detail === undefined
        ? `give it credentials, in "auth" or "headers"`
        : `correct "auth", or authorize it anew`
    case "Forbidden":
      return error.authorizationUrl === undefined ? "use credentials that allow it" : undefined
    case "HttpError":
      return onStatus(error)
    case "ResponseLost":
      return again(error)
    case "OutcomeUnknown":
      return "find out whether it has run, before you send it again"
    case "ProtocolViolation":
    case "InvalidResult":
      return `${
        openings.has(error.operation) ? "see whether that is an MCP server; if so, " : ""
      }tell whoever makes it${error.lastFrames === undefined ? "" : "; lastFrames of this error has what was said"}`
    case "CapabilityMissing":
      return "use a server that offers it"
    case "LimitExceeded":
      return raised.get(error.limit) ?? `raise "limits.${error.limit}" of the server`
    case "ConnectionUnavailable":
      return onUnavailable[error.reason]
    case "ToolNotFound":
      return "list the tools anew"
    case "OutputInvalid":
      return `tell whoever makes the server; "validateOutput": false leaves out the check`
    case "MetaFailed":
      return `mend "meta" of the toolset`
    case "CloseFailed":
      return "nothing, the server can be connected again"
    case "UnknownServer":
      return "correct the name, or configure the server"
    // What is wrong says it, or the words of the server do.
    case "ArgumentsInvalid":
    case "ConfigInvalid":
    case "ElicitationRequired":
    case "RemoteError":
    case "ServersFailed":
    case "TaskFailed":
    case "ToolFailed":
      return undefined
  }
}

const again = ({ executed }: Pick<McpError.McpError, "executed">): string =>
  executed === "no" ? "send it again" : "find out whether it has run, before you send it again"

const onSpawn: { readonly [R in McpError.SpawnFailed["reason"]]: string } = {
  NotFound: `correct "command", or install what it names`,
  NotExecutable: `make it executable, or let "command" name the program that runs it`,
  BadDirectory: `correct "cwd"`,
  InvalidArgument: `correct "command" and "args"`,
  TooLarge: `shorten "args" and "env"`,
  Other: "run its command by hand, to see why"
}

const isThere = "see whether the server runs, and can be reached from here"

const onConnect: { readonly [R in McpError.ConnectFailed["reason"]]: string } = {
  Refused: "see whether the server runs, and listens at this port",
  NameNotFound: "correct the name of the host",
  Unreachable: isThere,
  Timeout: isThere,
  Tls: `see whether it speaks TLS, and whether "tls" trusts its certificate`,
  BadUrl: "correct the URL",
  Proxy: `correct "proxy"`,
  Other: isThere
}

/** Before these have succeeded nobody knows what has answered. */
const openings: ReadonlySet<string> = new Set(["open", "initialize"])

const onTimeout = ({ kind, operation }: McpError.RequestTimeout): string => {
  // Its bounds are no options.
  if (operation === "authorize") return "see whether the authorization server runs, and can be reached from here"
  switch (kind) {
    case "idle":
      return `raise "timeout", if it needs longer`
    case "total":
      return `raise "maxTotal", if it needs longer`
    case "handshake":
      return `raise ${operation === "connect" ? `"connectTimeout" or ` : ""}"timeouts.handshake", if it needs longer`
    case "send":
      return "see why the server does not read what is sent"
    case "wait":
      return `raise "timeout" or "maxTotal", if it may wait longer`
  }
}

const fewerFiles = "close what is open, start fewer servers, or raise the limit of open files (ulimit -n)"

/** Where the machine says what it lacks. */
const byCode: ReadonlyMap<string | undefined, string> = new Map([
  ["EMFILE", fewerFiles],
  ["ENFILE", fewerFiles],
  ["ERR_MODULE_NOT_FOUND", "install the package that it names"]
])

/** Those for which there is no server, or no endpoint, at the URL. */
const notThere: ReadonlySet<number> = new Set([404, 405, 406, 410, 415])

const onStatus = ({ executed, location, retryAfterMillis, status }: McpError.HttpError): string => {
  if (location !== undefined || notThere.has(status)) return "see whether the URL is that of an MCP server"
  if (retryAfterMillis === undefined && status !== 429 && status !== 503) return "look into the log of the server"
  return executed === "no" ? "try again later" : again({ executed })
}

/** Bounds that are no option of a server. */
const raised: ReadonlyMap<string, string> = new Map([["sendBuffer", "send less at once"]])

const onUnavailable: { readonly [R in McpError.ConnectionUnavailable["reason"]]: string } = {
  Disabled: "enable or connect the server",
  Released: "use one that is open",
  CrashLoop: "mend the server, or try again later",
  Connecting: "try again in a moment"
}
