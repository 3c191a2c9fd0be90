/**
 * Keeps the configured values of variables out of what is shown of a server's output.
 *
 * Owns: what counts as such a value in a text. May not touch: the texts' bounds and control characters.
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import { spellingsOf } from "@mcp-runtime/core/SecretResolver"
import * as Redacted from "effect/Redacted"
import { Buffer } from "node:buffer"

/** Shorter parts are words that occur anyway. */
const shortest = 6

/** Stands for a value while URLs are taken apart: it may be a part of one, which "<redacted>" may not. */
const placeholder = "mcp-redacted-value"

/** @internal */
export interface Cut {
  /** The text is the end of a longer one, so it may begin inside a value. */
  readonly start?: boolean
  /** The text may go on, so it may end inside a value. */
  readonly end?: boolean
}

/** @internal */
export class Secrets {
  /** In all their spellings, the longest first. */
  readonly values: ReadonlyArray<string>
  /** How many bytes the longest of them has. */
  readonly longest: number

  constructor(values: Iterable<string>) {
    this.values = [...spellingsOf(values)].sort((a, b) => b.length - a.length)
    this.longest = this.values.reduce((longest, value) => Math.max(longest, Buffer.byteLength(value)), 0)
  }

  /** What may be shown of a text, in at most so many characters. */
  show(text: string, max: number, cut: Cut): string {
    if (this.values.length === 0) return McpError.displayText(text, max)
    return McpError.displayText(this.cover(text, cut), max).replaceAll(placeholder, "<redacted>")
  }

  private cover(text: string, cut: Cut): string {
    if (cut.start === true && text.length >= shortest && this.values.some((_) => _.includes(text))) return placeholder
    let covered = text
    for (const value of this.values) covered = covered.replaceAll(value, placeholder)
    if (cut.start === true) covered = this.coverStart(covered)
    return cut.end === true ? this.coverEnd(covered) : covered
  }

  private coverStart(text: string): string {
    const length = this.longestPart(text, (value, length) => text.startsWith(value.slice(-length)))
    return length === 0 ? text : placeholder + text.slice(length)
  }

  private coverEnd(text: string): string {
    const length = this.longestPart(text, (value, length) => text.endsWith(value.slice(0, length)))
    return length === 0 ? text : text.slice(0, -length) + placeholder
  }

  private longestPart(text: string, matches: (value: string, length: number) => boolean): number {
    let longest = 0
    for (const value of this.values) {
      for (let length = Math.min(value.length - 1, text.length); length >= shortest && length > longest; length--) {
        if (matches(value, length)) longest = length
      }
    }
    return longest
  }
}

/** @internal */
export const secretsOf = (config: McpConfig.StdioConfig): Secrets =>
  new Secrets([...Object.values(config.env ?? {}), ...(config.secrets ?? [])].map(Redacted.value))

/** What may be shown of a field of the configuration. The values of `env` may be words of it by chance. @internal */
export const showField = (config: McpConfig.StdioConfig, text: string): string =>
  new Secrets((config.secrets ?? []).map(Redacted.value)).show(text, 1024, {})
