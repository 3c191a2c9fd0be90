/**
 * The command in one file: it starts in a seventh of the time that its sources take, and is the same program.
 */
import { afterAll } from "@effect/vitest"
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"

/** Made when the first test wants it, and removed after the tests of a file. */
export const bundle = (): string => {
  if (file !== undefined) return file
  const directory = Fs.mkdtempSync(Path.join(tmpdir(), "mcp-cli-built-"))
  builtIn = directory
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
  return (file = outfile)
}

let file: string | undefined
let builtIn: string | undefined

afterAll(() => {
  if (builtIn !== undefined) Fs.rmSync(builtIn, { recursive: true, force: true })
})
