import { assert, describe, it } from "@effect/vitest"
import { processorMillis } from "../../core/test/processor.js"
import { similar } from "../src/doctor/similar.js"

describe("similar", () => {
  const tools = ["read_file", "read_multiple_files", "write_file", "list_directory", "echo", "add", "get-sum"]
  const table: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["raed_file", ["read_file"]],
    ["readFile", ["read_file"]],
    ["read-file", ["read_file"]],
    ["READ_FILE", ["read_file"]],
    ["ehco", ["echo"]],
    ["ad", ["add"]],
    ["list_dir", ["list_directory"]],
    ["get_sum", ["get-sum"]],
    ["delete", []],
    ["", []],
    ["x", []],
    ["x".repeat(100_000), []]
  ]
  for (const [written, names] of table) {
    it(`${JSON.stringify(written.slice(0, 20))} -> ${names.join(", ") || "nothing"}`, () => {
      assert.deepStrictEqual(similar(written, tools), names)
    })
  }

  it("commands: nodee, pyhton3, npxx", () => {
    const programs = ["node", "npm", "npx", "python3", "ls", "sh", "nologin"]
    assert.deepStrictEqual(similar("nodee", programs)[0], "node")
    assert.deepStrictEqual(similar("pyhton3", programs), ["python3"])
    assert.deepStrictEqual(similar("npxx", programs)[0], "npx")
  })

  it("names three at most, the closest first, and takes a name that every object has for what it is", () => {
    assert.deepStrictEqual(similar("tool", ["tool5", "tool1", "tool2", "tool3", "toll"]), ["toll", "tool1", "tool2"])
    assert.deepStrictEqual(similar("construktor", ["constructor", "__proto__"]), ["constructor"])
  })

  it("is quick for many long names", () => {
    const names = Array.from({ length: 20_000 }, (_, i) => `some_tool_with_a_long_name_${i}`)
    const before = processorMillis()
    similar("some_tool_with_a_lnog_name_77", names)
    assert.isBelow(processorMillis() - before, 3000)
  })
})
