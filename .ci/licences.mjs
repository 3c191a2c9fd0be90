/**
 * What comes with our packages, without a question to the network: which licences, which scripts, in which versions.
 *
 *     node .ci/licences.mjs [directory of the project]
 *
 * Fails where a dependency has a licence that is not on its list, or another one than the lockfile says; where a script would
 * run when one of our packages is installed; where another script that runs at an installation is not in `allowScripts`;
 * where a version is not exact; and where the lockfile has something without a digest, or from elsewhere than the registry.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { needsOf, resolve } from "./lock.mjs"

/** What goes into applications. */
const forRuntime = new Set(["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Zlib", "BlueOak-1.0.0"])

/** What we only build and test with. */
const forDevelopment = new Set([...forRuntime, "Python-2.0", "CC0-1.0", "CC-BY-4.0", "Unlicense", "MPL-2.0"])

/** Only to build and test with. They point to a file, which was read: here, or in their repository where they come without it. */
const readByHand = new Map([
  ["@modelcontextprotocol/server-everything", "MIT"],
  ["@modelcontextprotocol/server-filesystem", "MIT"],
  ["@modelcontextprotocol/server-memory", "MIT"],
  ["@modelcontextprotocol/server-sequential-thinking", "MIT"],
  ["spawndamnit", "MIT"]
])

const registry = "https://registry.npmjs.org/"

/** Whether npm runs this when somebody installs the package. */
const installScripts = ["preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare"]

const exact = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

/** `(MIT OR GPL-3.0-or-later)`, `(MIT AND Zlib)`: each of an AND has to be allowed, one of an OR. They are not mixed in practice. */
const isAllowed = (licence, allowed) => {
  const text = licence.replace(/^\((.*)\)$/, "$1")
  if (/[()]/.test(text) || (text.includes(" OR ") && text.includes(" AND "))) return false
  return text.includes(" OR ")
    ? text.split(" OR ").some((_) => allowed.has(_))
    : text.split(" AND ").every((_) => allowed.has(_))
}

const read = (...path) => JSON.parse(readFileSync(join(...path), "utf8"))

const nameOf = (path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)

/** Where everything is that somebody gets who installs this workspace. */
const closureOf = (packages, workspace) => {
  const found = new Set()
  const take = (from, entry) => {
    for (const name of needsOf(entry)) {
      const path = resolve(packages, from, name)
      if (path === undefined || found.has(path)) continue
      found.add(path)
      const target = packages[path].link ? packages[path].resolved : path
      take(target, packages[target])
    }
  }
  // Its development dependencies are not among the needs.
  take(workspace, packages[workspace])
  return found
}

const checkLicences = (root, packages, workspaces, report) => {
  const groups = new Map(
    [...workspaces].flatMap(([path, manifest]) =>
      manifest.private ? [] : [[manifest.name, { allowed: forRuntime, paths: closureOf(packages, path) }]]
    )
  )
  const installed = Object.keys(packages).filter((path) => path.includes("node_modules/") && !packages[path].link)
  const atRuntime = new Set([...groups.values()].flatMap(({ paths }) => [...paths]))
  groups.set("only to build and test", {
    allowed: forDevelopment,
    paths: new Set(installed.filter((path) => !atRuntime.has(path)))
  })
  for (const [group, { allowed, paths }] of groups) {
    const counts = new Map()
    for (const path of paths) {
      const { license = "none", link, version } = packages[path]
      if (link) continue
      const manifest = join(root, path, "package.json")
      const own = existsSync(manifest) ? licenceOf(read(manifest)) : license
      counts.set(license, (counts.get(license) ?? 0) + 1)
      const byHand = allowed === forDevelopment && license.startsWith("SEE LICENSE") ? readByHand.get(nameOf(path)) : undefined
      if (!isAllowed(byHand ?? license, allowed)) {
        report.problem(`${nameOf(path)}@${version} (${group}): the licence "${license}" is not on the list`)
      }
      if (own !== license) {
        report.problem(`${nameOf(path)}@${version}: its licence is "${own}", in the lockfile it is "${license}"`)
      }
    }
    report.row(group, counts)
  }
}

/** Old packages have an object, or a list of them. */
const licenceOf = ({ license, licenses }) => {
  const one = license ?? (Array.isArray(licenses) && licenses.length === 1 ? licenses[0] : licenses)
  return (typeof one === "object" && one !== null ? one.type : one) ?? "none"
}

const checkScripts = (packages, rootManifest, workspaces, report) => {
  for (const { name, private: isPrivate, scripts = {} } of workspaces.values()) {
    for (const script of installScripts) {
      if (!isPrivate && script in scripts) report.problem(`${name}: its script "${script}" runs when it is installed`)
    }
  }
  const allowed = rootManifest.allowScripts ?? {}
  for (const [path, { hasInstallScript }] of Object.entries(packages)) {
    if (hasInstallScript && allowed[nameOf(path)] !== true) {
      report.problem(`${nameOf(path)}: has a script that runs when it is installed, and is not in "allowScripts"`)
    }
  }
}

const checkVersions = (manifests, report) => {
  for (const [path, manifest] of manifests) {
    for (const field of ["dependencies", "devDependencies", "optionalDependencies", "overrides"]) {
      for (const [name, version] of Object.entries(manifest[field] ?? {})) {
        if (!exact.test(version)) report.problem(`${path}: ${field}: ${name}: "${version}" is not an exact version`)
      }
    }
  }
}

const checkDigests = (lockfile, packages, report) => {
  for (const [path, { inBundle, integrity, link, resolved }] of Object.entries(packages)) {
    if (!path.includes("node_modules/") || link) continue
    const what = `${lockfile}: ${path}`
    if (!inBundle && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? "")) report.problem(`${what}: has no SHA-512 digest`)
    // Where it says nothing it is the registry.
    if (resolved !== undefined && !resolved.startsWith(registry)) report.problem(`${what}: comes from "${resolved}"`)
  }
}

const examine = (root) => {
  const problems = []
  const rows = []
  const report = { problem: (text) => problems.push(text), row: (group, counts) => rows.push([group, counts]) }
  const rootManifest = read(root, "package.json")
  const { packages } = read(root, "package-lock.json")
  const folders = readdirSync(join(root, "packages")).map((_) => `packages/${_}`)
  const workspaces = new Map(
    folders.filter((_) => existsSync(join(root, _, "package.json"))).map((_) => [_, read(root, _, "package.json")])
  )
  // What the benchmark installs by itself is not ours to give away, but it runs here.
  const others = [...workspaces.keys()].map((_) => `${_}/peers`).filter((_) => existsSync(join(root, _, "package.json")))
  checkLicences(root, packages, workspaces, report)
  checkScripts(packages, rootManifest, workspaces, report)
  checkVersions([["package.json", rootManifest], ...workspaces, ...others.map((_) => [_, read(root, _, "package.json")])], report)
  checkDigests("package-lock.json", packages, report)
  for (const path of others) checkDigests(`${path}/package-lock.json`, read(root, path, "package-lock.json").packages, report)
  return { problems, rows }
}

const write = (line) => process.stdout.write(`${line}\n`)

const { problems, rows } = examine(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)))
for (const [group, counts] of rows) {
  const total = [...counts.values()].reduce((sum, _) => sum + _, 0)
  const list = [...counts].sort(([, one], [, other]) => other - one).map(([licence, count]) => `${licence} ${count}`)
  write(`${group.padEnd(24)} ${String(total).padStart(4)} packages: ${list.join(", ") || "none"}`)
}
for (const problem of problems) process.stderr.write(`${problem}\n`)
if (problems.length > 0) process.exitCode = 1
else write("Licences, scripts, versions and digests are as they should be.")
