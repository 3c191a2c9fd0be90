/**
 * The lockfile of a project that has only our packages: each tarball, and of our own lockfile whatever they need, in the same
 * versions. So npm asks no registry which versions there are, and finds the files in its cache after `npm ci`.
 *
 * What a package does not declare is not in it, and is not installed.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"

/** Where Node would find a dependency of the package at `from`. */
export const resolve = (packages, from, name) => {
  for (let at = from;; at = at.slice(0, Math.max(at.lastIndexOf("/node_modules/"), 0))) {
    const path = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`
    if (packages[path] !== undefined) return path
    if (at === "") return undefined
  }
}

const optionalPeers = ({ peerDependenciesMeta = {} }) =>
  new Set(Object.entries(peerDependenciesMeta).flatMap(([name, { optional }]) => (optional ? [name] : [])))

/** What npm installs with a package. */
export const needsOf = (entry) => {
  const optional = optionalPeers(entry)
  return [
    ...Object.keys(entry.dependencies ?? {}),
    ...Object.keys(entry.optionalDependencies ?? {}),
    ...Object.keys(entry.peerDependencies ?? {}).filter((name) => !optional.has(name))
  ]
}

/** `packages`: the manifest and the tarball of each. */
export const lockOf = (lockfile, packages) => {
  const all = JSON.parse(readFileSync(lockfile, "utf8")).packages
  const dependencies = Object.fromEntries(packages.map(({ file, manifest }) => [manifest.name, `file:${file}`]))
  const manifest = { name: "consumer", version: "1.0.0", private: true, type: "module", dependencies }
  const locked = { "": { name: manifest.name, version: manifest.version, dependencies } }

  const take = (from, entry) => {
    for (const name of needsOf(entry)) {
      if (dependencies[name] !== undefined) continue
      const path = resolve(all, from, name)
      if (path === undefined || locked[path] !== undefined) continue
      const { dev: _dev, devOptional: _devOptional, peer: _peer, ...found } = all[path]
      locked[path] = found
      take(path, found)
    }
  }
  for (const { file, manifest: { bin, engines, name, version, ...rest } } of packages) {
    const integrity = `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`
    const { dependencies, peerDependencies } = rest
    locked[`node_modules/${name}`] = {
      version,
      resolved: `file:${file}`,
      integrity,
      license: rest.license,
      ...(dependencies !== undefined && { dependencies }),
      ...(peerDependencies !== undefined && { peerDependencies }),
      ...(bin !== undefined && { bin }),
      engines
    }
    take("", rest)
  }
  return { manifest, lock: { name: manifest.name, version: manifest.version, lockfileVersion: 3, requires: true, packages: locked } }
}
