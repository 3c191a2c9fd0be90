/**
 * What a run of the fuzz has done, as text.
 */
import type { Grown } from "../../../core/test/fuzz/kit/growth.js"
import type { Report } from "../../../core/test/fuzz/kit/part.js"

const count = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ",")

const rateOf = ({ inputs, seconds }: Report): string => count(Math.round(inputs / Math.max(seconds, 0.001)))

export const reportLine = (report: Report): string =>
  `${report.failure === undefined ? "ok    " : "FAILED"} ${report.name}: ${count(report.inputs)} inputs in ${
    report.seconds.toFixed(1)
  } s, ${rateOf(report)} a second, the worst ${report.worstMillis.toFixed(0)} ms`

export const growthLine = ({ isFine, name, ratio, size }: Grown): string =>
  `${isFine ? "ok    " : "FAILED"}   ${name}: from ${count(size)} to ${count(8 * size)}, ${
    ratio.toFixed(1)
  } times the time`

export const table = (reports: ReadonlyArray<Report>, growths: ReadonlyArray<Grown>): string => {
  const all = reports.reduce((sum, _) => sum + _.inputs, 0)
  const seconds = reports.reduce((sum, _) => sum + _.seconds, 0)
  const worst = growths.reduce((most, _) => Math.max(most, _.ratio), 0)
  return [
    "| part | inputs | a second | worst of one | |",
    "|---|---:|---:|---:|---|",
    ...reports.map((_) =>
      `| ${_.name} | ${count(_.inputs)} | ${rateOf(_)} | ${_.worstMillis.toFixed(0)} ms | ${
        _.failure === undefined ? "" : "**fails**"
      } |`
    ),
    `| all | ${count(all)} | ${count(Math.round(all / Math.max(seconds, 0.001)))} | | |`,
    "",
    `Growth: ${growths.length} measured; eight times the input costs ${worst.toFixed(1)} times the time at most.`
  ].join("\n")
}
