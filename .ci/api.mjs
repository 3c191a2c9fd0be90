/**
 * The API reference, from the sources: one page for each public module, in `docs/api`, with what every export is, its
 * declaration and its doc comment. `npm run docs` writes it; with `--check` nothing is written, and an export without a
 * doc comment, `@since` or `@category` is an error.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"

const root = fileURLToPath(new URL("..", import.meta.url))
const packages = ["core", "node", "testing"]

const sourcesOf = (name) =>
  readdirSync(join(root, "packages", name, "src"))
    .filter((file) => file.endsWith(".ts") && file !== "index.ts")
    .map((file) => join(root, "packages", name, "src", file))

const files = packages.flatMap(sourcesOf)
const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile)
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
const program = ts.createProgram(files, {
  ...options,
  lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
  types: ["node"],
  composite: false,
  incremental: false,
  declarationMap: false,
  emitDeclarationOnly: true,
  outDir: "/"
})

/** A module as it is published, with every type written out. */
const declarationsOf = (file) => {
  let text = ""
  program.emit(program.getSourceFile(file), (path, content) => {
    if (path.endsWith(".d.ts")) text = content
  }, undefined, true)
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
}

const commentsBefore = (source, position) =>
  (ts.getLeadingCommentRanges(source.text, position) ?? [])
    .map(({ end, pos }) => source.text.slice(pos, end))
    .filter((text) => text.startsWith("/**"))

/** A doc comment without its stars, taken apart. */
const parse = (comment) => {
  const text = comment.slice(3, -2).split("\n").map((line) => line.replace(/^\s*\* ?/, "")).join("\n").trim()
  const tag = (name) => new RegExp(`^@${name}\\s+(.*)$`, "m").exec(text)?.[1]?.trim()
  const example = /^@example\s*\n([^]*?)(?=^@(?:since|category|see|deprecated|internal)\b|(?![^]))/m.exec(text)?.[1]?.trim()
  const description = text.split(/^@\w+/m)[0].trim()
  return { description, example, since: tag("since"), category: tag("category") }
}

const namesOf = (statement) =>
  ts.isVariableStatement(statement)
    ? statement.declarationList.declarations.map((_) => _.name.getText())
    : statement.name === undefined ? [] : [statement.name.getText()]

const isExported = (statement) =>
  ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some((_) => _.kind === ts.SyntaxKind.ExportKeyword)

/** What a module exports, in the order of its source; all declarations of one name together, wherever they are from. */
const exportsOf = (file) => {
  const source = declarationsOf(file)
  const found = new Map()
  const add = (name, comment, ...code) => {
    const doc = comment === undefined ? undefined : parse(comment)
    const known = found.get(name)
    if (known === undefined) found.set(name, { name, comment, doc, code })
    else {
      known.doc ??= doc
      known.code.push(...code)
    }
  }
  for (const statement of source.statements) {
    if (ts.isExportDeclaration(statement) && statement.exportClause !== undefined && ts.isNamedExports(statement.exportClause)) {
      const from = statement.moduleSpecifier?.text
      const there = from?.startsWith(".") ? exportsOf(join(file, "..", from.replace(/\.js$/, ".ts"))) : []
      for (const element of statement.exportClause.elements) {
        const original = there.find((_) => _.name === (element.propertyName ?? element.name).text)
        const comment = commentsBefore(source, element.getFullStart()).at(-1) ?? original?.comment
        add(element.name.text, comment, ...(original?.code ?? [`export { ${element.getText()} }`]))
      }
    } else if (isExported(statement)) {
      const comment = commentsBefore(source, statement.getFullStart()).at(-1)
      for (const name of namesOf(statement)) add(name, comment, statement.getText())
    }
  }
  return [...found.values()]
}

const modules = files.map((file) => {
  const [first] = commentsBefore(program.getSourceFile(file), 0)
  return {
    package: basename(join(file, "../..")),
    name: basename(file, ".ts"),
    doc: first === undefined ? undefined : parse(first),
    exports: exportsOf(file)
  }
})

const problems = modules.flatMap(({ doc, exports, name, package: owner }) => [
  ...(doc?.description ? [] : [`${owner}/${name}: its first comment does not say what it owns`]),
  ...exports.flatMap(({ doc, name: exported }) => {
    const missing = [
      ...(doc === undefined ? ["doc comment"] : []),
      ...(doc !== undefined && doc.since === undefined ? ["@since"] : []),
      ...(doc !== undefined && doc.category === undefined ? ["@category"] : [])
    ]
    return missing.length === 0 ? [] : [`${owner}/${name}: ${exported} has no ${missing.join(", no ")}`]
  })
])

const anchorOf = (text) => text.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, "-")

const grouped = (exports) => {
  const groups = new Map()
  for (const one of exports) {
    const category = one.doc?.category ?? "other"
    groups.set(category, [...(groups.get(category) ?? []), one])
  }
  return groups
}

const pageOf = ({ doc, exports, name, package: owner }) => {
  const byCategory = grouped(exports)
  const lines = [`# ${name}`, "", `\`import { ${name} } from "@mcp-runtime/${owner}"\``, "", doc?.description ?? "", ""]
  if (doc?.example !== undefined) lines.push(doc.example, "")
  for (const [category, members] of byCategory) lines.push(`- ${category}: ${members.map((_) => `[${_.name}](#${anchorOf(_.name)})`).join(", ")}`)
  for (const [category, members] of byCategory) {
    lines.push("", `## ${category}`)
    for (const { code, doc, name } of members) {
      lines.push("", `### ${name}`, "")
      if (doc?.description) lines.push(doc.description, "")
      lines.push("```ts", ...code, "```")
      if (doc?.example !== undefined) lines.push("", doc.example)
      lines.push("", `Since ${doc?.since ?? "?"}.`)
    }
  }
  return `${lines.join("\n")}\n`
}

if (problems.length > 0) {
  process.stderr.write(`${problems.join("\n")}\n`)
  process.exitCode = 1
} else if (process.argv.includes("--check")) {
  process.stdout.write(`${modules.length} modules, ${modules.reduce((n, _) => n + _.exports.length, 0)} exports: all documented\n`)
} else {
  const target = join(root, "docs/api")
  rmSync(target, { recursive: true, force: true })
  const index = ["# API reference", "", "Made from the sources by `npm run docs`."]
  for (const owner of packages) {
    mkdirSync(join(target, owner), { recursive: true })
    index.push("", `## @mcp-runtime/${owner}`, "")
    for (const module of modules.filter((_) => _.package === owner)) {
      writeFileSync(join(target, owner, `${module.name}.md`), pageOf(module))
      index.push(`- [${module.name}](${owner}/${module.name}.md): ${module.doc.description.split("\n\n")[0].replaceAll("\n", " ")}`)
    }
  }
  writeFileSync(join(target, "README.md"), `${index.join("\n")}\n`)
  process.stdout.write(`${modules.length} pages in docs/api\n`)
}
