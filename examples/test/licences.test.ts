import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const script = fileURLToPath(new URL("../../.ci/licences.mjs", import.meta.url))
const root = fileURLToPath(new URL("../..", import.meta.url))

const digest = `sha512-${"A".repeat(86)}==`

/** A project with one published package, that has one dependency with one of its own, and one package to test with. */
const project = () => ({
  "package.json": {
    private: true,
    devDependencies: { tester: "1.0.0" },
    overrides: {},
    allowScripts: { tester: true }
  },
  "packages/one/package.json": {
    name: "one",
    scripts: { test: "vitest" },
    dependencies: { used: "1.0.0" },
    peerDependencies: { peer: "^1.0.0" }
  },
  "packages/inner/package.json": { name: "inner", private: true, scripts: { postinstall: "x" } },
  "node_modules/used/package.json": { license: "MIT" },
  "node_modules/deeper/package.json": { licenses: [{ type: "ISC" }] },
  "package-lock.json": {
    packages: {
      "": {},
      "packages/one": { name: "one", dependencies: { used: "1.0.0" }, peerDependencies: { peer: "^1.0.0" } },
      "node_modules/one": { link: true, resolved: "packages/one" },
      "node_modules/used": { version: "1.0.0", license: "MIT", integrity: digest, dependencies: { deeper: "*" } },
      "node_modules/deeper": { version: "1.0.0", license: "ISC", integrity: digest },
      "node_modules/peer": { version: "1.2.0", license: "(MIT OR GPL-3.0)", integrity: digest },
      "node_modules/tester": {
        version: "1.0.0",
        license: "Python-2.0",
        integrity: digest,
        hasInstallScript: true,
        resolved: "https://registry.npmjs.org/tester/-/tester-1.0.0.tgz"
      }
    }
  }
})

type Project = ReturnType<typeof project>

const examine = (change: (project: Project) => void) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "licences-"))
  try {
    const files = project()
    change(files)
    for (const [file, content] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(directory, file)), { recursive: true })
      fs.writeFileSync(path.join(directory, file), JSON.stringify(content))
    }
    return spawnSync(process.execPath, [script, directory], { encoding: "utf8" })
  } finally {
    fs.rmSync(directory, { recursive: true })
  }
}

type Entries = Record<string, Record<string, unknown>>

/** Changes the lockfile's entry of a package. */
const locked = (name: string, facts: Record<string, unknown>) => (project: Project) => {
  Object.assign((project["package-lock.json"].packages as Entries)[`node_modules/${name}`]!, facts)
}

const problems: Record<string, readonly [(project: Project) => void, string]> = {
  "a licence of a dependency that is not on the list": [
    locked("peer", { license: "GPL-3.0" }),
    `peer@1.2.0 (one): the licence "GPL-3.0" is not on the list`
  ],
  "one that is far below": [
    (project) => {
      locked("deeper", { license: "SSPL-1.0" })(project)
      project["node_modules/deeper/package.json"].licenses = [{ type: "SSPL-1.0" }]
    },
    `deeper@1.0.0 (one): the licence "SSPL-1.0" is not on the list`
  ],
  "one that is only good for tests": [
    locked("peer", { license: "Python-2.0" }),
    `peer@1.2.0 (one): the licence "Python-2.0" is not on the list`
  ],
  "one of two that both count": [
    locked("peer", { license: "(MIT AND GPL-3.0)" }),
    `"(MIT AND GPL-3.0)" is not on the list`
  ],
  "no licence": [locked("peer", { license: undefined }), `the licence "none" is not on the list`],
  "a licence to test with that is not on the list": [
    locked("tester", { license: "UNLICENSED" }),
    `tester@1.0.0 (only to build and test): the licence "UNLICENSED" is not on the list`
  ],
  "a file that nobody has read": [
    locked("tester", { license: "SEE LICENSE IN LICENSE" }),
    `the licence "SEE LICENSE IN LICENSE" is not on the list`
  ],
  "another licence than the lockfile says": [
    (project) => {
      project["node_modules/used/package.json"].license = "GPL-3.0"
    },
    `used@1.0.0: its licence is "GPL-3.0", in the lockfile it is "MIT"`
  ],
  "a script of ours that runs at an installation": [
    (project) => Object.assign(project["packages/one/package.json"].scripts, { prepare: "x" }),
    `one: its script "prepare" runs when it is installed`
  ],
  "a script of another package that is not allowed": [
    locked("deeper", { hasInstallScript: true }),
    `deeper: has a script that runs when it is installed, and is not in "allowScripts"`
  ],
  "a range": [
    (project) => {
      project["packages/one/package.json"].dependencies.used = "^1.0.0"
    },
    `packages/one: dependencies: used: "^1.0.0" is not an exact version`
  ],
  "a tag": [
    (project) => {
      project["package.json"].devDependencies.tester = "latest"
    },
    `package.json: devDependencies: tester: "latest" is not an exact version`
  ],
  "no digest": [
    locked("used", { integrity: undefined }),
    "package-lock.json: node_modules/used: has no SHA-512 digest"
  ],
  "a weak digest": [locked("used", { integrity: "sha1-abc=" }), "node_modules/used: has no SHA-512 digest"],
  "another registry": [
    locked("tester", { resolved: "https://evil.example/tester.tgz" }),
    `node_modules/tester: comes from "https://evil.example/tester.tgz"`
  ],
  "a repository": [locked("used", { resolved: "git+ssh://git@example.com/used.git#abc" }), `comes from "git+ssh://`]
}

describe("the check of what comes with the packages", () => {
  it("lets this project pass, with a row for each package", () => {
    const { status, stderr, stdout } = spawnSync(process.execPath, [script, root], { encoding: "utf8" })
    assert.strictEqual(stderr, "")
    assert.strictEqual(status, 0)
    for (const name of ["core", "node", "testing", "cli"]) {
      assert.match(stdout, new RegExp(`^@mcp-runtime/${name} `, "m"))
    }
  })

  it("lets an orderly project pass", () => {
    const { status, stderr, stdout } = examine(() => undefined)
    assert.strictEqual(stderr, "")
    assert.strictEqual(status, 0)
    assert.match(stdout, /^one +3 packages: MIT 1, ISC 1, \(MIT OR GPL-3\.0\) 1$/m)
    assert.match(stdout, /^only to build and test +1 packages: Python-2\.0 1$/m)
  })

  for (const [what, [change, problem]] of Object.entries(problems)) {
    it(`fails because of ${what}`, () => {
      const { status, stderr } = examine(change)
      assert.include(stderr, problem)
      assert.lengthOf(stderr.trim().split("\n"), 1)
      assert.strictEqual(status, 1)
    })
  }
})
