/**
 * Uses the packages as an application would: packed, installed from their tarballs by npm into an empty project outside of
 * this repository, type-checked against what they publish, run with plain node, and bundled.
 *
 * `node .ci/smoke.mjs` packs what `npm run build` has built; with `--build` it builds a copy of the sources first, and leaves
 * `dist` alone. npm takes the versions of our own lockfile, out of its cache where they are there.
 */
import { build as bundle } from "esbuild"
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { isBuiltin, SourceMap } from "node:module"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"
import { lockOf } from "./lock.mjs"

const root = fileURLToPath(new URL("..", import.meta.url))
const names = ["core", "node", "testing", "cli"]
const tsc = join(root, "node_modules/typescript/bin/tsc")

const target = mkdtempSync(join(tmpdir(), "mcp-smoke-"))
const project = join(target, "project")
const say = (line) => process.stdout.write(`${line}\n`)

const run = (command, args, cwd, env = {}) => {
  try {
    return execFileSync(command, args, {
      cwd,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_OPTIONS: "", ...env },
      timeout: 300_000
    })
  } catch (error) {
    const what = `${basename(command)} ${args.join(" ")}`
    throw new Error(`${what}: ${error.message}\n${error.stdout ?? ""}\n${error.stderr ?? ""}`, { cause: error })
  }
}

const check = (condition, message) => {
  if (!condition) throw new Error(message)
}

/** The sources where nothing else is, with the dependencies of this repository. */
const copyOfSources = () => {
  const copy = join(target, "sources")
  const own = join(copy, "node_modules/@mcp-runtime")
  mkdirSync(own, { recursive: true })
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name !== "@mcp-runtime") symlinkSync(join(root, "node_modules", name), join(copy, "node_modules", name))
  }
  for (const name of names) {
    cpSync(join(root, "packages", name), join(copy, "packages", name), {
      recursive: true,
      filter: (path) => !["dist", ".tsbuildinfo", "node_modules", "test", "dtslint"].includes(basename(path))
    })
    symlinkSync(join(copy, "packages", name), join(own, name))
  }
  cpSync(join(root, "tsconfig.json"), join(copy, "tsconfig.json"))
  run(process.execPath, [tsc, "-b", ...names.map((name) => `packages/${name}/tsconfig.src.json`)], copy)
  run(process.execPath, [join(root, ".ci/bundle.mjs"), copy], root)
  return copy
}

const pack = (repository) =>
  names.map((name) => {
    const source = join(repository, "packages", name)
    check(existsSync(join(source, "dist/index.js")), `${source} is not built: run "npm run build" first, or this with --build`)
    const [packed] = JSON.parse(run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", target], source))
    const files = packed.files.map((_) => _.path)
    const command = name === "cli" ? ["bin/mcp-runtime.js", "dist/main.js"] : []
    for (const file of ["LICENSE", "CHANGELOG.md", "README.md", "package.json", "dist/index.js", "dist/index.d.ts", ...command]) {
      check(files.includes(file), `@mcp-runtime/${name}: ${file} is not in the package`)
    }
    const stray = files.filter((file) => /(^|\/)(test|dtslint|\.tsbuildinfo)(\/|$)|\.tgz$|\.test\./.test(file))
    check(stray.length === 0, `@mcp-runtime/${name}: ${stray} should not be in the package`)
    const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8"))
    for (const field of ["description", "license", "keywords", "engines"]) {
      check(manifest[field] !== undefined, `@mcp-runtime/${name}: package.json has no ${field}`)
    }
    return { manifest, file: join(target, packed.filename) }
  })

/** The installed neighbours of a package would hide that it does not declare one of them. */
const declares = ({ manifest }) => {
  const { dependencies, name, peerDependencies } = manifest
  const dist = join(project, "node_modules", name, "dist")
  const declared = new Set([name, ...Object.keys({ ...dependencies, ...peerDependencies })])
  for (const file of readdirSync(dist, { recursive: true })) {
    if (!/\.(js|d\.ts)$/.test(file)) continue
    const { importedFiles } = ts.preProcessFile(readFileSync(join(dist, file), "utf8"), true, true)
    for (const { fileName: specifier } of importedFiles.filter(({ fileName }) => !fileName.startsWith("."))) {
      const [, imported] = /^((?:@[^/]+\/)?[^/]+)/.exec(specifier)
      const known = isBuiltin(specifier) || declared.has(imported)
      check(known, `${name}: ${file} imports ${specifier}, and the package does not declare it`)
    }
  }
}

const install = (packages) => {
  mkdirSync(project)
  cpSync(join(root, ".ci/consumer"), project, { recursive: true })
  const { lock, manifest } = lockOf(join(root, "package-lock.json"), packages)
  writeFileSync(join(project, "package.json"), JSON.stringify(manifest, null, 2))
  writeFileSync(join(project, "package-lock.json"), JSON.stringify(lock, null, 2))
  run("npm", ["ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"], project)
}

/** Which of our sources a bundle has lines of. */
const sourcesIn = (bundled) => {
  const [text, map] = [".js", ".js.map"].map((end) => bundled.find(({ path }) => path.endsWith(end)).text)
  const lines = new SourceMap(JSON.parse(map))
  const found = text.split("\n").map((line, i) => lines.findEntry(i, line.search(/\S|$/)).originalSource)
  return [...new Set(found)].filter((_) => _?.includes("core/src/")).map((_) => _.slice(_.indexOf("src/")))
}

/** Only what an import reaches may be in a bundle. */
const shake = async (imported, unwanted) => {
  const { outputFiles } = await bundle({
    stdin: { contents: `import { ${imported} } from "@mcp-runtime/core"\nconsole.log(${imported})`, resolveDir: project },
    bundle: true,
    format: "esm",
    platform: "node",
    external: ["effect", "effect/*", "@effect/*"],
    outdir: target,
    sourcemap: "external",
    write: false,
    logLevel: "silent"
  })
  const own = sourcesIn(outputFiles)
  check(own.includes(`src/${imported}.ts`), `${imported} is not in its own bundle`)
  const found = own.filter((path) => unwanted.test(path))
  check(found.length === 0, `a bundle of ${imported} has ${found.length} modules that it does not need: ${found.slice(0, 3)} ...`)
  const bytes = outputFiles.find(({ path }) => path.endsWith(".js")).contents.length
  return `${own.length} modules, ${Math.round(bytes / 1024)} KB`
}

/** Nothing in core needs Node, and those who bundle all of it are not warned of anything. */
const everywhere = async () => {
  const { outputFiles, warnings } = await bundle({
    stdin: { contents: `import * as Core from "@mcp-runtime/core"\nconsole.log(Core)`, resolveDir: project },
    bundle: true,
    format: "esm",
    platform: "browser",
    minify: true,
    write: false,
    logLevel: "silent"
  })
  check(warnings.length === 0, `whoever bundles core is warned: ${warnings.map(({ text }) => text).join("; ")}`)
  return `${Math.round(outputFiles[0].contents.length / 1024)} KB, with Effect`
}

try {
  const packages = pack(process.argv.includes("--build") ? copyOfSources() : root)
  install(packages)
  packages.forEach(declares)
  say(`${names.join(", ")}: packed and installed`)

  for (const resolution of ["nodenext", "bundler"]) {
    run(process.execPath, [tsc, "-p", `tsconfig.${resolution}.json`], project)
    say(`types with moduleResolution ${resolution}: fine`)
  }
  const cache = { XDG_CACHE_HOME: join(target, "cache") }
  say(`a program: ${run(process.execPath, ["out/program.js"], project, cache).trim()}`)
  process.stdout.write(run(process.execPath, ["session.mjs"], project, cache))

  const servers = { fixture: { command: process.execPath, args: ["node_modules/@mcp-runtime/testing/fixtures/stdio-server.mjs"] } }
  writeFileSync(join(project, "mcp.json"), JSON.stringify({ mcpServers: servers }))
  const listed = JSON.parse(run(join(project, "node_modules/.bin/mcp-runtime"), ["tools", "--json"], project, cache))
  check(listed.tools.some(({ name }) => name.endsWith("echo")), `mcp-runtime tools --json: ${JSON.stringify(listed)}`)
  say(`the command: ${listed.tools.length} tools`)

  for (const name of ["core", "node"]) {
    const chunks = readdirSync(join(project, `node_modules/@mcp-runtime/${name}/dist/chunks`))
    const chunk = basename(chunks.find((file) => file.endsWith(".js")), ".js")
    // A process of its own, because an import is resolved from where its program stands; what it prints is its answer.
    const script = `console.log(await import("@mcp-runtime/${name}/chunks/${chunk}").then(() => "imported", (error) => error.code))`
    const outcome = run(process.execPath, ["--input-type=module", "--eval", script], project).trim()
    check(outcome === "ERR_PACKAGE_PATH_NOT_EXPORTED", `@mcp-runtime/${name}/chunks/${chunk}: ${outcome}`)
  }
  say("what is internal can't be imported")

  const runtime = /internal\/(jsonSchema|toolset|manager|connection|engine|http|catalog)\/|\/(Toolset|McpManager|McpSession)\.ts$/
  say(`a bundle of McpError alone: ${await shake("McpError", runtime)}`)
  say(`a bundle of McpConfig alone: ${await shake("McpConfig", runtime)}`)
  say(`a bundle of McpSession: ${await shake("McpSession", /internal\/(jsonSchema|toolset|manager|catalog)\//)}`)
  say(`a bundle of Toolset: ${await shake("Toolset", /(McpSkills|ConfigFile)\.ts$|internal\/(skills|configFile)\//)}`)
  say(`a bundle of all of core for a runtime that is not Node: ${await everywhere()}`)
} finally {
  rmSync(target, { recursive: true, force: true })
}
