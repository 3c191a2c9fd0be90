import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const pages = [
  "README.md",
  ...fs.readdirSync(path.join(root, "docs")).filter((_) => _.endsWith(".md")).map((_) => `docs/${_}`),
  ...["core", "node", "testing"].map((_) => `packages/${_}/README.md`)
]

const snippetsOf = (page: string): ReadonlyArray<readonly [name: string, code: string]> =>
  [...fs.readFileSync(path.join(root, page), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code], i) => [
    `${page.replaceAll(/[^a-zA-Z]+/g, "-")}-${i}.ts`,
    code!.replace("./servers/start.js", "../servers/start.js")
  ])

describe("the documentation", () => {
  it("every snippet compiles", () => {
    const directory = fs.mkdtempSync(path.join(root, "examples/.docs-"))
    try {
      const snippets = pages.flatMap(snippetsOf)
      assert.isAbove(snippets.length, 6)
      for (const [name, code] of snippets) fs.writeFileSync(path.join(directory, name), code)
      const compilerOptions = { composite: false, incremental: false, noUnusedLocals: false, rootDir: "../.." }
      fs.writeFileSync(
        path.join(directory, "tsconfig.json"),
        JSON.stringify({ extends: "../tsconfig.json", include: ["*.ts"], references: [], compilerOptions })
      )
      execFileSync(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), "-p", directory], {
        encoding: "utf8"
      })
    } catch (error) {
      assert.fail(error instanceof Error && "stdout" in error ? String(error.stdout) : String(error))
    } finally {
      fs.rmSync(directory, { recursive: true })
    }
  }, 60_000)
})
