/**
 * Where the peers are: a folder with a lock file and modules of its own, outside the workspace.
 */
import type { Peer } from "../who.js"

/** `packages/benchmark/peers`, from `src` as from `dist`. */
export const folder = new URL("../../peers/", import.meta.url)

export const adapterOf = (peer: Peer): URL => new URL(`${peer}.mjs`, folder)

/** What is installed there of a package. */
export const manifestOf = (name: string): URL => new URL(`node_modules/${name}/package.json`, folder)
