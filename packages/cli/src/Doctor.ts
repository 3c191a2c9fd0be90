/**
 * What is wrong with a server, in words of somebody who has never heard of it, and what to do about it.
 *
 * Owns: the advice for each error, and the checks that find out what an error alone does not say.
 * May not touch: connections, output. It is given an error and gives an `Advice`; the commands show it.
 *
 * No text of it holds a secret or a control character: what comes from a server or a file is bounded and cleaned.
 *
 * @since 0.1.0
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import type * as McpError from "@mcp-runtime/core/McpError"
import * as internal from "./doctor/explain.js"

/**
 * A fact worth seeing: a path that was searched, the end of stderr, the challenge of a server. May have several lines.
 *
 * @since 0.1.0
 * @category models
 */
export interface Detail {
  readonly label: string
  readonly text: string
}

/**
 * One message that says what to fix.
 *
 * @since 0.1.0
 * @category models
 */
export interface Advice {
  /** What is wrong, in one line. */
  readonly headline: string
  /** What happened, in a sentence or two. */
  readonly happened: string
  readonly details: ReadonlyArray<Detail>
  /** What to do, the most likely first. Never empty. */
  readonly todo: ReadonlyArray<string>
}

/**
 * What a check has found out.
 *
 * @since 0.1.0
 * @category models
 */
export type Finding =
  /** No program of this name is in any directory of `PATH`. */
  | { readonly _tag: "CommandMissing"; readonly similar: ReadonlyArray<string> }
  /** The program is there, but what its first line says should run it is not. */
  | { readonly _tag: "InterpreterMissing"; readonly file: string; readonly interpreter: string }
  /** The file that the arguments name is not there. */
  | { readonly _tag: "ScriptMissing"; readonly file: string; readonly similar: ReadonlyArray<string> }
  | { readonly _tag: "DirectoryMissing"; readonly directory: string }
  /** A line on stdout that is no message of the protocol. */
  | { readonly _tag: "Noise"; readonly line: string }
  /** The URL answers with a page for people. */
  | { readonly _tag: "WebPage"; readonly status: number; readonly title: string | undefined }
  /** Something that looks like an MCP server is at another path of the same origin. */
  | { readonly _tag: "Elsewhere"; readonly url: string }
  /** Whom the certificate is for, who has signed it, and until when it is good. */
  | {
    readonly _tag: "Certificate"
    readonly subject: string
    readonly issuer: string
    readonly names: string
    readonly validTo: string
  }
  /** The other of `http` and `https` is answered on this port. */
  | { readonly _tag: "OtherScheme"; readonly scheme: "http" | "https" }

/**
 * What is known beside the error. Everything is optional; the more there is, the more precise the advice.
 *
 * @since 0.1.0
 * @category models
 */
export interface Surroundings {
  readonly config?: McpConfig.ServerConfig | undefined
  /** The `PATH` that was searched. */
  readonly path?: string | undefined
  /** The file that the server comes from. */
  readonly configFile?: string | undefined
  readonly findings?: ReadonlyArray<Finding> | undefined
  /** The names of the tools there are, where one was not found. */
  readonly tools?: ReadonlyArray<string> | undefined
}

/**
 * What an error means, and what to do.
 *
 * @example
 * ```ts
 * import { Doctor } from "@mcp-runtime/cli"
 * import { McpError } from "@mcp-runtime/core"
 *
 * const { headline } = Doctor.explain(
 *   new McpError.SpawnFailed({
 *     server: "files",
 *     operation: "open",
 *     executed: "no",
 *     reason: "NotFound",
 *     command: "nodee",
 *     detail: "the command was not found (ENOENT)"
 *   }),
 *   { path: "/usr/bin:/bin", findings: [{ _tag: "CommandMissing", similar: ["node"] }] }
 * )
 *
 * headline // Server "files": the command "nodee" was not found
 * ```
 *
 * @since 0.1.0
 * @category explaining
 */
export const explain: (error: McpError.McpError, surroundings?: Surroundings) => Advice = internal.explain

/**
 * An advice as lines of text: what `mcp-runtime` prints on stderr.
 *
 * @since 0.1.0
 * @category explaining
 */
export const format: (advice: Advice) => string = internal.format
