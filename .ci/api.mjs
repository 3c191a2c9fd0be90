/**
 * The API reference, from the sources: one page for each public module, in `docs/api`, with what every export is, its
 * declaration and its doc comment. `npm run docs` writes it; with `--check` nothing is written, and an export without a
 * doc comment, `@since` or `@category` is an error.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { commentsBefore, exportsOf, modules as found, packages, program, root } from "./declarations.mjs"

/** A doc comment without its stars, taken apart. */
const parse = (comment) => {
  const text = comment.slice(3, -2).split("\n").map((line) => line.replace(/^\s*\* ?/, "")).join("\n").trim()
  const tag = (name) => new RegExp(`^@${name}\\s+(.*)$`, "m").exec(text)?.[1]?.trim()
  const example = /^@example\s*\n([^]*?)(?=^@(?:since|category|see|deprecated|internal)\b|(?![^]))/m.exec(text)?.[1]?.trim()
  const description = text.split(/^@\w+/m)[0].trim()
  return { description, example, since: tag("since"), category: tag("category") }
}

const modules = found.map(({ file, name, owner }) => {
  const [first] = commentsBefore(program.getSourceFile(file), 0)
  return {
    package: owner,
    name,
    doc: first === undefined ? undefined : parse(first),
    exports: exportsOf(file).map(({ comment, name, statements }) => ({
      name,
      doc: comment === undefined ? undefined : parse(comment),
      code: statements.map((_) => _.getText())
    }))
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
