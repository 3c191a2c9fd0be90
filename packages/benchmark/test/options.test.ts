/**
 * What the command can be told, who takes part, and on which Node.
 */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse } from "../src/options.js"
import { runsOn } from "../src/peers/fitness.js"
import { adapterOf, folder } from "../src/peers/folder.js"
import { fittingNode } from "../src/peers/node.js"
import { allRows } from "../src/rows/all.js"
import { everyone, isPeer, packages, peers } from "../src/who.js"

const manifest = (url: URL) =>
  JSON.parse(readFileSync(fileURLToPath(url), "utf8")) as {
    readonly dependencies?: { readonly [name: string]: string }
    readonly devDependencies?: { readonly [name: string]: string }
  }

describe("the options", () => {
  it("are all optional", () => {
    const { conclusive, node, only, out, profile, who } = parse([])
    assert.deepStrictEqual({ conclusive, node, only, out, profile, who }, {
      conclusive: true,
      node: "fitting",
      only: undefined,
      out: undefined,
      profile: [],
      who: everyone
    })
  })

  it("make a short run, a part of one, and one without other clients", () => {
    assert.isFalse(parse(["--quick"]).conclusive)
    assert.strictEqual(parse(["--only", "stdio"]).only, "stdio")
    assert.deepStrictEqual(parse(["--peers", "none"]).who.filter(isPeer), [])
    assert.include(parse(["--peers", "none"]).who, "sdk")
  })

  it("are refused where they make no sense", () => {
    assert.throws(() => parse(["--peers", "some"]), /--peers wants one of none, all/)
    assert.throws(() => parse(["--node", "22"]), /--node wants one of/)
    assert.throws(() => parse(["--profile", "nobody"]), /--profile wants one of/)
    assert.throws(() => parse(["--nonsense"]), /--nonsense/)
    assert.throws(() => parse(["word"]), /word/)
  })
})

describe("the rows", () => {
  it("have names of their own", () => {
    assert.isAbove(allRows.length, 15)
    assert.strictEqual(new Set(allRows.map((_) => _.name)).size, allRows.length)
  })
})

describe("the peers", () => {
  const { dependencies = {} } = manifest(new URL("package.json", folder))

  it("have an adapter each, and a version of their package", () => {
    for (const peer of peers) {
      assert.isTrue(existsSync(adapterOf(peer)), peer)
      assert.match(dependencies[packages[peer]] ?? "none", /^\d+\.\d+\.\d+$/, peer)
    }
  })

  it("have the SDK in the version that it is measured in", () => {
    const name = "@modelcontextprotocol/sdk"
    assert.strictEqual(
      dependencies[name],
      manifest(new URL("../package.json", import.meta.url)).devDependencies?.[name]
    )
  })

  it("run on a Node that is new enough for them", () => {
    assert.isTrue(runsOn("v22.13.0", ">=22.13.0"))
    assert.isTrue(runsOn("v24.0.0", ">=22.13"))
    assert.isFalse(runsOn("v22.12.9", ">=22.13.0"))
    assert.isFalse(runsOn("v20.20.2", ">= 22"))
    assert.isTrue(runsOn("v20.20.2", undefined))
    assert.isUndefined(fittingNode("v999.0.0"))
  })
})
