/**
 * What is wrong with a value, in words for people and models.
 *
 * Owns: how places and problems are written, and the bounds of their number and length.
 * May not touch: the value; no problem shows what a server or a model has sent, but for the names on the way to it.
 */

export interface Problem {
  readonly path: string
  readonly problem: string
}

export type PathKey = string | number

const maxProblems = 16
const maxText = 300
const maxPath = 200
const maxKey = 64

export class Problems {
  readonly list: Array<Problem> = []
  /** How far into the value the deepest of them lies. */
  private deepest = -1

  get isFull(): boolean {
    return this.list.length >= maxProblems
  }

  add(path: ReadonlyArray<PathKey>, problem: string): void {
    this.deepest = Math.max(this.deepest, path.length)
    if (!this.isFull) this.list.push({ path: pathText(path), problem: cut(problem, maxText) })
  }

  /**
   * What is wrong with each of several ways of which one should have been right. One that got further into the value than
   * the others was likely meant, so that its problems are the ones to tell.
   */
  addClosest(path: ReadonlyArray<PathKey>, ways: ReadonlyArray<Problems>): void {
    const deepest = ways.reduce((deepest, way) => Math.max(deepest, way.deepest), path.length)
    const closest = ways.filter((way) => way.deepest === deepest)
    const only = closest.length === 1 && (deepest > path.length || ways.length === 1) ? closest[0]! : undefined
    if (only !== undefined) {
      for (const problem of only.list) if (!this.isFull) this.list.push(problem)
      this.deepest = Math.max(this.deepest, deepest)
      return
    }
    const here = pathText(path)
    const texts = new Set(ways.flatMap((way) => way.list.filter((_) => _.path === here).map((_) => _.problem)))
    this.add(path, texts.size === 0 ? "fits none of the ways allowed" : [...texts].join(", or "))
  }
}

/** Such as `a.b[3]`, and `a["b c"]` where a name is no word. The value itself is the empty text. */
export const pathText = (path: ReadonlyArray<PathKey>): string => {
  let text = ""
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`
    else if (/^[A-Za-z_$][\w$-]{0,63}$/.test(key)) text += text === "" ? key : `.${key}`
    else text += `[${quoted(key)}]`
    if (text.length > maxPath) return cut(text, maxPath)
  }
  return text
}

/** A text from a schema or a name from a value, to be shown. */
export const quoted = (text: string): string => JSON.stringify(cut(text, maxKey))

export const cut = (text: string, length: number): string => text.length > length ? `${text.slice(0, length)}...` : text

/** `1 character`, `2 characters`. */
export const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`
