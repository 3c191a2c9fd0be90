/**
 * The public modules of the published packages: which there are, and what each declares, as it is published, with every type
 * written out.
 */
import { readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"

export const root = fileURLToPath(new URL("..", import.meta.url))

export const packages = ["core", "node", "testing", "cli"]

const sources = (owner) => join(root, "packages", owner, "src")

/** The modules that the package itself exports by name. */
export const inIndex = (owner) =>
  [...readFileSync(join(sources(owner), "index.ts"), "utf8").matchAll(/^export \* as (\w+) from "\.\/\1\.js"$/gm)].map(([, _]) => _)

/** All modules that can be imported: those of the index alone, or every file, as the package says. */
const modulesOf = (owner) => {
  const { exports } = JSON.parse(readFileSync(join(root, "packages", owner, "package.json"), "utf8"))
  const all = readdirSync(sources(owner)).filter((_) => _.endsWith(".ts") && _ !== "index.ts").map((_) => basename(_, ".ts"))
  return "./*" in exports ? all : all.filter((_) => inIndex(owner).includes(_))
}

export const modules = packages.flatMap((owner) =>
  modulesOf(owner).map((name) => ({ owner, name, file: join(sources(owner), `${name}.ts`) }))
)

const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile)
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)

export const program = ts.createProgram(modules.map((_) => _.file), {
  ...options,
  lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
  types: ["node"],
  composite: false,
  incremental: false,
  declarationMap: false,
  emitDeclarationOnly: true,
  outDir: "/"
})

const emitted = new Map()

/** A module as it is published. `fileName` is that of its source. */
export const declarationsOf = (file) => {
  const known = emitted.get(file)
  if (known !== undefined) return known
  let text = ""
  program.emit(program.getSourceFile(file), (path, content) => {
    if (path.endsWith(".d.ts")) text = content
  }, undefined, true)
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  emitted.set(file, source)
  return source
}

/** The file that a relative specifier in another one means. */
export const fileOf = (from, specifier) => join(from, "..", specifier.replace(/\.js$/, ".ts"))

export const namesOf = (statement) =>
  ts.isVariableStatement(statement)
    ? statement.declarationList.declarations.map((_) => _.name.getText())
    : statement.name === undefined ? [] : [statement.name.getText()]

export const isExported = (statement) =>
  ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some((_) => _.kind === ts.SyntaxKind.ExportKeyword)

export const commentsBefore = (source, position) =>
  (ts.getLeadingCommentRanges(source.text, position) ?? [])
    .map(({ end, pos }) => source.text.slice(pos, end))
    .filter((text) => text.startsWith("/**"))

/**
 * What a module exports, in the order of its source; all declarations of one name together, wherever they are from. `comment`
 * is the first there is.
 */
export const exportsOf = (file) => {
  const source = declarationsOf(file)
  const found = new Map()
  const add = (name, comment, ...statements) => {
    const known = found.get(name)
    if (known === undefined) found.set(name, { name, comment, statements })
    else {
      known.comment ??= comment
      known.statements.push(...statements)
    }
  }
  for (const statement of source.statements) {
    if (ts.isExportDeclaration(statement) && statement.exportClause !== undefined && ts.isNamedExports(statement.exportClause)) {
      const from = statement.moduleSpecifier?.text
      const there = from?.startsWith(".") ? exportsOf(fileOf(file, from)) : []
      for (const element of statement.exportClause.elements) {
        const original = there.find((_) => _.name === (element.propertyName ?? element.name).text)
        const comment = commentsBefore(source, element.getFullStart()).at(-1) ?? original?.comment
        add(element.name.text, comment, ...(original?.statements ?? [statement]))
      }
    } else if (isExported(statement)) {
      const comment = commentsBefore(source, statement.getFullStart()).at(-1)
      for (const name of namesOf(statement)) add(name, comment, statement)
    }
  }
  return [...found.values()]
}
