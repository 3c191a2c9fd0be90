/**
 * What is said of a tool.
 *
 * Owns: which of its server's words are taken. Empty ones are none.
 */
import type { Tool } from "../../McpProtocol.js"

/** What it is called for people: its title, else that of its annotations. */
export const titleOf = (tool: Tool): string | undefined => said(tool.title) ?? said(tool.annotations?.title)

/** What a model is told that it does: its description, else its title, else nothing. */
export const describe = (tool: Tool): string => said(tool.description) ?? titleOf(tool) ?? ""

const said = (text: unknown): string | undefined => typeof text === "string" && text !== "" ? text : undefined
