/**
 * Tables that fit.
 *
 * Owns: how wide columns are, and what becomes of cells that are wider: names are wrapped and never lose a letter, other
 * cells are wrapped and cut.
 * May not touch: what is in the cells, which must be clean.
 */
import type { Outlet } from "./Screen.js"
import * as Text from "./text.js"

export interface Column {
  readonly title: string
  /** The most lines of a cell, the last of which is cut. Without it nothing is cut. */
  readonly lines?: number | undefined
  readonly style?: ((text: string) => string) | undefined
}

const gap = 2
const narrowest = 14

/** A text, or one with words after it that are there however much of it is cut. */
export type Cell = string | { readonly text: string; readonly end: string }

/** Where a table is shown. */
export type Paper = Pick<Outlet, "columns" | "style" | "terminal">

/**
 * One text, lines ended. The first rows are as good as any: all of them say how wide columns are. Where there is no terminal, what is
 * in the first column is never broken: it is a name, or a URI, that somebody takes from there.
 */
export const render = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<Cell>>,
  { columns: width, style, terminal }: Paper
): string => {
  const room = width()
  const natural = columns.map(({ title }, at) =>
    rows.reduce((most, row) => Math.max(most, Text.width(whole(row[at]).slice(0, 2 * room))), Text.width(title))
  )
  const widths = fit(columns, natural, room - gap * (columns.length - 1), !terminal)
  const line = (cells: ReadonlyArray<string>, styles: ReadonlyArray<((text: string) => string) | undefined>): string =>
    cells.map((cell, at) => {
      const shown = styles[at]?.(cell) ?? cell
      return at === cells.length - 1 ? shown : shown + " ".repeat(Math.max(0, widths[at]! - Text.width(cell)) + gap)
    }).join("").trimEnd()
  const body = rows.flatMap((row) => {
    const cells = columns.map(({ lines }, at) =>
      at === 0 && !terminal ? [whole(row[at])] : wrapped(row[at], widths[at]!, lines)
    )
    const height = Math.max(...cells.map((cell) => cell.length))
    return Array.from(
      { length: height },
      (_, at) => line(cells.map((cell) => cell[at] ?? ""), columns.map((column) => column.style))
    )
  })
  const head = line(columns.map(({ title }, at) => Text.cut(title, widths[at]!)), columns.map(() => style.bold))
  return [head, ...body].map((text) => `${text}\n`).join("")
}

const whole = (cell: Cell = ""): string => typeof cell === "string" ? cell : `${cell.text} ${cell.end}`.trim()

const wrapped = (cell: Cell | undefined, width: number, most: number | undefined): ReadonlyArray<string> => {
  if (cell === undefined || typeof cell === "string" || most === undefined) return Text.wrap(whole(cell), width, most)
  const all = Text.wrap(whole(cell), width, most + 1)
  if (all.length <= most) return all
  const end = Text.wrap(cell.end, width)
  return [...Text.wrap(cell.text, width, Math.max(1, most - end.length)), ...end]
}

/**
 * What is too wide is taken from the widest of the columns that may be cut, then from other names, and from those of the first
 * column only if that is not enough.
 */
const fit = (
  columns: ReadonlyArray<Column>,
  natural: ReadonlyArray<number>,
  room: number,
  keepsFirst: boolean
): ReadonlyArray<number> => {
  const widths = [...natural]
  const names = columns.map(({ lines }) => lines === undefined)
  shrink(widths, names.map((name) => !name), room)
  shrink(widths, names.map((name, at) => name && at > 0), room)
  if (!keepsFirst) shrink(widths, names, room)
  return widths
}

const shrink = (widths: Array<number>, may: ReadonlyArray<boolean>, room: number): void => {
  let excess = widths.reduce((sum, width) => sum + width, 0) - room
  while (excess > 0) {
    const widest = widths.reduce((most, width, at) => (may[at] === true ? Math.max(most, width) : most), 0)
    if (widest <= narrowest) return
    const at = widths.reduce((found, width, at) => (may[at] === true && width === widest ? at : found), 0)
    widths[at] = widest - 1
    excess--
  }
}
