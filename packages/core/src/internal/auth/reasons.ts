/**
 * Why there are no credentials, in words for whoever wanted to use the server.
 *
 * Owns: these errors. Nothing of them is a secret.
 */
import type { HttpFailure } from "../../HttpExchange.js"
import * as McpError from "../../McpError.js"
import * as Classify from "../http/classify.js"

const operation = "authorize"

/** It can't be had, and trying again changes nothing: a person has to do something. */
export const unauthorized = (
  server: string,
  detail: string,
  authorizationUrl?: string,
  challenge?: string
): McpError.Unauthorized =>
  new McpError.Unauthorized({
    server,
    operation,
    executed: "no",
    detail,
    ...(authorizationUrl === undefined ? undefined : { authorizationUrl }),
    ...(challenge === undefined ? undefined : { challenge })
  })

export const needsPerson = (server: string, authorizationUrl: string): McpError.Unauthorized =>
  unauthorized(server, "it has to be authorized by a person", authorizationUrl)

export const misconfigured = (server: string, field: string, problem: string): McpError.ConfigInvalid =>
  new McpError.ConfigInvalid({ server, operation: "configure", executed: "no", problems: [{ field, problem }] })

/** Nobody has answered. It may well do so later. */
export const unreachable = (server: string, what: string, url: URL, failure: HttpFailure): McpError.McpError =>
  new McpError.ConnectFailed({
    server,
    operation,
    executed: "no",
    reason: failure.reason === "Lost" || failure.reason === "TooLarge" ? "Other" : failure.reason,
    url: McpError.displayUrl(url.href),
    detail: `${what}: ${McpError.displayText(failure.detail, 512)}`,
    ...(failure.code === undefined ? undefined : { code: failure.code })
  })

export const tooSlow = (server: string, what: string, url: URL, millis: number): McpError.McpError =>
  new McpError.RequestTimeout({
    server,
    operation,
    executed: "no",
    kind: "idle",
    millis,
    detail: `${what} at ${McpError.displayUrl(url.href)}`
  })

export const tooLarge = (server: string, what: string, url: URL, max: number): McpError.McpError =>
  unauthorized(server, `${what} at ${McpError.displayUrl(url.href)} has an answer of more than ${max} bytes`)

/** An answer that promises nothing about the next one. */
export const troubled = (
  server: string,
  what: string,
  url: URL,
  status: number,
  retryAfterMillis: number | undefined
): McpError.McpError =>
  new McpError.HttpError({
    server,
    operation,
    executed: "no",
    status,
    body: `${what} at ${McpError.displayUrl(url.href)}`,
    ...(retryAfterMillis === undefined ? undefined : { retryAfterMillis })
  })

export const isTroubled = (status: number): boolean => status === 408 || status === 429 || status >= 500

/** A text of an authorization server, which may repeat what it was sent. */
export const shown = (text: unknown, secrets: ReadonlyArray<string>): string | undefined =>
  typeof text === "string" && text !== "" ? Classify.excerpt(text, secrets, 256) : undefined

/** Whether it may be different a little later, without anybody doing anything. */
export const isPassing = (error: McpError.McpError): boolean =>
  error._tag === "ConnectFailed" || error._tag === "RequestTimeout" || error._tag === "HttpError"
