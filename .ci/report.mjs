/**
 * The API report: everything that users can name, as it is published, one page for each public module in `packages/<p>/api`.
 * It is checked in, so that a change of the API is seen by whoever reads the change. `npm run api` writes it; with `--check`
 * nothing is written, and a report that is not up to date is an error, with the difference.
 *
 * Either way it is an error if a public type
 * - has `any` in it,
 * - speaks of a type that users can't name: one of `internal/`, or one that its module does not export,
 * - can be written to: a property or a list that is not `readonly`, other than those named below.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative, sep } from "node:path"
import ts from "typescript"
import { declarationsOf, exportsOf, fileOf, inIndex, modules, namesOf, packages, root } from "./declarations.mjs"

/** What has to be as others have it. */
const writable = new Map([
  ["core/McpConfig.InProcessTransport", "the transport of the MCP SDK, whose fields a server sets"],
  ["core/ToolAdapters", "the types of other SDKs take no readonly lists"]
])

// ---------------------------------------------------------------------------------------------------------------------
// What a name means
// ---------------------------------------------------------------------------------------------------------------------

/** Everything that a file declares at its top, exported or not. */
const declaredIn = (file) => {
  const all = new Map()
  for (const statement of declarationsOf(file).statements) {
    if (ts.isExportDeclaration(statement) || ts.isImportDeclaration(statement) || ts.isExportAssignment(statement)) continue
    for (const name of namesOf(statement)) all.set(name, [...(all.get(name) ?? []), statement])
  }
  return all
}

/** What a file imports: `{ file, name }`, without a name for a namespace. Only what is our own has a file. */
const importsOf = (file) => {
  const imports = new Map()
  for (const statement of declarationsOf(file).statements) {
    if (!ts.isImportDeclaration(statement) || statement.importClause === undefined) continue
    const { text } = statement.moduleSpecifier
    if (!text.startsWith(".")) continue
    const from = fileOf(file, text)
    const bindings = statement.importClause.namedBindings
    if (bindings === undefined) continue
    if (ts.isNamespaceImport(bindings)) imports.set(bindings.name.text, { file: from })
    else for (const _ of bindings.elements) imports.set(_.name.text, { file: from, name: (_.propertyName ?? _.name).text })
  }
  return imports
}

const memo = (f) => {
  const known = new Map()
  return (key) => {
    if (!known.has(key)) known.set(key, f(key))
    return known.get(key)
  }
}

const declared = memo(declaredIn)
const imported = memo(importsOf)

/** Where a name that a file exports is declared. */
const declarationOf = (file, name) => {
  const own = declared(file).get(name)
  if (own !== undefined) return { file, name, statements: own }
  for (const statement of declarationsOf(file).statements) {
    if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined || !ts.isNamedExports(statement.exportClause)) continue
    const element = statement.exportClause.elements.find((_) => _.name.text === name)
    if (element === undefined) continue
    const original = (element.propertyName ?? element.name).text
    return statement.moduleSpecifier === undefined
      ? declarationOf(file, original)
      : declarationOf(fileOf(file, statement.moduleSpecifier.text), original)
  }
  const there = imported(file).get(name)
  return there?.name === undefined ? undefined : declarationOf(there.file, there.name)
}

const path = (entity) => ts.isIdentifier(entity) ? [entity.text] : [...path(entity.left ?? entity.expression), (entity.right ?? entity.name).text]

const isTypeParameter = (node, name) => {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (at.typeParameters?.some((_) => _.name.text === name)) return true
    if (ts.isMappedTypeNode(at) && at.typeParameter.name.text === name) return true
    if (ts.isConditionalTypeNode(at) && /\binfer\b/.test(at.extendsType.getText()) && new RegExp(`\\binfer ${name}\\b`).test(at.extendsType.getText())) {
      return true
    }
  }
  return false
}

/** What of our own a node of a file speaks of. */
const spokenOf = (file, node) => {
  const found = []
  const add = (at, names) => {
    const [first, second] = names
    if (isTypeParameter(at, first)) return
    const there = imported(file).get(first)
    const target = there === undefined
      ? declared(file).has(first) ? declarationOf(file, first) : undefined
      : there.name === undefined ? second && declarationOf(there.file, second) : declarationOf(there.file, there.name)
    if (target !== undefined) found.push({ ...target, isValue: ts.isTypeQueryNode(at) || ts.isExpressionWithTypeArguments(at) })
  }
  const visit = (at) => {
    if (ts.isTypeReferenceNode(at)) add(at, path(at.typeName))
    else if (ts.isTypeQueryNode(at)) add(at, path(at.exprName))
    else if (ts.isExpressionWithTypeArguments(at)) add(at, path(at.expression))
    else if (ts.isImportTypeNode(at)) {
      const from = at.argument.literal.text
      const [name] = at.qualifier === undefined ? [] : path(at.qualifier)
      if (from.startsWith(".") && name !== undefined) {
        found.push({ ...declarationOf(fileOf(file, from), name), isValue: at.isTypeOf })
      }
    }
    ts.forEachChild(at, visit)
  }
  visit(node)
  return found
}

// ---------------------------------------------------------------------------------------------------------------------
// What users can name
// ---------------------------------------------------------------------------------------------------------------------

const keyOf = ({ file, name }) => `${file} ${name}`

/** The internal type that a public alias is another name for. */
const aliased = (statement) => ts.isTypeAliasDeclaration(statement) && ts.isTypeReferenceNode(statement.type) ? statement.type : undefined

/** What has a page of its own. Beside that, what has another name there can be named. */
const exported = new Set()
const nameable = new Set()
for (const { file } of modules) {
  for (const { name } of exportsOf(file)) {
    const { file: from, name: original, statements } = declarationOf(file, name)
    exported.add(keyOf({ file: from, name: original }))
    nameable.add(keyOf({ file: from, name: original }))
    for (const alias of statements.map(aliased).filter((_) => _ !== undefined)) {
      for (const _ of spokenOf(from, alias.typeName.parent)) nameable.add(keyOf(_))
    }
  }
}

/** What the exports of a module are made of beside what is public: `declare const`s, and types that should be public. */
const hiddenIn = (module, problems) => {
  const hidden = new Map()
  const visit = (from, name, file, statement) => {
    for (const target of spokenOf(file, statement)) {
      const key = keyOf(target)
      const isValue = target.statements.every((_) => ts.isVariableStatement(_))
      if (exported.has(key)) continue
      const isOurs = target.file === file
      if (!nameable.has(key) && !(isValue && isOurs)) {
        problems.push(`${from} speaks of ${target.name} of ${relative(root, target.file)}, which nobody can name`)
      }
      if (hidden.has(key)) continue
      hidden.set(key, target)
      for (const _ of target.statements) visit(from, target.name, target.file, _)
    }
  }
  for (const { name } of exportsOf(module.file)) {
    const { file, name: original, statements } = declarationOf(module.file, name)
    for (const statement of statements) visit(`${module.owner}/${module.name}.${name}`, original, file, statement)
  }
  return [...hidden.values()]
}

// ---------------------------------------------------------------------------------------------------------------------
// What is wrong
// ---------------------------------------------------------------------------------------------------------------------

const isReadonly = (node) => ts.getModifiers(node)?.some((_) => _.kind === ts.SyntaxKind.ReadonlyKeyword) ?? false

/** A member of a class is seen where it is not private. */
const isPrivate = (node) => ts.getModifiers(node)?.some((_) => _.kind === ts.SyntaxKind.PrivateKeyword) ?? false

/** `Data.TaggedError` and `Data.TaggedClass` say so themselves. */
const isOfEffect = (node) => node.parent.getText() === "Record<string, any>" && ts.isTypeParameterDeclaration(node.parent.parent)

const problemsOf = (where, statement) => {
  const problems = []
  const may = writable.has(where) || writable.has(where.split(".")[0])
  const visit = (node, isShape) => {
    if (node.kind === ts.SyntaxKind.AnyKeyword && !isOfEffect(node)) problems.push(`${where} has \`any\` in it: ${node.parent.getText().slice(0, 100)}`)
    if (!may && !isShape) {
      if ((ts.isPropertySignature(node) || ts.isIndexSignatureDeclaration(node)) && !isReadonly(node)) {
        problems.push(`${where} can be written to: ${node.getText().slice(0, 100)}`)
      }
      if (ts.isPropertyDeclaration(node) && !isReadonly(node) && !isPrivate(node)) {
        problems.push(`${where} can be written to: ${node.getText().slice(0, 100)}`)
      }
      const isList = ts.isArrayTypeNode(node) || (ts.isTypeReferenceNode(node) && node.typeName.getText() === "Array")
      if (isList && !ts.isTypeOperatorNode(node.parent)) problems.push(`${where} can be written to: ${node.getText().slice(0, 100)}`)
    }
    // The fields of a schema are no values.
    const isOfSchema = ts.isTypeReferenceNode(node) && path(node.typeName)[0] === "Schema"
    ts.forEachChild(node, (child) => visit(child, isShape || isOfSchema))
  }
  visit(statement, false)
  return problems
}

// ---------------------------------------------------------------------------------------------------------------------
// The pages
// ---------------------------------------------------------------------------------------------------------------------

const printer = ts.createPrinter({ removeComments: true })

const print = (node, source) => printer.printNode(ts.EmitHint.Unspecified, node, source)

const textOf = (node) => node.getText().replaceAll(/\s+/g, " ")

/** The types of the exported constants of a module that are long, by their text. A function is written out. */
const longTypesOf = (all) =>
  new Map(all.flatMap(({ name, statements }) =>
    statements.filter(ts.isVariableStatement).flatMap(({ declarationList: { declarations } }) =>
      declarations.filter((_) => _.name.getText() === name && _.type !== undefined && _.type.getText().length > 60 && !ts.isFunctionTypeNode(_.type))
        .map((_) => [textOf(_.type), { name, type: _.type }])
    )
  ))

/** `import("effect/Duration").Duration` as one would write it: where a declaration is, and what its file imports, is no part of it. */
const asWritten = ({ argument, qualifier, typeArguments }) => {
  const { factory } = ts
  const from = argument.literal.text.replace(/\.js$/, "").split("/")
  const isOfModule = !from.includes("internal") && /^[A-Z]/.test(from.at(-1))
  return factory.createTypeReferenceNode(
    isOfModule ? factory.createQualifiedName(factory.createIdentifier(from.at(-1)), qualifier) : qualifier,
    typeArguments
  )
}

/** A declaration without comments. A type that is that of a constant of the module, word by word, is `typeof` that constant. */
const printed = (statement, longTypes) => {
  const { factory } = ts
  const visit = (node) => {
    const known = ts.isTypeNode(node) ? longTypes.get(textOf(node)) : undefined
    if (known !== undefined && known.type !== node) return factory.createTypeQueryNode(factory.createIdentifier(known.name))
    const visited = ts.visitEachChild(node, visit, undefined)
    if (ts.isImportTypeNode(visited) && !visited.isTypeOf && ts.isIdentifier(visited.qualifier ?? visited)) return asWritten(visited)
    return ts.isTupleTypeNode(visited) ? ts.setEmitFlags(visited, ts.EmitFlags.SingleLine) : visited
  }
  return print(ts.visitNode(statement, visit), statement.getSourceFile())
}

const byName = (a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0

const codeOf = (all, longTypes) =>
  [...all].sort(byName)
    .map(({ statements }) => [...new Set(statements)].map((_) => printed(_, longTypes)).join("\n"))
    .join("\n\n")

const problems = []

const reports = modules.map((module) => {
  const all = exportsOf(module.file)
  const hidden = hiddenIn(module, problems)
  for (const { name, statements } of [...all, ...hidden]) {
    for (const _ of statements) problems.push(...problemsOf(`${module.owner}/${module.name}.${name}`, _))
  }
  if (!inIndex(module.owner).includes(module.name)) problems.push(`${module.owner}/${module.name} is not in index.ts`)
  const longTypes = longTypesOf(all)
  return { ...module, code: codeOf(all, longTypes), hidden: codeOf(hidden, longTypes) }
})

/** All at once, in the format of the sources: a line for each change of a type. */
const formatted = (texts) => {
  const mark = (i) => `export type Mark${i} = "mark"`
  const input = texts.map((text, i) => `${mark(i)}\n\n${text}\n`).join("\n")
  const output = execFileSync(join(root, "node_modules/.bin/dprint"), ["fmt", "--stdin", "report.ts"], {
    cwd: root,
    input,
    encoding: "utf8",
    maxBuffer: 100_000_000
  })
  return texts.map((_, i) => output.split(mark(i))[1].split(mark(i + 1))[0].trim())
}

const codes = formatted(reports.flatMap(({ code, hidden }) => [code, hidden]))

const pages = new Map(reports.map(({ name, owner }, i) => {
  const [code, hidden] = [codes[2 * i], codes[2 * i + 1]]
  const lines = [`# ${name}`, "", `\`@mcp-runtime/${owner}\`. Written by \`npm run api\`.`, "", "```ts", code, "```"]
  if (hidden !== "") lines.push("", "What these are made of, and nobody can import:", "", "```ts", hidden, "```")
  return [`packages/${owner}/api/${name}.api.md`, `${lines.join("\n")}\n`]
}))

const directories = packages.map((owner) => `packages/${owner}/api`)

const writeTo = (target) => {
  for (const directory of directories) {
    rmSync(join(target, directory), { recursive: true, force: true })
    mkdirSync(join(target, directory), { recursive: true })
  }
  for (const [page, text] of pages) writeFileSync(join(target, page), text)
}

const checkedIn = () =>
  directories.flatMap((directory) =>
    existsSync(join(root, directory)) ? readdirSync(join(root, directory)).map((_) => `${directory}/${_}`) : []
  )

const difference = () => {
  const known = checkedIn()
  const isSame = known.length === pages.size && known.every((_) => readFileSync(join(root, _), "utf8") === pages.get(_))
  if (isSame) return ""
  const target = mkdtempSync(join(tmpdir(), "mcp-api-"))
  try {
    writeTo(target)
    return directories.map((directory) => {
      const [before, after] = [root, target].map((_) => join(_, directory))
      mkdirSync(before, { recursive: true })
      return spawnSync("git", ["diff", "--no-index", "--no-color", before, after], { encoding: "utf8" }).stdout
        .replaceAll(`${target.slice(1)}${sep}`, "").replaceAll(root.slice(1), "")
    }).join("")
  } finally {
    rmSync(target, { recursive: true })
  }
}

if (problems.length > 0) {
  process.stderr.write(`${[...new Set(problems)].join("\n")}\n`)
  process.exitCode = 1
}
if (!process.argv.includes("--check")) {
  writeTo(root)
  process.stdout.write(`${pages.size} pages in ${directories.join(", ")}\n`)
} else {
  const changes = difference()
  if (changes !== "") {
    process.stderr.write(`${changes}\nThe public API is not what the report says. If that is meant: npm run api, and a changeset.\n`)
    process.exitCode = 1
  } else if (problems.length === 0) process.stdout.write(`${pages.size} pages: nothing has changed\n`)
}
