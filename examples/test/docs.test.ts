import { assert, describe, it } from "@effect/vitest"
import { display, load } from "@mcp-runtime/core/ConfigFile"
import { execFile, execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const root = fileURLToPath(new URL("../..", import.meta.url))
const libraries = ["core", "node", "testing"]
const read = (page: string) => fs.readFileSync(path.join(root, page), "utf8")
const filesOf = (directory: string, extension: string) =>
  fs.readdirSync(path.join(root, directory)).filter((_) => _.endsWith(extension)).map((_) => `${directory}/${_}`)

const pages = [
  "README.md",
  "SECURITY.md",
  ...filesOf("docs", ".md"),
  ...(fs.existsSync(path.join(root, "docs/benchmarks")) ? filesOf("docs/benchmarks", ".md") : []),
  ...[...libraries, "cli"].map((_) => `packages/${_}/README.md`)
]
const sources = libraries.flatMap((_) => filesOf(`packages/${_}/src`, ".ts"))

interface Snippet {
  readonly name: string
  readonly code: string
  /** Of one that is run (`ts run`): the block of text that follows it, if there is one. */
  readonly prints: string | undefined
  readonly runs: boolean
}

const snippetsOf = (page: string, text: string): ReadonlyArray<Snippet> =>
  [...text.matchAll(/```ts( run)?\n([\s\S]*?)```(?:\n\n```text\n([\s\S]*?)```)?/g)].map(([, run, code, prints], i) => ({
    name: `${page.replaceAll(/[^a-zA-Z0-9]+/g, "-")}-${i}`,
    code: code!.replace(`"./servers/start.js"`, `"../servers/start.js"`).replace(
      `"./forecast.js"`,
      `"../testing/forecast.js"`
    ),
    prints: run === undefined ? undefined : prints,
    runs: run !== undefined
  }))

/** The examples in the doc comments of what users call. */
const examplesOf = (source: string): ReadonlyArray<Snippet> => {
  const text = read(source)
  return [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap(({ 0: comment, index }) => {
    const line = text.slice(0, index).split("\n").length
    return snippetsOf(`${source} ${line}`, comment.replaceAll(/^ *\* ?/gm, ""))
  })
}

const inDirectory = async (
  snippets: ReadonlyArray<Snippet>,
  use: (directory: string) => Promise<unknown>
): Promise<void> => {
  const directory = fs.mkdtempSync(path.join(root, "examples/.docs-"))
  try {
    for (const { code, name } of snippets) fs.writeFileSync(path.join(directory, `${name}.ts`), code)
    await use(directory)
  } catch (error) {
    const said = error instanceof Error && "stdout" in error && "stderr" in error
    assert.fail(said ? `${error.stdout}${error.stderr}` : String(error))
  } finally {
    fs.rmSync(directory, { recursive: true })
  }
}

describe("the documentation", () => {
  it("every snippet of a page or a doc comment compiles", async () => {
    const snippets = [...pages.flatMap((page) => snippetsOf(page, read(page))), ...sources.flatMap(examplesOf)]
    assert.isAbove(snippets.length, 60)
    assert.strictEqual(new Set(snippets.map((_) => _.name)).size, snippets.length)
    await inDirectory(snippets, (directory) => {
      const compilerOptions = { composite: false, incremental: false, noUnusedLocals: false, rootDir: "../.." }
      fs.writeFileSync(
        path.join(directory, "tsconfig.json"),
        JSON.stringify({ extends: "../tsconfig.json", include: ["*.ts"], references: [], compilerOptions })
      )
      return promisify(execFile)(process.execPath, [
        path.join(root, "node_modules/typescript/bin/tsc"),
        "-p",
        directory
      ])
    })
  }, 300_000)

  it("every snippet can be loaded: what it uses is there, and what it makes at once can be made", async () => {
    const snippets = [...pages.flatMap((page) => snippetsOf(page, read(page))), ...sources.flatMap(examplesOf)]
      // What is only declared, for the application to have, is not there; what runs is run below, or starts servers; tests are
      // for vitest.
      .filter(({ code, runs }) => !runs && !/^declare |run(Promise|Main|Fork)|await |@effect\/vitest/m.test(code))
    assert.isAbove(snippets.length, 60)
    await inDirectory(snippets, async (directory) => {
      const all = snippets.map(({ name }) => `await import("./${name}.ts")`).join("\n")
      fs.writeFileSync(path.join(directory, "all.mts"), all)
      await promisify(execFile)(
        process.execPath,
        ["--import", "tsx", "--conditions=@mcp-runtime/source", "all.mts"],
        { cwd: directory, timeout: 90_000, env: { ...process.env, XDG_CACHE_HOME: directory } }
      )
    })
  }, 120_000)

  it("every snippet that is marked as one runs, and prints what the page says", async () => {
    const snippets = pages.flatMap((page) => snippetsOf(page, read(page))).filter((_) => _.runs)
    assert.isAbove(snippets.length, 2)
    await inDirectory(snippets, async (directory) => {
      for (const { name, prints } of snippets) {
        const { stderr, stdout } = await promisify(execFile)(
          process.execPath,
          ["--import", "tsx", "--conditions=@mcp-runtime/source", `${name}.ts`],
          { cwd: directory, timeout: 90_000, env: { ...process.env, XDG_CACHE_HOME: directory } }
        )
        assert.strictEqual(stderr, "", name)
        if (prints !== undefined) assert.strictEqual(stdout.trim(), prints.trim(), name)
      }
    })
  }, 300_000)

  it("every configuration file can be used as it is", () => {
    const files = pages.flatMap((page) =>
      [...read(page).matchAll(/```jsonc?\n([\s\S]*?)```/g)].map(([, text]) => ({ page, text: text! }))
    ).filter(({ text }) => /"(mcpServers|servers)"/.test(text))
    assert.isAbove(files.length, 1)
    for (const { page, text } of files) {
      const { entries, problems } = load([{ level: "project", path: page, text }])
      assert.deepStrictEqual(problems.map(display), [])
      assert.isAbove(entries.length, 0)
    }
  })

  it("every link leads somewhere", () => {
    const broken = pages.flatMap((page) =>
      [...read(page).replaceAll(/```[\s\S]*?```/g, "").matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => {
        const [file, anchor] = link!.split("#")
        if (/^[a-z]+:/.test(link!)) return []
        const target = file === "" ? page : path.join(path.dirname(page), file!)
        if (!fs.existsSync(path.join(root, target))) return [`${page}: ${link}`]
        if (anchor === undefined) return []
        const headings = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
          heading!.toLowerCase().replaceAll(/[^a-z0-9 _-]/g, "").replaceAll(" ", "-")
        )
        return headings.includes(anchor) ? [] : [`${page}: ${link}`]
      })
    )
    assert.deepStrictEqual(broken, [])
  })

  it("the README lists every command", () => {
    const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: { readonly [name: string]: string } }
    const table = read("README.md").split("| command ")[1]!
    const missing = Object.keys(scripts).filter((name) =>
      !table.includes(name === "start" || name === "test" ? `\`npm ${name}\`` : `\`npm run ${name}\``)
    )
    assert.deepStrictEqual(missing, [])
  })

  it("the guide lists every page", () => {
    const guide = read("docs/README.md")
    for (const page of filesOf("docs", ".md")) {
      if (page !== "docs/README.md") assert.include(guide, `(${path.basename(page)})`)
    }
  })

  it("every export has a doc comment with its version and its category", () => {
    execFileSync(process.execPath, [path.join(root, ".ci/api.mjs"), "--check"], { encoding: "utf8" })
  }, 180_000)
})
