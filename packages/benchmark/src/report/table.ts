/**
 * Tables in Markdown, with columns of equal width, so that they can also be read as text.
 */

export type Cells = ReadonlyArray<string>

const least = 3

export const table = (header: Cells, rows: ReadonlyArray<Cells>): string => {
  const widths = header.map((title, at) => Math.max(least, title.length, ...rows.map((row) => row[at]!.length)))
  const pad = (cell: string, at: number): string => at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)
  const show = (cells: Cells): string => `| ${cells.map(pad).join(" | ")} |`
  const rule = widths.map((width, at) => at === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`).join("|")
  return [show(header), `|${rule}|`, ...rows.map(show)].join("\n")
}
