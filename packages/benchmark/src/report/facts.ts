/**
 * Under which circumstances was measured: machine, versions, load, date.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { cpus, loadavg, release, totalmem, type } from "node:os"
import type { Options } from "../options.js"
import { versionOf } from "../peers/fitness.js"
import { labels, packages, peers } from "../who.js"
import { table } from "./table.js"

export interface Facts {
  readonly date: string
  readonly machine: string
  readonly node: string
  readonly loadBefore: number
  readonly loadAfter: number
  readonly seconds: number
  /** Name of each package and its version. */
  readonly versions: ReadonlyArray<readonly [string, string]>
  /** Why these numbers should not be believed. */
  readonly doubts: ReadonlyArray<string>
}

/** Of a package that we depend on. Some do not export their manifest, so it is looked for above what they do export. */
const ownVersion = (name: string, entry: string): string => {
  let at = new URL(".", `file://${createRequire(import.meta.url).resolve(entry)}`)
  for (let i = 0; i < 8; i++, at = new URL("..", at)) {
    try {
      const manifest = JSON.parse(readFileSync(new URL("package.json", at), "utf8")) as {
        name?: string
        version?: string
      }
      if (manifest.name === name && manifest.version !== undefined) return manifest.version
    } catch {
      continue
    }
  }
  return "?"
}

const versions = (options: Options): Facts["versions"] => [
  ["@mcp-runtime/core", ownVersion("@mcp-runtime/core", "@mcp-runtime/core/package.json")],
  ["effect", ownVersion("effect", "effect/package.json")],
  ["undici", ownVersion("undici", "undici")],
  [
    `@modelcontextprotocol/sdk (${labels.sdk})`,
    ownVersion("@modelcontextprotocol/sdk", "@modelcontextprotocol/sdk/types.js")
  ],
  ...peers.filter((_) => options.who.includes(_)).map((peer): [string, string] => [
    `${packages[peer]} (${labels[peer]})`,
    versionOf(peer) ?? "not installed"
  ])
]

const busyLoad = 0.7

export const doubtsOf = (options: Pick<Options, "conclusive" | "only">, loadBefore: number): ReadonlyArray<string> => [
  ...(options.conclusive
    ? []
    : ["--quick only shows that everything runs: turns this short measure code that is not compiled yet."]),
  ...(options.only === undefined ? [] : [`Only rows like "${options.only}".`]),
  ...(loadBefore <= busyLoad ? [] : [`Other work was running (load ${loadBefore.toFixed(1)} at the start).`])
]

export interface Begun {
  readonly date: Date
  readonly load: number
  readonly at: number
}

export const begin = (): Begun => ({ date: new Date(), load: loadavg()[0]!, at: performance.now() })

export const gather = (begun: Begun, options: Options): Facts => ({
  date: begun.date.toISOString().slice(0, 16).replace("T", " "),
  machine: `${cpus().length} x ${cpus()[0]?.model.trim() ?? "?"}, ${Math.round(totalmem() / 2 ** 30)} GB, ` +
    `${type()} ${release()} ${process.arch}`,
  node: process.version,
  loadBefore: begun.load,
  loadAfter: loadavg()[0]!,
  seconds: Math.round((performance.now() - begun.at) / 1000),
  versions: versions(options),
  doubts: doubtsOf(options, begun.load)
})

export const showFacts = (facts: Facts): string => {
  const rows: ReadonlyArray<readonly [string, string]> = [
    ["date", `${facts.date} UTC`],
    ["machine", facts.machine],
    ["Node, for everybody and all servers", facts.node],
    ["load at the start, at the end", `${facts.loadBefore.toFixed(2)}, ${facts.loadAfter.toFixed(2)}`],
    ["took", `${facts.seconds} s`],
    ...facts.versions
  ]
  return [table(["run", ""], rows), ...facts.doubts.map((_) => `**${_}**`)].join("\n\n")
}
