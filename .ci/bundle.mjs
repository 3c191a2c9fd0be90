/**
 * Writes the JavaScript of the packages that applications import: each public module is a file, and what several of them need
 * is in chunks. tsc writes their declarations only.
 *
 * One file for each of our modules would be loaded a third slower, with 45 MB more: Node resolves every single import of
 * `effect/Effect` and the like by itself, and there were a thousand of these. Which sources a chunk has stands in
 * `.tsbuildinfo/chunks.json`.
 *
 * `node .ci/bundle.mjs [repository]`
 */
import { build } from "esbuild"
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"

const root = resolve(process.argv[2] ?? join(import.meta.dirname, ".."))

const clear = (dist) => {
  for (const file of readdirSync(dist, { recursive: true })) {
    if (/\.js(\.map)?$/.test(file)) rmSync(join(dist, file))
  }
}

const bundle = async (name) => {
  const folder = join(root, "packages", name)
  const dist = join(folder, "dist")
  mkdirSync(dist, { recursive: true })
  clear(dist)
  const modules = readdirSync(join(folder, "src")).filter((_) => _.endsWith(".ts"))
  const options = {
    absWorkingDir: folder,
    outdir: "dist",
    format: "esm",
    platform: "node",
    target: "node20",
    tsconfig: join(folder, "tsconfig.src.json"),
    sourcemap: true,
    sourcesContent: false,
    logLevel: "warning"
  }
  const { metafile: { outputs } } = await build({
    ...options,
    entryPoints: modules.filter((_) => _ !== "index.ts").map((_) => `src/${_}`),
    bundle: true,
    splitting: true,
    packages: "external",
    chunkNames: "chunks/[hash]",
    metafile: true
  })
  // Not bundled: whoever bundles an application takes from it what is needed.
  await build({ ...options, entryPoints: ["src/index.ts"] })
  const chunks = Object.entries(outputs).filter(([path]) => path.endsWith(".js")).map(([path, { inputs }]) => [
    basename(path),
    Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([source]) => source)
  ])
  mkdirSync(join(folder, ".tsbuildinfo"), { recursive: true })
  writeFileSync(join(folder, ".tsbuildinfo/chunks.json"), JSON.stringify(Object.fromEntries(chunks), null, 2))
}

for (const name of ["core", "node"]) await bundle(name)
