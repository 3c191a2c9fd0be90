/**
 * Colours, where there are any.
 *
 * Owns: the escape sequences that this command writes itself. Nothing from outside goes in here before it is clean.
 */

export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const code = (open: number, close: number) => (text: string): string =>
  text === "" ? "" : `\u001b[${open}m${text}\u001b[${close}m`

const same = (text: string): string => text

export const colored: Style = {
  bold: code(1, 22),
  dim: code(2, 22),
  red: code(31, 39),
  green: code(32, 39),
  yellow: code(33, 39),
  cyan: code(36, 39)
}

export const plain: Style = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same }

/** https://no-color.org: set and not empty means no colours. */
export const wanted = (
  terminal: boolean,
  environment: { readonly [name: string]: string | undefined }
): boolean => terminal && (environment.NO_COLOR ?? "") === "" && environment.TERM !== "dumb"

// eslint-disable-next-line no-control-regex
const sequences = /\u001b\[[0-9;]*m/g

/** Without the colours of `colored` and of the help of `@effect/cli`. */
export const strip = (text: string): string => text.replace(sequences, "")
