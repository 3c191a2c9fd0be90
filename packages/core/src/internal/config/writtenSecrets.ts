/**
 * Arguments of a program without the secrets that people write into them.
 *
 * Owns: where those are, as far as that can be told: `--token X`, `PASSWORD=X`, `--header Authorization: X`, and the user and the
 * query of a URL. What is left tells one program from another, so nothing is left out that may be one: more than one word, which a
 * shell or an interpreter could run, or what stands for a file.
 */
import * as References from "./references.js"
import * as SecretNames from "./secretNames.js"

/** With `expands`, of a reference its name stays wherever it stands. */
export const argumentsWithoutSecrets = (args: ReadonlyArray<string>, expands: boolean): ReadonlyArray<string> =>
  args.map((arg, i) => {
    const shown = withoutSecrets(arg, args[i - 1] ?? "")
    // No argument has a NUL.
    return shown === arg ? arg : `${shown}\0${expands ? References.namesIn(arg).join() : ""}`
  })

/** As a person may see them. */
export const argumentsAsShown = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.map((arg, i) => {
    const front = frontOf(arg, args[i - 1] ?? "")
    return front === undefined ? withoutCredentials(arg) : `${front}<redacted>`
  })

const withoutSecrets = (arg: string, before: string): string => frontOf(arg, before) ?? withoutCredentials(arg)

/** What is in front of a secret that is all of the rest. */
const frontOf = (arg: string, before: string): string | undefined =>
  isSecretOf(before, arg) ? "" : assignedIn(arg) ?? headerIn(arg, before)

/** `--token X`. */
const isSecretOf = (option: string, value: string): boolean =>
  SecretNames.isOption(option) && SecretNames.isSecret(option) && !isSwitch.test(option) &&
  !value.startsWith("-") && isWord.test(value) && !isFile(value)

/** What comes after such an option is not its value. */
const isSwitch = /^--?(?:no|without|disable|skip|allow|enable|require|use)-/

const isWord = /^[^\s;&|<>()`]*$/

const isFile = (value: string): boolean => SecretNames.isPath(value) || /\.[a-z]{1,4}$/i.test(value)

/** `PASSWORD=X`, `--db-password=X`, `--env=PASSWORD=X`: what is in front of the secret. */
const assignedIn = (arg: string): string | undefined => {
  const [front, name] = /^(?:--?[\w-]+=)*([\w.-]+)=/.exec(arg) ?? []
  return front !== undefined && SecretNames.isSecret(name!.replaceAll(".", "-")) && isWord.test(arg.slice(front.length))
    ? front
    : undefined
}

/** `--header "Authorization: X"`, in one argument or in two. */
const headerIn = (arg: string, before: string): string | undefined => {
  const [front, option, name] = /^(--?[\w-]+=)?([\w-]+)\s*:/.exec(arg) ?? []
  return front !== undefined && isHeaderOption.test(option ?? before) && SecretNames.isOfHeader(name!)
    ? front
    : undefined
}

const isHeaderOption = /^(?:-H|--headers?)=?$/

/** Of each URL in the text. */
const withoutCredentials = (arg: string): string =>
  arg.includes("://")
    ? arg.replace(/(?<=:\/\/)[^/?#\s]*@/g, "").replace(/(?<=[?&][^=&#\s?]*)=[^&#\s]*/g, "=")
    : arg
