/**
 * Arguments of a program without the secrets that people write into them.
 *
 * Owns: where those are, as far as that can be told: `--token X`, `PASSWORD=X`, `Authorization: X`, and the user and the query
 * of a URL. What is left tells one program from another.
 */
import * as References from "../config/references.js"
import * as SecretNames from "../config/secretNames.js"

/** With `expands`, of a reference its name stays wherever it stands. */
export const argumentsWithoutSecrets = (args: ReadonlyArray<string>, expands: boolean): ReadonlyArray<string> =>
  args.map((arg, i) => {
    const shown = withoutSecrets(arg, args[i - 1] ?? "")
    // No argument has a NUL.
    return shown === arg ? arg : `${shown}\0${expands ? References.namesIn(arg).join() : ""}`
  })

const withoutSecrets = (arg: string, before: string): string => {
  const isValue = SecretNames.isOption(before) && SecretNames.isSecret(before)
  if (isValue && !arg.startsWith("-") && !SecretNames.isPath(arg)) return ""
  const name = /^[\w-]+(?=\s*[=:])/.exec(arg)?.[0]
  if (name !== undefined && (SecretNames.isSecret(name) || SecretNames.isOfHeader(name))) return name
  return arg.includes("://") ? withoutCredentials(arg) : arg
}

/** Of each URL in the text. */
const withoutCredentials = (text: string): string =>
  text.replace(/(?<=:\/\/)[^/?#\s]*@/g, "").replace(/(?<=[?&][^=&#\s?]*)=[^&#\s]*/g, "=")
