/**
 * Whether a text matches a pattern, in a time that is bounded by the length of the one times the size of the other.
 *
 * Owns: following an automaton through a text. All states that a text can lead to are followed together, none twice at one
 * place, so that nothing is ever tried again, as the runtime's own regular expressions do.
 * May not touch: the text of patterns; budgets other than by spending them.
 */
import { isWordCode } from "./charSet.js"
import type { EdgeKind } from "./parse.js"
import type { Compiled, Program } from "./program.js"

/** What work is paid from. Below zero there is nothing left. */
export interface Budget {
  steps: number
}

/** Nothing where the budget does not last. */
export const matches = (pattern: Compiled, text: string, budget: Budget): boolean | undefined => {
  const looks: Array<Uint8Array> = []
  for (const program of pattern.looks) {
    const places = new Uint8Array(text.length + 1)
    new Walk(program, text, looks, budget).run(places)
    if (budget.steps < 0) return undefined
    looks.push(places)
  }
  const isFound = new Walk(pattern.main, text, looks, budget).run(undefined)
  return budget.steps < 0 ? undefined : isFound
}

class Walk {
  private readonly seen: Uint32Array
  private readonly pending: Array<number> = []
  private round = 0
  private isMatch = false

  constructor(
    private readonly program: Program,
    private readonly text: string,
    /** For each look-around, the places where it holds. */
    private readonly looks: ReadonlyArray<Uint8Array>,
    private readonly budget: Budget
  ) {
    this.seen = new Uint32Array(program.states.length)
    budget.steps -= program.states.length >> 4
  }

  /** Whether it matches anywhere. With `places`, marks every place at which a match ends instead. */
  run(places: Uint8Array | undefined): boolean {
    const { isAnchored, isBackward, start, states } = this.program
    const { text } = this
    const end = isBackward ? 0 : text.length
    let at = isBackward ? text.length : 0
    let current: Array<number> = []
    let next: Array<number> = []
    this.round = 1
    while (true) {
      if (!isAnchored || at === 0) this.reach(start, at, current)
      if (this.isMatch) {
        if (places === undefined) return true
        places[at] = 1
      }
      this.budget.steps -= current.length + 1
      if (at === end || this.budget.steps < 0 || (isAnchored && current.length === 0)) return false
      const code = isBackward ? codeBefore(text, at) : text.codePointAt(at)!
      at += (code > 0xFFFF ? 2 : 1) * (isBackward ? -1 : 1)
      this.round++
      this.isMatch = false
      for (let i = 0; i < current.length; i++) {
        const state = states[current[i]!]!
        if (state._tag === "Chars" && state.set.has(code)) this.reach(state.next, at, next)
      }
      ;[current, next] = [next, current]
      next.length = 0
    }
  }

  /** Adds to `found` the states that read a character and can be reached from here without reading one. */
  private reach(from: number, at: number, found: Array<number>): void {
    const { pending, seen } = this
    const { states } = this.program
    pending.push(from)
    while (pending.length > 0) {
      const index = pending.pop()!
      if (seen[index] === this.round) continue
      seen[index] = this.round
      const state = states[index]!
      switch (state._tag) {
        case "Chars":
          found.push(index)
          break
        case "Match":
          this.isMatch = true
          break
        case "Split":
          this.budget.steps--
          pending.push(state.other, state.next)
          break
        case "Edge":
          if (isAtEdge(state.kind, this.text, at)) pending.push(state.next)
          break
        case "Look":
          this.budget.steps--
          if ((this.looks[state.index]![at] === 1) !== state.isNegated) pending.push(state.next)
          break
      }
    }
  }
}

const isAtEdge = (kind: EdgeKind, text: string, at: number): boolean => {
  switch (kind) {
    case "start":
      return at === 0
    case "end":
      return at === text.length
    case "word":
      return isWordAt(text, at - 1) !== isWordAt(text, at)
    case "notWord":
      return isWordAt(text, at - 1) === isWordAt(text, at)
  }
}

const isWordAt = (text: string, at: number): boolean => at >= 0 && at < text.length && isWordCode(text.charCodeAt(at))

const codeBefore = (text: string, at: number): number => {
  const low = text.charCodeAt(at - 1)
  if (at < 2 || low < 0xDC00 || low > 0xDFFF) return low
  const high = text.charCodeAt(at - 2)
  return high >= 0xD800 && high <= 0xDBFF ? (high - 0xD800) * 0x400 + low - 0xDC00 + 0x10000 : low
}
