/**
 * Uses the packages as they would be published: packed, unpacked where nothing of this repository is but what they declare
 * as their dependencies, and imported by name without the condition for sources. Needs the build.
 */
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const target = mkdtempSync(join(tmpdir(), "mcp-smoke-"))
const run = (command, args, cwd) => execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })
const own = (name) => join(target, "node_modules", name)

try {
  const declared = new Set()
  for (const name of ["core", "node", "testing"]) {
    const source = join(root, "packages", name)
    const [packed] = JSON.parse(run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", target], source))
    const destination = own(`@mcp-runtime/${name}`)
    mkdirSync(destination, { recursive: true })
    run("tar", ["-xzf", join(target, packed.filename), "-C", destination, "--strip-components=1"], target)
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(destination, "package.json"), "utf8"))
    for (const dependency of Object.keys({ ...dependencies, ...peerDependencies })) declared.add(dependency)
  }
  for (const name of declared) {
    if (name.startsWith("@mcp-runtime/")) continue
    mkdirSync(dirname(own(name)), { recursive: true })
    symlinkSync(join(root, "node_modules", name), own(name))
  }
  copyFileSync(join(root, ".ci/smoke-session.mjs"), join(target, "session.mjs"))
  process.stdout.write(run(process.execPath, ["session.mjs"], target))
} finally {
  rmSync(target, { recursive: true, force: true })
}
