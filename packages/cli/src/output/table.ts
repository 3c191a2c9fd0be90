/**
 * Tables that fit.
 *
 * Owns: how wide columns are, and what becomes of cells that are wider: names are wrapped and never lose a letter, other
 * cells are wrapped and cut.
 * May not touch: what is in the cells, which must be clean.
 */
import type { Style } from "./style.js"
import * as Text from "./text.js"

export interface Column {
  readonly title: string
  /** The most lines of a cell, the last of which is cut. Without it nothing is cut. */
  readonly lines?: number | undefined
  readonly style?: ((text: string) => string) | undefined
}

const gap = 2
const narrowest = 14

/** One text, lines ended. The first rows are as good as any: all of them say how wide columns are. */
export const render = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  room: number,
  style: Style
): string => {
  const natural = columns.map(({ title }, at) =>
    rows.reduce((most, row) => Math.max(most, Text.width((row[at] ?? "").slice(0, 2 * room))), Text.width(title))
  )
  const widths = fit(columns, natural, room - gap * (columns.length - 1))
  const line = (cells: ReadonlyArray<string>, styles: ReadonlyArray<((text: string) => string) | undefined>): string =>
    cells.map((cell, at) => {
      const shown = styles[at]?.(cell) ?? cell
      return at === cells.length - 1 ? shown : shown + " ".repeat(Math.max(0, widths[at]! - Text.width(cell)) + gap)
    }).join("").trimEnd()
  const body = rows.flatMap((row) => {
    const cells = columns.map(({ lines }, at) => Text.wrap(row[at] ?? "", widths[at]!, lines))
    const height = Math.max(...cells.map((cell) => cell.length))
    return Array.from(
      { length: height },
      (_, at) => line(cells.map((cell) => cell[at] ?? ""), columns.map((column) => column.style))
    )
  })
  const head = line(columns.map(({ title }, at) => Text.cut(title, widths[at]!)), columns.map(() => style.bold))
  return [head, ...body].map((text) => `${text}\n`).join("")
}

/** What is too wide is taken from the widest of the columns that may be cut, and from names only if that is not enough. */
const fit = (columns: ReadonlyArray<Column>, natural: ReadonlyArray<number>, room: number): ReadonlyArray<number> => {
  const widths = [...natural]
  const names = columns.map(({ lines }) => lines === undefined)
  shrink(widths, names.map((name) => !name), room)
  shrink(widths, names, room)
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
