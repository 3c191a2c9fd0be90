/**
 * Programs of Windows itself.
 *
 * Owns: where they are. Windows looks for a bare name in the current directory first, which may be one of strangers.
 */
import { win32 } from "node:path"

type Environment = { readonly [name: string]: string | undefined }

/** The whole path of a program that Windows brings, such as `cmd.exe`. */
export const systemProgram = (name: string, environment: Environment = process.env): string => {
  const root = environment.SystemRoot ?? ""
  // `\\Windows` is of the current drive.
  return win32.join(/^[a-z]:[\\/]/i.test(root) ? root : "C:\\Windows", "System32", name)
}

/** What hands a text to the shell of Windows. */
export const shellCommand = (text: string, environment?: Environment): readonly [string, ...ReadonlyArray<string>] => [
  systemProgram("cmd.exe", environment),
  "/d",
  "/s",
  "/c",
  `"${text}"`
]

/** What ends a process and all that it has started. */
export const endCommand = (pid: number, environment?: Environment): readonly [string, ...ReadonlyArray<string>] => [
  systemProgram("taskkill.exe", environment),
  "/pid",
  String(pid),
  "/T",
  "/F"
]
