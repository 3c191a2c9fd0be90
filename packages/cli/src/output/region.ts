/**
 * The last lines of a terminal, written over and over while something is under way.
 *
 * Owns: those lines of stderr, for as long as its scope lives. Where stderr is no terminal it writes nothing.
 * May not touch: what the lines say.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { Screen } from "./Screen.js"
import type { Style } from "./style.js"
import { cut } from "./text.js"

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const

export interface Moment {
  readonly now: number
  readonly spinner: string
  readonly style: Style
  readonly columns: number
}

/** A line: what is shown plain, cut to the width, and then coloured. */
export interface Line {
  readonly text: string
  readonly style?: ((text: string) => string) | undefined
}

const every = "80 millis"

/**
 * Shows `lines` now and every 80 ms until the scope closes; then as they are at the end, if they are to be kept.
 */
export const show = (
  lines: (moment: Moment) => ReadonlyArray<Line>,
  options: { readonly keep: boolean }
): Effect.Effect<void, never, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const { err, live } = yield* Screen
    if (!live) return
    let shown = 0
    let frame = 0
    const erase = () => shown === 0 ? "" : `\u001b[${shown}A\r\u001b[J`
    const draw = (most: number) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const columns = err.columns() - 1
        const all = lines({ now, spinner: frames[frame++ % frames.length]!, style: err.style, columns })
        const fitting = all.length <= most
          ? all
          : [...all.slice(0, most - 1), { text: `... and ${all.length - most + 1} more`, style: err.style.dim }]
        const text = fitting.map(({ style, text }) => {
          const fits = cut(text, columns)
          return `${style === undefined ? fits : style(fits)}\n`
        }).join("")
        const before = erase()
        shown = fitting.length
        return err.write(before + text)
      })
    yield* Effect.addFinalizer(() =>
      options.keep ? draw(Number.POSITIVE_INFINITY) : Effect.suspend(() => err.write(erase()))
    )
    yield* Effect.suspend(() => draw(err.rows() - 2)).pipe(
      Effect.repeat(Schedule.spaced(every)),
      Effect.interruptible,
      Effect.forkScoped
    )
  })
