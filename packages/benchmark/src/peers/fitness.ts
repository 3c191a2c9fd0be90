/**
 * Whether a peer can be run here at all: whether it is installed, and runs on this Node.
 */
import { readFileSync } from "node:fs"
import { isPeer, packages, type Peer, type Who } from "../who.js"
import { manifestOf } from "./folder.js"

interface Manifest {
  readonly version: string
  readonly engines?: { readonly node?: string }
}

export const readManifest = (name: string): Manifest | undefined => {
  try {
    return JSON.parse(readFileSync(manifestOf(name), "utf8")) as Manifest
  } catch {
    return undefined
  }
}

const partsOf = (version: string): ReadonlyArray<number> => version.replace(/^v/, "").split(".").map(Number)

/** Of `engines` only the one form is understood that all peers use: `>=` a version. */
export const runsOn = (version: string, wanted: string | undefined): boolean => {
  const least = /^>=\s*([\d.]+)$/.exec(wanted ?? "")?.[1]
  if (least === undefined) return true
  const has = partsOf(version)
  for (const [i, part] of partsOf(least).entries()) {
    const own = has[i] ?? 0
    if (own !== part) return own > part
  }
  return true
}

/** Why this peer takes no part, if so. */
export const reasonAgainst = (peer: Peer, nodeVersion: string = process.version): string | undefined => {
  const manifest = readManifest(packages[peer])
  if (manifest === undefined) return "not installed"
  const wanted = manifest.engines?.node
  return runsOn(nodeVersion, wanted) ? undefined : `needs Node ${wanted}, this is ${nodeVersion}`
}

export const versionOf = (who: Who): string | undefined =>
  isPeer(who) ? readManifest(packages[who])?.version : undefined
