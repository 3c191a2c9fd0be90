/**
 * The ratios as a picture: an SVG with a dot for each client in each row, on a logarithmic scale, the raw SDK at 1. Letters
 * in the dots tell who is who, so nothing depends on colours; it has its own background in light and dark.
 */
import type { Line } from "../row.js"
import { labels, type Who } from "../who.js"
import { hasOthers, timesAsGood } from "./compare.js"
import { times } from "./numbers.js"

const letters = [
  ["connection", "C"],
  ["toolset", "T"],
  ["clientV2", "2"],
  ["openai", "O"],
  ["aiSdk", "A"],
  ["langchain", "L"],
  ["mastra", "M"],
  ["mcporter", "P"],
  ["limit", "H"]
] as const satisfies ReadonlyArray<readonly [Who, string]>

type Shown = (typeof letters)[number][0]

const width = 980
const plot = { left: 350, right: 940 }
const top = 92
const radius = 8
const laneHeight = 18
const scale = { least: 0.1, most: 100 }
const ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]

/** Where a ratio stands; what is beyond the scale stands at its end. */
export const positionOf = (ratio: number): number => {
  const within = Math.min(scale.most, Math.max(scale.least, ratio))
  const share = Math.log(within / scale.least) / Math.log(scale.most / scale.least)
  return Math.round((plot.left + share * (plot.right - plot.left)) * 10) / 10
}

export interface Dot {
  readonly who: Shown
  readonly ratio: number
  readonly x: number
  /** Dots that would cover each other stand in lanes of their own. */
  readonly lane: number
}

/** Each in the first lane where it covers nobody. */
export const placed = (ratios: ReadonlyArray<readonly [Shown, number]>): ReadonlyArray<Dot> => {
  const ends: Array<number> = []
  return [...ratios].sort(([, a], [, b]) => a - b).map(([who, ratio]) => {
    const x = positionOf(ratio)
    const free = ends.findIndex((end) => end <= x - radius)
    const lane = free === -1 ? ends.length : free
    ends[lane] = x + radius + 1
    return { who, ratio, x, lane }
  })
}

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\"", "&quot;")

const text = (x: number, y: number, className: string, content: string): string =>
  `<text x="${x}" y="${y}" class="${className}">${escape(content)}</text>`

const classOf = (who: Shown): string =>
  who === "connection" || who === "toolset" ? "ours" : who === "limit" ? "hand" : "other"

const letterOf = (who: Shown): string => letters.find(([_]) => _ === who)![1]

const drawDot = (who: Shown, x: number, y: number, title: string): string =>
  `<g class="${classOf(who)}"><title>${escape(title)}</title><circle cx="${x}" cy="${y}" r="${radius}"/>` +
  `<text x="${x}" y="${y + 3.5}">${letterOf(who)}</text></g>`

const isBeyond = (ratio: number): boolean => ratio > scale.most || ratio < scale.least

const drawRow = (line: Line, dots: ReadonlyArray<Dot>, y: number, height: number): ReadonlyArray<string> => {
  const middle = y + height / 2
  const yOf = ({ lane }: Dot): number => y + laneHeight * (lane + 0.5) + 4
  const beyond = dots.filter((_) => isBeyond(_.ratio))
  return [
    `<line x1="20" x2="${plot.right + 20}" y1="${y + height}" y2="${y + height}" class="rule"/>`,
    text(plot.left - 16, middle + 4, "title", line.title),
    ...dots.map((dot) => drawDot(dot.who, dot.x, yOf(dot), `${labels[dot.who]}: ${times(dot.ratio)}`)),
    ...beyond.map((dot) => text(dot.x - radius - 4, yOf(dot) + 3.5, "beyond", `${times(dot.ratio)} >`))
  ]
}

const drawLegend = (): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let x = 32
  for (const [who] of letters) {
    parts.push(drawDot(who, x, 52, labels[who]), text(x + 13, 56, "legend", labels[who]))
    x += 27 + labels[who].length * 6.6
  }
  return parts
}

const drawScale = (bottom: number): ReadonlyArray<string> =>
  ticks.flatMap((tick) => [
    `<line x1="${positionOf(tick)}" x2="${positionOf(tick)}" y1="${top - 6}" y2="${bottom}" class="${
      tick === 1 ? "one" : "grid"
    }"/>`,
    text(positionOf(tick), top - 12, "tick", tick === 1 ? "SDK v1 = 1" : String(tick))
  ])

const style = `
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.paper { fill: #ffffff } .rule, .grid { stroke: #e3e7eb } .one { stroke: #1f2328; stroke-width: 1.5 }
.title, .beyond { text-anchor: end } .tick { text-anchor: middle; fill: #59636e; font-size: 11px }
.head { font-size: 15px; font-weight: 600 } .legend, .beyond { font-size: 11px }
g text { text-anchor: middle; font-size: 10px; font-weight: 700; fill: #ffffff }
.ours circle { fill: #0550ae } .other circle { fill: #6e7781 }
.hand circle { fill: #ffffff; stroke: #6e7781; stroke-dasharray: 3 2 } .hand text { fill: #1f2328 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .paper { fill: #0d1117 } .rule, .grid { stroke: #262c34 } .one { stroke: #e6edf3 }
.tick { fill: #9198a1 } g text { fill: #0d1117 } .ours circle { fill: #58a6ff } .other circle { fill: #9198a1 }
.hand circle { fill: #0d1117; stroke: #9198a1 } .hand text { fill: #e6edf3 }
}
`

const heightOf = (dots: ReadonlyArray<Dot>): number => laneHeight * (1 + Math.max(0, ...dots.map((_) => _.lane))) + 8

/** One row for each line in which others stand beside ours and the raw SDK. */
export const chart = (lines: ReadonlyArray<Line>, caption: string): string => {
  const body: Array<string> = []
  let y = top
  for (const line of lines.filter(hasOthers)) {
    const ratios = letters.flatMap(([who]): ReadonlyArray<readonly [Shown, number]> => {
      const found = timesAsGood(line, who, "sdk")
      return found === undefined ? [] : [[who, found.median]]
    })
    if (ratios.length === 0) continue
    const dots = placed(ratios)
    const height = heightOf(dots)
    body.push(...drawRow(line, dots, y, height))
    y += height
  }
  const title = "Times as good as the raw SDK (v1); more is better"
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 34}" role="img" aria-label="${
      escape(title)
    }">`,
    `<title>${escape(title)}</title>`,
    `<style>${style}</style>`,
    `<rect width="${width}" height="${y + 34}" class="paper"/>`,
    text(20, 26, "head", title),
    ...drawLegend(),
    ...drawScale(y),
    ...body,
    text(20, y + 22, "legend", caption),
    "</svg>",
    ""
  ].join("\n")
}
