/**
 * Lets the conformance suite start on Node 20: `node --import <this file> <the suite>`.
 *
 * The suite imports `globSync` from "fs", which Node has since 22, for a command that we do not use. An import that does not
 * exist ends the program, so the suite gets a "fs" that has it, without a value. Nothing on the disk is changed, and where
 * Node has it, nothing happens at all.
 */
import * as fs from "node:fs"
import { register } from "node:module"

const moduleOf = (source) => `data:text/javascript,${encodeURIComponent(source)}`

const completed = moduleOf(
  `export * from "node:fs"; export { default } from "node:fs"; export const globSync = undefined`
)

const hook = `export const resolve = (specifier, context, next) =>
  specifier === "fs" && context.parentURL?.endsWith("/@modelcontextprotocol/conformance/dist/index.js")
    ? { url: ${JSON.stringify(completed)}, shortCircuit: true }
    : next(specifier, context)`

if (!("globSync" in fs)) register(moduleOf(hook))
