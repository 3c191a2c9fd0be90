/**
 * By which names people call secrets.
 *
 * Owns: what such a name looks like: of a variable, an option or a header.
 * May not touch: values.
 */

const header = /^(proxy-)?authorization$|^cookie$|token|secret|password|api[-_]?key|access[-_]?key/i
const other =
  /(^|[-_])(pass(word|wd|phrase)?|pwd|secret|credentials?|auth|pat)($|[-_])|token$|api[-_]?key|(access|private|secret)[-_]?key/i

export const isOfHeader = (name: string): boolean => header.test(name)

/** Of a variable, or of an option of a program. */
export const isSecret = (name: string): boolean => other.test(name.replace(/^-+/, ""))

/** Whether it stands before its value. */
export const isOption = (text: string): boolean => /^--?[\w-]+$/.test(text)

/** What stands for a file is not the secret in it. */
export const isPath = (text: string): boolean => /^(\.{0,2}|~)[\\/]|^[a-z]:[\\/]/i.test(text)
