/**
 * Arguments as they are kept: JSON, and nothing else.
 *
 * Owns: what JSON is, one text for each value whatever the order of its fields, and the fingerprint of a call.
 * May not touch: what the arguments mean.
 */
import type { JsonObject } from "../../McpProtocol.js"
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

/** Of JSON, with the fields of each object in one order. */
const canonical = (json: unknown): string => {
  if (Array.isArray(json)) return `[${json.map(canonical).join()}]`
  if (!isObject(json)) return JSON.stringify(json)
  return `{${Object.keys(json).sort().map((key) => `${JSON.stringify(key)}:${canonical(json[key])}`).join()}}`
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
}): string => version + sha256(canonical([call.toolset, call.server, call.tool, call.name, call.arguments]))

/** Whether it is one of those that are made here. */
export const isOfThisVersion = (fingerprint: string): boolean => fingerprint.startsWith(version)
