import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { resolve } from "../src/Tools.js"

const tool = (server: string, tool: string, name: string) => ({ server, tool, name })

describe("the tool that is meant", () => {
  const all = [tool("notes", "get", "notes__get"), tool("my notes", "add", "my_notes__add_3333333333")]

  it("is told by the name that agents see, with its server, or alone", () => {
    for (const written of ["my_notes__add_3333333333", "my notes/add", "my notes__add", "add"]) {
      assert.deepStrictEqual(resolve(written, all), Either.right(all[1]))
    }
    assert.deepStrictEqual(resolve("none", all), Either.left({ _tag: "Unknown" as const }))
  })

  it("is none of several that could be meant", () => {
    const [one, other] = [tool("x__y", "z__w", "x_y_z_w_1"), tool("x__y__z", "w", "x_y_z_w_2")]
    assert.deepStrictEqual(
      resolve("x__y__z__w", [one, other]),
      Either.left({ _tag: "Ambiguous" as const, tools: [one, other] })
    )
    assert.deepStrictEqual(resolve("x__y__z/w", [one, other]), Either.right(other))
    const seen = tool("x", "y__z__w", "x__y__z__w")
    assert.deepStrictEqual(resolve("x__y__z__w", [one, other, seen]), Either.right(seen))
  })
})
