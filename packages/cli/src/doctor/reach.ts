/**
 * What is at a URL, when it is not an MCP server that can be used.
 *
 * Owns: a few requests to the server's own origin, without any credentials and without effects: GET, bounded in number, size
 * and time.
 * May not touch: headers, tokens or the query of the configuration. No failure leaves it.
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import * as Effect from "effect/Effect"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import * as Tls from "node:tls"
import type { Finding } from "../Doctor.js"
import { inTime, together } from "../together.js"
import { line } from "./words.js"

const patience = "2 seconds"
const mostBytes = 64 * 1024

/** What an error of a remote server leaves open. */
export const look = (
  config: McpConfig.ServerConfig,
  error: McpError.McpError
): Effect.Effect<ReadonlyArray<Finding>> => {
  if (config.transport === "stdio" || config.transport === "inMemory") return Effect.succeed([])
  // A look from here would not go through the proxy, nor show our certificate.
  if (config.proxy !== undefined || config.url.includes("${") || !URL.canParse(config.url)) return Effect.succeed([])
  const url = new URL(config.url)
  switch (error._tag) {
    case "ConnectFailed":
      return error.reason === "Tls" ? certificateOf(url) : Effect.succeed([])
    case "HttpError":
    case "ProtocolViolation":
    case "HandshakeFailed":
    case "ConnectionClosed":
    case "ResponseLost":
      return Effect.map(
        together([pageAt, elsewhere, otherScheme], (look) => look(url)),
        (_) => _.flat()
      )
    default:
      return Effect.succeed([])
  }
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly challenge: string
  readonly allow: string
  readonly body: string
}

const patiently = <A>(effect: Effect.Effect<A | undefined>): Effect.Effect<A | undefined> =>
  inTime(effect, patience, () => Effect.succeed(undefined))

const get = (url: URL, accept: string): Effect.Effect<Answer | undefined> =>
  patiently(
    Effect.async<Answer | undefined>((resume) => {
      const chunks: Array<Buffer> = []
      let size = 0
      const request = (url.protocol === "https:" ? Https : Http).request(
        { ...urlOptions(url), method: "GET", agent: false, headers: { accept }, maxHeaderSize: 16 * 1024 },
        (response) => {
          const header = (name: string): string => String(response.headers[name] ?? "")
          const done = () => {
            resume(Effect.succeed({
              status: response.statusCode ?? 0,
              type: header("content-type"),
              challenge: header("www-authenticate"),
              allow: header("allow"),
              body: Buffer.concat(chunks).toString("utf8")
            }))
            request.destroy()
          }
          // A stream has no end that could be waited for.
          if (/text\/event-stream/.test(header("content-type"))) return done()
          response.on("data", (chunk: Buffer) => {
            chunks.push(chunk)
            if ((size += chunk.length) >= mostBytes) done()
          })
          response.on("end", done)
          response.on("error", done)
        }
      )
      request.on("error", () => resume(Effect.succeed(undefined)))
      request.end()
      return Effect.sync(() => request.destroy())
    }).pipe(Effect.catchAllCause(() => Effect.succeed(undefined)))
  )

/** Nothing of the configured URL but where it is: its user, password and query may be secrets. */
const urlOptions = (url: URL): Http.RequestOptions => ({
  protocol: url.protocol,
  hostname: url.hostname.replace(/^\[|\]$/g, ""),
  port: url.port,
  path: url.pathname
})

const pageAt = (url: URL): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.map(get(url, "text/html, */*"), (answer) => {
    if (answer === undefined || !/text\/html/i.test(answer.type)) return []
    const title = /<title[^>]{0,200}>([^<]{1,300})/i.exec(answer.body)?.[1]
    return [{
      _tag: "WebPage",
      status: answer.status,
      title: title === undefined ? undefined : line(title, 120)
    }]
  })

const nowhere = "/no-such-path-of-mcp-runtime-doctor"

/** Where a server whose URL is nearly right may be. */
export const pathsNear = (url: URL): ReadonlyArray<string> => {
  let end = url.pathname.length
  while (url.pathname[end - 1] === "/") end--
  const base = url.pathname.slice(0, end)
  const parent = base.slice(0, base.lastIndexOf("/") + 1)
  const paths = new Set([`${base}/mcp`, `${base}/sse`, `${parent}mcp`, `${parent}sse`, "/mcp", "/sse"])
  return Array.from(paths).filter((_) => _ !== url.pathname && _.length < 2000)
}

/** Servers that answer the same to everything say nothing by it. */
const elsewhere = (url: URL): Effect.Effect<ReadonlyArray<Finding>> => {
  const paths = pathsNear(url)
  const ask = (path: string) => get(new URL(path, url.origin), "text/event-stream, application/json")
  return Effect.map(
    together([nowhere, ...paths], ask),
    ([other, ...answers]) => {
      const index = answers.findIndex((_) => _ !== undefined && standsOut(_, other))
      return index < 0
        ? []
        : [{ _tag: "Elsewhere", url: McpError.displayUrl(new URL(paths[index]!, url.origin).href) }]
    }
  )
}

const standsOut = (answer: Answer, other: Answer | undefined): boolean =>
  other === undefined
    ? isMcp(answer)
    : isMcp(answer) && !isMcp(other) || other.status === 404 && refusals.has(answer.status)

/** How servers that know a path, but not what is asked of it, say so. */
const refusals: ReadonlySet<number> = new Set([400, 405, 406])

const isMcp = ({ allow, body, challenge, status, type }: Answer): boolean =>
  (status === 200 && /text\/event-stream/i.test(type)) ||
  (status === 401 && /^\s*bearer/i.test(challenge)) ||
  (status >= 400 && status < 500 && /"jsonrpc"\s*:/.test(body.slice(0, 4096))) ||
  (status === 405 && /\bPOST\b/.test(allow))

const otherScheme = (url: URL): Effect.Effect<ReadonlyArray<Finding>> =>
  url.protocol !== "http:" ? Effect.succeed([]) : Effect.map(
    connected(url),
    (certificate) => certificate === undefined ? [] : [{ _tag: "OtherScheme", scheme: "https" }]
  )

/** The certificate is only looked at: nothing is sent over this connection. */
const connected = (url: URL): Effect.Effect<Tls.PeerCertificate | undefined> =>
  patiently(
    Effect.async<Tls.PeerCertificate | undefined>((resume) => {
      const host = url.hostname.replace(/^\[|\]$/g, "")
      const port = Number(url.port === "" ? (url.protocol === "https:" ? 443 : 80) : url.port)
      const socket = Tls.connect({
        host,
        port,
        servername: Net.isIP(host) === 0 ? host : "",
        rejectUnauthorized: false
      }, () => {
        resume(Effect.succeed(socket.getPeerCertificate()))
        socket.destroy()
      })
      socket.on("error", () => resume(Effect.succeed(undefined)))
      socket.once("close", () => resume(Effect.succeed(undefined)))
      return Effect.sync(() => socket.destroy())
    }).pipe(Effect.catchAllCause(() => Effect.succeed(undefined)))
  )

const certificateOf = (url: URL): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.map(connected(url), (certificate) => {
    if (certificate === undefined || certificate.subject === undefined) return []
    return [{
      _tag: "Certificate",
      subject: nameOf(certificate.subject),
      issuer: nameOf(certificate.issuer),
      names: line((certificate.subjectaltname ?? "").replaceAll("DNS:", "").replaceAll("IP Address:", "")),
      validTo: line(certificate.valid_to ?? "")
    }]
  })

const nameOf = (name: Tls.PeerCertificate["subject"] | undefined): string =>
  line([name?.CN, name?.O].flat().filter((_) => typeof _ === "string" && _ !== "").join(", ")) || "(no name)"
