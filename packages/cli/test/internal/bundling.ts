/**
 * Makes the command in one file, for all tests of it: it starts in a seventh of the time that its sources take, and is the
 * same program.
 */
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"

/** Called by vitest before the first file, and what it gives after the last one. */
export default ({ provide }: TestProject): () => void => {
  const directory = Fs.mkdtempSync(Path.join(tmpdir(), "mcp-cli-built-"))
  const require = createRequire(import.meta.url)
  const esbuild = createRequire(require.resolve("tsx"))("esbuild") as {
    readonly buildSync: (options: object) => unknown
  }
  const outfile = Path.join(directory, "dist", "main.mjs")
  esbuild.buildSync({
    entryPoints: [fileURLToPath(new URL("../../src/main.ts", import.meta.url))],
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["@mcp-runtime/source"],
    banner: { js: `import { createRequire as banner } from "node:module"; const require = banner(import.meta.url);` },
    logLevel: "error",
    outfile
  })
  Fs.copyFileSync(new URL("../../package.json", import.meta.url), Path.join(directory, "package.json"))
  provide("bundle", outfile)
  return () => Fs.rmSync(directory, { recursive: true, force: true })
}
