/**
 * What is shown of the results.
 *
 * Owns: rows, the summary, and the table of the report.
 * May not touch: the results.
 */
import type { Result } from "./execute.js"
import { expected, type Group } from "./plan.js"

const checks = ({ counts }: Result): string =>
  [
    `${counts.SUCCESS} passed`,
    ...(counts.FAILURE > 0 ? [`${counts.FAILURE} failed`] : []),
    ...(counts.WARNING > 0 ? [`${counts.WARNING} warnings`] : []),
    ...(counts.SKIPPED > 0 ? [`${counts.SKIPPED} skipped`] : [])
  ].join(", ")

export const passed = ({ problems }: Result): boolean => problems.length === 0

/** One line, and one more for each problem. */
export const row = (result: Result): string => {
  const { millis, planned: { group, revision, scenario }, problems } = result
  return [
    `${passed(result) ? "ok    " : "FAILED"} ${scenario.padEnd(42)} ${revision} ${group.padEnd(9)} ${
      `${(millis / 1000).toFixed(1)} s`.padStart(7)
    }  ${checks(result)}`,
    ...problems.map((problem) => `       ${problem.replaceAll("\n", "\n       ")}`)
  ].join("\n")
}

const titles: { readonly [K in Group]: string } = {
  dated: "dated runs",
  extension: "extensions",
  ahead: "of a newer revision, not scored"
}

const groups = Object.keys(titles) as ReadonlyArray<Group>

const among = (results: ReadonlyArray<Result>, group: Group): ReadonlyArray<Result> =>
  results.filter(({ planned }) => planned.group === group)

/** `dated runs: 26 of 26` and so on. */
export const summary = (results: ReadonlyArray<Result>): string =>
  groups.flatMap((group) => {
    const all = among(results, group)
    return all.length === 0 ? [] : [`${titles[group]}: ${all.filter(passed).length} of ${all.length}`]
  }).join("; ")

const begin = "<!-- table: npm run conformance -- --report docs/conformance.md -->"
const end = "<!-- end of the table -->"

/** The table of a page, made anew; nothing where the page has no place for it. Without times, which are never the same. */
export const inPage = (page: string, results: ReadonlyArray<Result>, about: string): string | undefined => {
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  if (from < 0 || to < from) return undefined
  const rows = results.map((result) => {
    const { planned: { group, revision, scenario } } = result
    const of = group === "ahead" ? `${revision}, forced` : group === "extension" ? `${revision}, extension` : revision
    return `| \`${scenario}\` | ${of} | ${checks(result)} | ${passed(result) ? "passed" : "**failed**"} |`
  })
  const scores = groups.map((group) =>
    `| ${titles[group]} | ${among(results, group).filter(passed).length} of ${expected[group]} |`
  )
  const table = [
    begin,
    "",
    about,
    "",
    "| | passed |",
    "|---|---|",
    ...scores,
    "",
    "| scenario | revision | checks | |",
    "|---|---|---|---|",
    ...rows,
    "",
    ""
  ].join("\n")
  return page.slice(0, from) + table + page.slice(to)
}
