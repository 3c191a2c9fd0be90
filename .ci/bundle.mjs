/**
 * Writes the JavaScript of the packages that applications import: the code is in a few chunks, and each public module is a file
 * that names what it has of them. tsc writes their declarations only.
 *
 * Node resolves every single import of `effect/Effect` and the like by itself, for each file that has one: with a file for
 * each of our modules there were a thousand of these, with a chunk for whatever some modules share still 470, and they cost half of
 * the time that it takes to load the core, and 30 MB. What an application may well do without is in chunks of its own, so that
 * it is not loaded with the rest, nor taken by whoever bundles an application. What is as it was is not written again: somebody may
 * be reading it.
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

/** Who imports one of these should not load everything. All other modules are in `main`. */
const chunksOf = {
  core: {
    errors: ["McpError"],
    config: ["McpConfig"],
    session: ["McpSession"],
    apart: ["ConfigFile", "McpSkills", "ToolAdapters", "ToolSchema"]
  },
  node: { apart: ["ConfigFiles", "FileTokens", "LoopbackAuthorizer"] }
}

const chunksWith = (apart, modules) => {
  const others = modules.filter((_) => !Object.values(apart).flat().includes(_))
  return Object.entries({ ...apart, main: others })
}

/** Our modules do nothing as they load, so that this is without effect, and those who bundle would be warned of it. The line stays. */
const withoutBareImports = (contents) =>
  Buffer.from(Buffer.from(contents).toString().replaceAll(/^import "\.\/[^"]+";$/gm, ""))

/** Modules have exports of the same name. */
const inChunk = (module, name) => `${module}_${name}`

/** What would be the entry of a chunk if it were a file: everything that these modules export. */
const entries = (chunks, exportsOf, resolveDir) => ({
  name: "entries",
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: /^chunk:/ }, ({ path }) => ({ path: path.slice("chunk:".length), namespace: "chunk" }))
    onLoad({ filter: /.*/, namespace: "chunk" }, ({ path }) => ({
      contents: new Map(chunks).get(path).map((module) => {
        const names = exportsOf(module).map((name) => `${name} as ${inChunk(module, name)}`)
        return `export { ${names.join(", ")} } from "./src/${module}.ts"\n`
      }).join(""),
      resolveDir
    }))
  }
})

const bundle = async (name) => {
  const folder = join(root, "packages", name)
  const modules = readdirSync(join(folder, "src"))
    .filter((_) => _.endsWith(".ts") && _ !== "index.ts")
    .map((_) => basename(_, ".ts"))
  const options = {
    absWorkingDir: folder,
    outdir: "dist",
    format: "esm",
    platform: "node",
    target: "node20",
    tsconfig: join(folder, "tsconfig.src.json"),
    logLevel: "warning",
    write: false
  }
  const whole = { ...options, bundle: true, splitting: true, packages: "external", metafile: true }
  const seen = await build({ ...whole, entryPoints: modules.map((_) => `src/${_}.ts`) })
  const exportsOf = (module) => seen.metafile.outputs[`dist/${module}.js`].exports
  const chunks = chunksWith(chunksOf[name], modules)
  const { outputFiles } = await build({
    ...whole,
    entryPoints: chunks.map(([chunk]) => ({ in: `chunk:${chunk}`, out: `chunks/${chunk}` })),
    chunkNames: "chunks/[hash]",
    sourcemap: true,
    sourcesContent: false,
    plugins: [entries(chunks, exportsOf, folder)]
  })
  // Not bundled: whoever bundles an application takes from it what is needed.
  const index = await build({ ...options, entryPoints: ["src/index.ts"] })
  const files = new Map([...outputFiles, ...index.outputFiles].map(({ contents, path }) => [
    path,
    path.endsWith(".js") ? withoutBareImports(contents) : contents
  ]))
  for (const [chunk, its] of chunks) {
    for (const module of its) {
      const names = exportsOf(module).map((name) => `${inChunk(module, name)} as ${name}`)
      const text = `export { ${names.join(", ")} } from "./chunks/${chunk}.js"\n`
      files.set(join(folder, "dist", `${module}.js`), Buffer.from(names.length === 0 ? "export {}\n" : text))
    }
  }
  for (const [path, contents] of files) write(path, contents)
  removeOthers(join(folder, "dist"), new Set(files.keys()))
}

for (const name of Object.keys(chunksOf)) await bundle(name)
