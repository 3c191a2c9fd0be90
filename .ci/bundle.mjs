/**
 * Writes the JavaScript of the packages that applications import: each public module is a file, and what several of them need
 * is in chunks. tsc writes their declarations only.
 *
 * One file for each of our modules would be loaded a fifth slower, with 45 MB more: Node resolves every single import of
 * `effect/Effect` and the like by itself, and there were a thousand of these. Which sources a chunk has stands in
 * `.tsbuildinfo/chunks.json`. What is as it was is not written again: somebody may be reading it.
 *
 * `node .ci/bundle.mjs [repository]`
 */
import { build } from "esbuild"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"

const root = resolve(process.argv[2] ?? join(import.meta.dirname, ".."))

const write = (path, contents) => {
  if (existsSync(path) && readFileSync(path).equals(contents)) return
  mkdirSync(dirname(path), { recursive: true })
  const whole = `${path}.${process.pid}.tmp`
  writeFileSync(whole, contents)
  renameSync(whole, path)
}

const removeOthers = (dist, written) => {
  for (const file of readdirSync(dist, { recursive: true })) {
    const path = join(dist, file)
    if (/\.js(\.map)?$/.test(file) && !written.has(path)) rmSync(path)
  }
}

const sourcesOf = ({ outputs }) =>
  Object.fromEntries(
    Object.entries(outputs).filter(([path]) => path.endsWith(".js")).map(([path, { inputs }]) => [
      basename(path),
      Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([source]) => source)
    ])
  )

const bundle = async (name) => {
  const folder = join(root, "packages", name)
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
    logLevel: "warning",
    write: false
  }
  const { metafile, outputFiles } = await build({
    ...options,
    entryPoints: modules.filter((_) => _ !== "index.ts").map((_) => `src/${_}`),
    bundle: true,
    splitting: true,
    packages: "external",
    chunkNames: "chunks/[hash]",
    metafile: true
  })
  // Not bundled: whoever bundles an application takes from it what is needed.
  const index = await build({ ...options, entryPoints: ["src/index.ts"] })
  const files = [...outputFiles, ...index.outputFiles]
  for (const { contents, path } of files) write(path, contents)
  removeOthers(join(folder, "dist"), new Set(files.map((_) => _.path)))
  write(join(folder, ".tsbuildinfo/chunks.json"), Buffer.from(JSON.stringify(sourcesOf(metafile), null, 2)))
}

for (const name of ["core", "node"]) await bundle(name)
