import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const core = "packages/core/src"
const page = fs.readFileSync(path.join(root, "docs/architecture.md"), "utf8")

const modules = [...page.split("## The modules")[1]!.split("\n## ")[0]!.matchAll(/^\| `(\w+)` \|/gm)].map(([, _]) => _!)

const importsOf = (module: string): ReadonlyArray<string> =>
  [...fs.readFileSync(path.join(root, core, `${module}.ts`), "utf8").matchAll(/^import [^;]*?from "\.\/(\w+)\.js"$/gm)]
    .map(([, _]) => _!)

describe("architecture", () => {
  it("every public module of core has its place", () => {
    const files = fs.readdirSync(path.join(root, core)).filter((_) => _.endsWith(".ts") && _ !== "index.ts")
    assert.sameMembers([...modules], files.map((_) => _.slice(0, -".ts".length)))
  })

  it("each imports only from those above it", () => {
    const wrong = modules.flatMap((module, place) =>
      importsOf(module).filter((_) => modules.indexOf(_) >= place).map((_) => `${module} imports ${_}`)
    )
    assert.deepStrictEqual(wrong, [])
    assert.isAbove(modules.flatMap(importsOf).length, 50, "imports are found at all")
  })

  it("no file is longer than 600 lines", () => {
    const sources = fs.readdirSync(path.join(root, "packages")).flatMap((name) =>
      fs.readdirSync(path.join(root, "packages", name, "src"), { recursive: true, encoding: "utf8" })
        .filter((_) => _.endsWith(".ts")).map((_) => `packages/${name}/src/${_}`)
    )
    const long = sources.filter((_) => fs.readFileSync(path.join(root, _), "utf8").split("\n").length > 601)
    assert.deepStrictEqual(long, [])
    assert.isAbove(sources.length, 300, "files are found at all")
  })

  it("every file that it names is there", () => {
    const named = [...page.matchAll(/`((?:internal|packages)\/[\w/.]+|[A-Z]\w+\.ts)`/g)].map(([, _]) => _!)
    const missing = named.filter((_) => !fs.existsSync(path.join(root, _.startsWith("packages/") ? _ : `${core}/${_}`)))
    assert.deepStrictEqual(missing, [])
    assert.isAbove(named.length, 40, "files are found at all")
  })
})
