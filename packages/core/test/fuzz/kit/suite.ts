/**
 * The parts of the fuzz as tests of the normal run: a fixed seed, few inputs.
 *
 * `MCP_FUZZ=20` has twenty times as many inputs, `MCP_FUZZ_SEED=7` others.
 */
import { assert, describe, it } from "@effect/vitest"
import { grow } from "./growth.js"
import type { Failure, Part } from "./part.js"

const times = Number(process.env.MCP_FUZZ ?? 1)
const seed = Number(process.env.MCP_FUZZ_SEED ?? 20261119)

export const suite = (part: Part): void => {
  describe(`fuzz: ${part.name}`, () => {
    it(part.about, { timeout: 120_000 * Math.max(1, times) }, async () => {
      const { failure } = await part.run({ seed, inputs: part.inputs * times })
      if (failure !== undefined) assert.fail(told(part.name, seed, failure))
    })
    for (const growth of part.growths) {
      it(`costs in proportion: ${growth.name}`, { timeout: 120_000 }, () => {
        const { isFine, ratio, size } = grow(growth)
        assert(isFine, `eight times the size of ${size} costs ${ratio.toFixed(0)} times as much`)
      })
    }
  })
}

export const told = (name: string, seed: number, { counterexample, error, path, shrinks }: Failure): string =>
  `after ${shrinks} shrinks; again: npm run fuzz -- --only ${name} --seed ${seed} --path ${path}\n` +
  `${counterexample}\n${error}`
