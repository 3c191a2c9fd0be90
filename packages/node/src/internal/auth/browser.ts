/**
 * The browser of this machine.
 *
 * Owns: which program opens a page, and that the page is one argument of it, never a text for a shell.
 * May not touch: that program: it may become the browser itself, and outlive us.
 */
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { systemProgram } from "../windows.js"

export const commandOf = (
  platform: NodeJS.Platform,
  url: string,
  environment?: { readonly [name: string]: string | undefined }
): readonly [string, ...ReadonlyArray<string>] => {
  switch (platform) {
    case "darwin":
      return ["open", url]
    case "win32":
      // `start` belongs to cmd, which would take "&" in the page for the end of a command.
      return [systemProgram("rundll32.exe", environment), "url.dll,FileProtocolHandler", url]
    default:
      return ["xdg-open", url]
  }
}

/** A missing program is no error: the user has the page in writing. */
export const open = (platform: NodeJS.Platform, url: string): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const [command, ...args] = commandOf(platform, new URL(url).href)
    try {
      const child = spawn(command, args, { detached: true, stdio: "ignore" })
      child.once("spawn", () => resume(Effect.void))
      child.once("error", () => resume(Effect.void))
      child.unref()
    } catch {
      resume(Effect.void)
    }
  })
