/**
 * Arguments as they are kept: JSON, and nothing else.
 *
 * Owns: what JSON is, one text for each value whatever the order of its fields, and the fingerprint of a call.
 * May not touch: what the arguments mean.
 */
import type { JsonObject, Tool } from "../../McpProtocol.js"
import { freeze, isObject, maxDepth } from "../protocol/json.js"
import { sha256 } from "./sha256.js"

/** A copy as it will be read again, frozen. Nothing where it can't be written, is no object, or is nested too deeply. */
export const snapshot = (value: unknown): JsonObject | undefined => {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value))
    return isObject(copy) && freeze(copy) ? copy : undefined
  } catch {
    return undefined
  }
}

/** Whether a value is a JSON object that is the same after it was written and read. */
export const isJsonObject = (u: unknown): u is JsonObject => isObject(u) && isJson(u, maxDepth)

const isJson = (u: unknown, depth: number): boolean => {
  switch (typeof u) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(u)
    case "object":
      if (u === null) return true
      if (depth === 0) return false
      if (Array.isArray(u)) return Array.from(u).every((_) => isJson(_, depth - 1))
      return isPlain(u) && Object.values(u).every((_) => isJson(_, depth - 1))
    default:
      return false
  }
}

/** It writes itself as its fields. */
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === null || Object.getPrototypeOf(prototype) === null) &&
    !("toJSON" in value && typeof value.toJSON === "function")
}

/** The text of JSON, with the fields of each object in one order. */
export const canonical = (json: unknown): string => {
  if (Array.isArray(json)) return `[${json.map(canonical).join()}]`
  if (!isObject(json)) return JSON.stringify(json)
  const keys = Object.keys(json).filter((key) => json[key] !== undefined).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(json[key])}`).join()}}`
}

/** How a fingerprint is made. What was made otherwise can't be checked. */
const version = "1:"

/** The same for the same call, and different for any other. */
export const fingerprint = (call: {
  readonly toolset: string
  readonly server: string
  readonly tool: string
  readonly name: string
  readonly arguments: JsonObject
  readonly toolFingerprint?: string | undefined
  readonly serverFingerprint?: string | undefined
  readonly serverSeal?: string | undefined
}): string => {
  const { name, server, serverFingerprint, serverSeal, tool, toolFingerprint, toolset } = call
  const parts = [toolset, server, tool, name, call.arguments, toolFingerprint ?? null]
  // Those that were stored before there was a fingerprint of the server can still be read, and rejected.
  if (serverFingerprint !== undefined || serverSeal !== undefined) {
    parts.push(serverFingerprint ?? null, serverSeal ?? null)
  }
  return version + sha256(canonical(parts))
}

const ofTools = new WeakMap<Tool, string>()

/** The same for a tool that says the same of itself, in whatever order: what a person and a policy decide by. */
export const toolFingerprint = (definition: Tool): string => {
  const known = ofTools.get(definition)
  if (known !== undefined) return known
  const { annotations, description, inputSchema, name, outputSchema, title } = definition
  const made = sha256(canonical({ annotations, description, inputSchema, name, outputSchema, title }))
  ofTools.set(definition, made)
  return made
}

/** Whether it is one of those that are made here. */
export const isOfThisVersion = (fingerprint: string): boolean => fingerprint.startsWith(version)
