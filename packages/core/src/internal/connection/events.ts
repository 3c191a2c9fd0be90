/**
 * What others say to the owner of a connection, one after the other. The table of `owner.ts` says what follows.
 *
 * Owns: nothing.
 */
import type { McpError } from "../../McpError.js"
import type { Command, Done } from "./commands.js"
import type { Live } from "./live.js"
import type { Tried } from "./sessions.js"

export type OwnerEvent =
  | { readonly _tag: "Demand"; readonly era: number }
  | { readonly _tag: "Tried"; readonly attempt: number; readonly exit: Tried }
  | { readonly _tag: "Lost"; readonly live: Live; readonly error: McpError; readonly drain: boolean }
  | { readonly _tag: "Shaken"; readonly live: Live }
  | { readonly _tag: "Suspected"; readonly live: Live }
  | { readonly _tag: "Due"; readonly number: number }
  | { readonly _tag: "Idle"; readonly live: Live }
  | { readonly _tag: "Authorized" }
  | { readonly _tag: "Command"; readonly command: Command; readonly done: Done }
