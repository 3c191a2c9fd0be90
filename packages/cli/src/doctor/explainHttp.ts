/**
 * Advice about servers that have a URL: not reached, refused, or something else than an MCP server.
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import type { Advice, Detail, Surroundings } from "../Doctor.js"
import * as Words from "./words.js"

export const connectFailed = (error: McpError.ConnectFailed, surroundings: Surroundings): Advice => {
  const server = Words.server(error.server)
  const host = Words.quoted(Words.hostOf(error.url))
  const url = Words.field("url", error.server, surroundings)
  const how = `${Words.sentence(error.detail)} The URL is ${Words.line(error.url)}`
  switch (error.reason) {
    case "Refused":
      return Words.advice(`${server}: nothing listens at ${host}`, how, [
        "Start the server, or wait until it has started.",
        `Check the port in ${url}.`,
        ...(isLocal(error.url)
          ? ["A server in a container is at the port that the container publishes (docker run -p)."]
          : [])
      ])
    case "NameNotFound":
      return Words.advice(`${server}: there is no host ${host}`, how, [
        `Check the spelling of the host in ${url}.`,
        "Check your network: does this machine resolve other names? Is a VPN needed?"
      ])
    case "Unreachable":
      return Words.advice(`${server}: the host ${host} can't be reached`, how, [
        "Check your network: is this machine online? Is a VPN needed?",
        `Check the address in ${url}.`
      ])
    case "Timeout":
      return Words.advice(`${server}: the host ${host} does not accept a connection in time`, how, [
        `Check the host and the port in ${url}: a firewall drops what goes to a wrong port without a word.`,
        `If you are behind a proxy, name it as ${Words.field("proxy", error.server, surroundings)}.`
      ])
    case "Tls":
      return tls(error, surroundings, how)
    case "BadUrl":
      return Words.advice(`${server}: its URL can't be used`, how, [
        `Correct ${url}: it must begin with http:// or https://.`
      ])
    case "Proxy":
      return Words.advice(`${server}: the proxy can't be used`, how, [
        `Check ${Words.field("proxy", error.server, surroundings)}: its host, its port, its user and password.`,
        "If this server needs no proxy, leave \"proxy\" out."
      ])
    case "Other":
      return Words.advice(`${server}: the request could not be sent`, how, [
        ...(lacksFiles.has(error.code)
          ? ["Close what is open, use fewer servers, or raise the limit of open files: ulimit -n"]
          : [`Check ${url}.`]),
        "Try again."
      ])
  }
}

const lacksFiles: ReadonlySet<string | undefined> = new Set(["EMFILE", "ENFILE"])

const isLocal = (url: string): boolean => /^https?:\/\/(?:localhost|127\.|\[::1\])/i.test(url)

/** The kinds of what may be wrong with a certificate, by the codes of OpenSSL and Node. */
const kindOf = (code: string | undefined) => {
  switch (code) {
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return "self-signed"
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "CERT_UNTRUSTED":
      return "unknown"
    case "CERT_HAS_EXPIRED":
      return "expired"
    case "CERT_NOT_YET_VALID":
      return "early"
    case "ERR_TLS_CERT_ALTNAME_INVALID":
    case "HOSTNAME_MISMATCH":
      return "host"
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
    case "ERR_SSL_HTTP_REQUEST":
      return "plain"
    default:
      return "other"
  }
}

const tls = (error: McpError.ConnectFailed, surroundings: Surroundings, how: string): Advice => {
  const server = Words.server(error.server)
  const host = Words.quoted(Words.hostOf(error.url))
  const certificate = Words.find(surroundings, "Certificate")
  const details: ReadonlyArray<Detail> = certificate === undefined ? [] : [
    ...Words.detail(
      "the certificate is for",
      Words.line(certificate.names === "" ? certificate.subject : certificate.names)
    ),
    ...Words.detail("signed by", Words.line(certificate.issuer)),
    ...Words.detail("valid until", Words.line(certificate.validTo))
  ]
  const trust = [
    `If you trust it, give its certificate, or that of its authority, as "ca" in "tls" of this server, or start mcp-runtime with NODE_EXTRA_CA_CERTS=/path/to/ca.pem.`
  ]
  switch (kindOf(error.code)) {
    case "self-signed":
      return Words.advice(`${server}: ${host} shows a self-signed certificate`, how, trust, details)
    case "unknown":
      return Words.advice(`${server}: nobody this machine trusts has signed the certificate of ${host}`, how, [
        ...trust,
        "In a company, a proxy may have put its own certificate in place: ask for that of its authority."
      ], details)
    case "expired":
      return Words.advice(`${server}: the certificate of ${host} has expired`, how, [
        "Whoever runs the server has to renew it.",
        "Check the clock of this machine."
      ], details)
    case "early":
      return Words.advice(`${server}: the certificate of ${host} is not valid yet`, how, [
        "Check the clock of this machine."
      ], details)
    case "host":
      return Words.advice(`${server}: the certificate of ${host} is for another host`, how, [
        `Write the host that the certificate is for in ${Words.field("url", error.server, surroundings)}.`
      ], details)
    case "plain":
      return Words.advice(`${server}: ${host} does not speak TLS on this port`, how, [
        `Write http:// instead of https:// in ${Words.field("url", error.server, surroundings)}, or another port.`
      ])
    case "other":
      return Words.advice(`${server}: no secure connection to ${host} could be made`, how, [
        `Check ${Words.field("tls", error.server, surroundings)}, if there is one, and the port of its URL.`
      ], details)
  }
}

/** What was sent was not understood, but the same port speaks the other of `http` and `https`. */
export const otherScheme = (error: McpError.McpError, scheme: string, surroundings: Surroundings): Advice =>
  Words.advice(
    `${Words.server(error.server)} speaks ${scheme} at this port`,
    Words.sentence(Words.said(error)),
    [`Write ${scheme}:// in ${Words.field("url", error.server, surroundings)}.`]
  )

const authorizationOf = (config: McpConfig.ServerConfig | undefined): boolean =>
  config !== undefined && "headers" in config &&
  Object.keys(config.headers ?? {}).some((_) => _.toLowerCase() === "authorization")

export const unauthorized = (error: McpError.Unauthorized, surroundings: Surroundings): Advice => {
  const server = Words.server(error.server)
  const given = authorizationOf(surroundings.config)
  const login = error.detail !== undefined && /refused to register|registers no clients/.test(error.detail)
    ? `Register a client there by hand, and write its id: "clientId" in ${
      Words.field("auth", error.server, surroundings)
    } ({ "type": "oauth", "clientId": "..." }).`
    : `Authorize this machine: ${Words.command("auth", error.server, surroundings, "")}`
  const header = Words.field("headers", error.server, surroundings)
  if (error.detail !== undefined && /EADDRINUSE|in use/i.test(error.detail)) {
    return Words.advice(
      `${server} can't be authorized: the port for the answer of the browser is in use`,
      Words.sentence(error.detail),
      [
        "End the program that uses the port; it may be another mcp-runtime auth.",
        `Or take another "redirectPort" in ${Words.field("auth", error.server, surroundings)}, if one is set there.`
      ]
    )
  }
  return Words.advice(
    given ? `${server} does not accept the token it is given` : `${server} asks for credentials`,
    given
      ? "HTTP 401, although an Authorization header is configured."
      : "HTTP 401, and no credentials are configured.",
    given
      ? [
        `Check "Authorization" in ${header}: it may have expired, be for another server, or lack "Bearer " before the token.`,
        `Or leave it out, and authorize this machine: ${Words.command("auth", error.server, surroundings, "")}`
      ]
      : [login, `Or give a token: "Authorization": "Bearer \${YOUR_TOKEN}" in ${header}.`],
    [
      ...Words.detail("why", error.detail === undefined ? undefined : Words.line(error.detail)),
      ...Words.detail("challenge", error.challenge === undefined ? undefined : Words.line(error.challenge))
    ]
  )
}

export const forbidden = (error: McpError.Forbidden, surroundings: Surroundings): Advice =>
  Words.advice(
    `${Words.server(error.server)} does not let you in`,
    "HTTP 403: it knows who you are, or does not want to.",
    [
      ...(error.scope === undefined
        ? []
        : [
          `It asks for the scope ${Words.quoted(error.scope)}: ${Words.command("auth", error.server, surroundings, "")}`
        ]),
      `Check that your token or account may use ${Words.operation(error)}: ${
        surroundings.configFile === Words.commandLine
          ? "--header"
          : `"headers" or "auth" in ${Words.file(surroundings)}`
      }.`,
      "Servers on your own machine may accept only some values of Host: use the URL that its documentation names (localhost, not 127.0.0.1)."
    ],
    [
      ...Words.detail("challenge", error.challenge === undefined ? undefined : Words.line(error.challenge)),
      ...Words.detail("it says", Words.line(error.body))
    ]
  )

export const httpError = (error: McpError.HttpError, surroundings: Surroundings): Advice => {
  const server = Words.server(error.server)
  const { status } = error
  const url = Words.field("url", error.server, surroundings)
  const how = `It answered ${Words.operation(error)} with HTTP ${status}.`
  const details = [
    ...Words.detail("URL", shownUrl(surroundings)),
    ...Words.detail("it says", Words.find(surroundings, "WebPage") === undefined ? Words.line(error.body) : undefined)
  ]
  const opening = error.operation === "initialize" || error.operation === "open"
  if (status >= 300 && status < 400) {
    const to = error.location === undefined ? undefined : McpError.displayUrl(error.location)
    return Words.advice(
      `${server} is at another URL`,
      `${how} Only 307 and 308 are followed, and only within the origin.`,
      [
        to === undefined
          ? `Ask for the right URL, and write it in ${url}.`
          : `If you trust it, write ${Words.line(to)} in ${url}.`
      ],
      details
    )
  }
  if (status === 404 || status === 405 || status === 501) {
    return Words.advice(
      status === 404
        ? `${server}: there is nothing at its URL`
        : `${server}: what is at its URL is no MCP server of this kind`,
      how,
      [...otherPlaces(surroundings, url), ...otherTransport(surroundings, status)],
      details
    )
  }
  if (status === 406 || status === 415) {
    return Words.advice(`${server} does not take what MCP servers take`, how, [
      ...otherTransport(surroundings, status),
      ...otherPlaces(surroundings, url)
    ], details)
  }
  if (status === 407) {
    return Words.advice(`${server}: the proxy asks for credentials`, how, [
      `Give them in ${Words.field("proxy", error.server, surroundings)}: http://user:password@host:port.`
    ])
  }
  if (status === 408 || status === 504) {
    return Words.advice(`${server} took too long`, how, ["Try again later.", ...retry(error)], details)
  }
  if (status === 429) {
    return Words.advice(`${server} is asked too often`, how, ["Wait, then try again.", ...retry(error)], details)
  }
  if (status === 502 || status === 503) {
    return Words.advice(`${server} is not available now`, how, [
      "The server behind a gateway does not run, or starts: try again later.",
      ...retry(error)
    ], details)
  }
  if (status >= 500) {
    return Words.advice(`${server} has failed`, how, [
      "The fault is the server's: look into its log.",
      "Try again later."
    ], details)
  }
  if (opening && isTaken(error.body)) return oneSession(error, how, details)
  return Words.advice(`${server} refuses the request`, how, [
    ...(opening ? otherPlaces(surroundings, url) : []),
    "Read what it says, above, and compare the URL and the headers with its documentation."
  ], details)
}

/** The first client has got the only transport that there is, as in the first example of some libraries. */
export const isTaken = (said: string): boolean => /server already initialized/i.test(said)

export const oneSession = (error: McpError.McpError, happened: string, details: Advice["details"] = []): Advice =>
  Words.advice(`${Words.server(error.server)} serves one session only, and has it already`, happened, [
    "Restart it, and let one client at a time use it.",
    `If it is yours: each "initialize" needs a server and a transport of its own.`
  ], details)

const shownUrl = ({ config }: Surroundings): string | undefined =>
  config !== undefined && "url" in config ? McpError.displayUrl(config.url) : undefined

const retry = ({ retryAfterMillis }: McpError.HttpError): ReadonlyArray<string> =>
  retryAfterMillis === undefined ? [] : [`It asks to wait for ${Words.seconds(retryAfterMillis)}.`]

const otherPlaces = (surroundings: Surroundings, url: string): ReadonlyArray<string> => {
  const elsewhere = Words.find(surroundings, "Elsewhere")
  if (elsewhere !== undefined) {
    return [`Something like an MCP server answers at ${Words.line(elsewhere.url)}: write that in ${url}.`]
  }
  const { config } = surroundings
  const path = config !== undefined && "url" in config && URL.canParse(config.url)
    ? new URL(config.url).pathname
    : undefined
  return [
    path === "/mcp" || path === "/sse"
      ? `Check the path in ${url} with the documentation of the server.`
      : `Check the path in ${url}: most servers are at /mcp, older ones at /sse.`
  ]
}

const otherTransport = ({ config }: Surroundings, status: number): ReadonlyArray<string> =>
  config?.transport === "http"
    ? [`An older server speaks HTTP+SSE: try "type": "sse", or leave "type" out.`]
    : config?.transport === "sse"
    ? [`A newer server speaks Streamable HTTP: try "type": "http", or leave "type" out.`]
    : status === 405
    ? ["It may be a website, or an API of another kind."]
    : []

/** Something answers, in another language. */
export const violation = (error: McpError.ProtocolViolation, surroundings: Surroundings): Advice => {
  const server = Words.server(error.server)
  const page = Words.find(surroundings, "WebPage")
  const url = Words.field("url", error.server, surroundings)
  const how = Words.sentence(`It answered ${Words.operation(error)} with: ${error.detail}`)
  if (Words.isRemote(surroundings.config)) {
    const isPage = page !== undefined || /text\/html/.test(error.detail)
    return Words.advice(
      isPage ? `${server}: a web page is at its URL, and no MCP server` : `${server} does not speak MCP at its URL`,
      how,
      [...otherPlaces(surroundings, url), ...otherTransport(surroundings, 0)],
      [
        ...Words.detail("URL", shownUrl(surroundings)),
        ...Words.detail("the page is called", page?.title === undefined ? undefined : Words.line(page.title))
      ]
    )
  }
  return Words.advice(`${server} does not keep to the protocol`, how, [
    "Update the server.",
    `If it is no MCP server, correct ${Words.field("command", error.server, surroundings)}.`
  ])
}
