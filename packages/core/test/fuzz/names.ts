/**
 * Names of tools, as hostile servers choose them, and the patterns of filters.
 *
 * Holds: as many names as tools, all different, none reserved, of the characters and the length that models take; the same
 * whatever the order; a pattern means what a slow matcher says.
 */
import { ToolNaming } from "@mcp-runtime/core"
import { Either, FastCheck } from "effect"
import * as Matcher from "../../src/internal/toolset/nameMatcher.js"
import { holds, same } from "./kit/holds.js"
import { texts } from "./kit/hostile.js"
import { part } from "./kit/part.js"
import { shows } from "./oracles.js"

const word = FastCheck.oneof(
  texts,
  FastCheck.constantFrom("a", "a_", "a__b", "_", "-", "a-b", "A", "mcp", "a_0123456789", "x".repeat(70), "検索", "😀"),
  FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "_", "-", "A", ".", "é"), maxLength: 6 }),
  FastCheck.constantFrom("https://u:p@h.example/x?y=1", "sse: http://h/", "streamable_http: http://[::1]:99999/")
)

const identity = FastCheck.record({ server: word, tool: word })

const { ohMyPi, openAiAgents, prefixed, pydanticAi, raw } = ToolNaming

const namings = { prefixed, openAiAgents, ohMyPi, raw, pydanticAi }

const modes = ["prefixed", "openAiAgents", "ohMyPi", "raw", "pydanticAi"] as const

const fine = /^[A-Za-z0-9_-]{1,64}$/

const keyOf = (_: ToolNaming.ToolIdentity): string => JSON.stringify([_.server, _.tool])

const byIdentity = (tools: ReadonlyArray<ToolNaming.ToolIdentity>, names: ReadonlyArray<string>) =>
  tools.map((_, i) => `${keyOf(_)} ${names[i]}`).sort()

const many = (size: number, tool: (i: number) => ToolNaming.ToolIdentity) => {
  const tools = Array.from({ length: size }, (_, i) => tool(i))
  const reserved = new Set<string>()
  return () => modes.slice(0, 3).map((mode) => namings[mode].names(tools, reserved))
}

export const namesPart = part({
  name: "names",
  about: "names are different, allowed, and the same in any order",
  inputs: 1000,
  share: 1,
  input: FastCheck.record({
    mode: FastCheck.constantFrom(...modes),
    tools: FastCheck.array(identity, { maxLength: 12 }),
    again: FastCheck.array(FastCheck.nat({ max: 11 }), { maxLength: 3 }),
    reserve: FastCheck.array(FastCheck.nat({ max: 11 }), { maxLength: 3 }),
    order: FastCheck.infiniteStream(FastCheck.nat({ max: 1000 })).map((_) => [..._.take(20)])
  }),
  check: ({ again, mode, order, reserve, tools: given }) => {
    const naming = namings[mode]
    const tools = [...given, ...again.flatMap((i) => given[i] ?? [])]
    const free = naming.names(tools, new Set())
    const wanted = Either.getOrElse(free, () => tools.map((_) => _.tool))
    const reserved = new Set(reserve.flatMap((i) => wanted[i] ?? []))
    const named = naming.names(tools, reserved)
    const shuffled = tools.map((tool, i) => ({ tool, by: order[i]! })).sort((a, b) => a.by - b.by).map((_) => _.tool)
    const again_ = naming.names(shuffled, reserved)
    if (Either.isLeft(named)) {
      holds(mode === "raw" || mode === "pydanticAi", `${mode} fails`)
      holds(Either.isLeft(again_), "it fails in one order only")
      shows(named.left, "names")
      return same(again_.left.names, named.left.names, "what clashes, in another order")
    }
    holds(Either.isRight(again_), "it fails in another order only")
    const names = named.right
    same(names.length, tools.length, "how many names")
    same(new Set(names).size, names.length, "how many different names")
    holds(!names.some((_) => reserved.has(_)), "a reserved name is given")
    if (mode !== "raw" && mode !== "pydanticAi") {
      for (const name of names) holds(fine.test(name), `the name ${JSON.stringify(name)}`)
    }
    same(byIdentity(shuffled, again_.right), byIdentity(tools, names), "names in another order")
  },
  growths: [
    { name: "different tools", from: 200, run: (size) => many(size, (i) => ({ server: "s", tool: `t${i}` })) },
    { name: "one tool, listed often", from: 200, run: (size) => many(size, () => ({ server: "s", tool: "t" })) },
    {
      name: "tools that become one name",
      from: 200,
      run: (size) => many(size, (i) => ({ server: "s", tool: `${".".repeat(i % 97)}${i % 7}` }))
    },
    {
      name: "a long name",
      from: 2000,
      run: (size) => many(1, () => ({ server: "_".repeat(size), tool: "-_é".repeat(size) }))
    }
  ]
})

/** Every way to match, counted in a table: no step of it is clever. */
const slowly = (pattern: ArrayLike<string>, name: ArrayLike<string>): boolean => {
  let row = Array.from({ length: name.length + 1 }, (_, i) => i === 0)
  for (let p = 0; p < pattern.length; p++) {
    const next: Array<boolean> = [row[0]! && pattern[p] === "*"]
    for (let n = 0; n < name.length; n++) {
      next.push(
        pattern[p] === "*" ? row[n + 1]! || next[n]! : row[n]! && (pattern[p] === "?" || pattern[p] === name[n])
      )
    }
    row = next
  }
  return row[name.length]!
}

const unit = FastCheck.constantFrom("a", "b", "a", "*", "?", "😀", "\ud83d", "_", "é")
/** Of few characters, so that parts of a pattern overlap in a name. */
const few = FastCheck.constantFrom("a", "b", "*")
const pattern = FastCheck.oneof(
  FastCheck.string({ unit, maxLength: 10 }),
  FastCheck.string({ unit: few, minLength: 2, maxLength: 6 })
)

/** A name that fits the first pattern, or would, had it one character more. */
interface Nearly {
  readonly fill: string
  readonly without: number | undefined
}

const nearly: FastCheck.Arbitrary<Nearly> = FastCheck.record({
  fill: FastCheck.constantFrom("", "", "a", "ab", "😀"),
  without: FastCheck.option(FastCheck.nat({ max: 8 }), { nil: undefined })
})

const nearlyOf = (pattern: string, { fill, without }: Nearly): string => {
  const name = pattern.replaceAll("*", fill)
  return without === undefined ? name : name.slice(0, without) + name.slice(without + 1)
}

const matching = (pattern: string, name: string) => () => Matcher.make([pattern]).has(name)

export const filtersPart = part({
  name: "filters",
  about: "a pattern means what a slow matcher says",
  inputs: 3000,
  share: 2,
  input: FastCheck.record({
    patterns: FastCheck.array(FastCheck.oneof({ arbitrary: pattern, weight: 5 }, { arbitrary: texts, weight: 1 }), {
      maxLength: 4
    }),
    given: FastCheck.oneof(
      FastCheck.string({ unit, maxLength: 14 }),
      FastCheck.string({ unit: few, maxLength: 4 }),
      texts,
      nearly
    )
  }),
  check: ({ given, patterns }) => {
    const name = typeof given === "string" ? given : nearlyOf(patterns[0] ?? "", given)
    // With a "?", a character is one of two units; without, units are as good.
    const expected = patterns.some((_) =>
      Matcher.isGlob(_) ? _.includes("?") ? slowly([..._], [...name]) : slowly(_, name) : _ === name
    )
    same(Matcher.make(patterns).has(name), expected, "whether it matches")
  },
  growths: [
    { name: "a long name", from: 5000, run: (size) => matching("*a*b*c*", "ab".repeat(size)) },
    { name: "a long name and ?", from: 5000, run: (size) => matching("*a?*b?c", "ab".repeat(size)) },
    { name: "many stars", from: 5000, run: (size) => matching("*".repeat(size), "a") }
  ]
})
