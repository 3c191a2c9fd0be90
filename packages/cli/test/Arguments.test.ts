import { assert, describe, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { processorMillis } from "../../core/test/processor.js"
import * as Argv from "../src/Argv.js"
import { type Failure, usage } from "../src/exit.js"
import * as CommandLine from "../src/input/commandLine.js"
import * as Durations from "../src/input/durations.js"
import * as Arguments from "../src/input/toolArguments.js"
import * as Progress from "../src/output/progress.js"
import { suggest } from "../src/suggest.js"

const inputSchema = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer", minimum: 3 },
    ratio: { type: "number" },
    loud: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { type: "integer" } },
    where: { $ref: "#/$defs/place" },
    maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
    mode: { enum: ["fast", "slow"] },
    any: {},
    "a.b": { type: "integer" }
  },
  required: ["text", "count", "mode"],
  $defs: { place: { type: "object", properties: { city: { type: "string" }, zip: { type: "integer" } } } }
}
const target: Arguments.Target = { name: "notes__add", inputSchema }

const files: { readonly [path: string]: string } = { "args.json": `{"text":"from a file"}`, "-": `{"text":"piped"}` }
const read = (path: string): Effect.Effect<string, Failure> =>
  path in files ? Effect.succeed(files[path]!) : Effect.fail(usage(`no ${path}`, []))

const parse = (...words: ReadonlyArray<string>) => Effect.runSync(Arguments.parse(words, target, read))
const fails = (...words: ReadonlyArray<string>) => Effect.runSync(Effect.flip(Arguments.parse(words, target, read)))

describe("arguments of tools", () => {
  it("key=value has the type that the tool asks for", () => {
    assert.deepStrictEqual(
      parse("text=12", "count=12", "ratio=-1.5e3", "loud=true", "maybe=null", "mode=fast", "any=7", "a.b=1"),
      { text: "12", count: 12, ratio: -1500, loud: true, maybe: null, mode: "fast", any: "7", "a.b": 1 }
    )
    assert.deepStrictEqual(parse("maybe=5"), { maybe: 5 })
    assert.deepStrictEqual(parse("text=a=b=c"), { text: "a=b=c" })
    assert.deepStrictEqual(parse("text=@home"), { text: "@home" })
  })

  it("lists, objects and nested keys", () => {
    assert.deepStrictEqual(parse("tags=a", "tags=b"), { tags: ["a", "b"] })
    assert.deepStrictEqual(parse(`tags=["a"]`, "sizes=1", "sizes=2"), { tags: ["a"], sizes: [1, 2] })
    assert.deepStrictEqual(parse("where.city=Oslo", "where.zip=150"), { where: { city: "Oslo", zip: 150 } })
    assert.deepStrictEqual(parse(`where={"city":"Oslo"}`), { where: { city: "Oslo" } })
  })

  it("JSON, files, stdin, explicit JSON", () => {
    assert.deepStrictEqual(parse(), {})
    assert.deepStrictEqual(parse(`{"text":"x"}`), { text: "x" })
    assert.deepStrictEqual(parse("@args.json"), { text: "from a file" })
    assert.deepStrictEqual(parse("-"), { text: "piped" })
    assert.deepStrictEqual(parse("@-"), { text: "piped" })
    assert.deepStrictEqual(parse("any:=[1,2]", "text:=3"), { any: [1, 2], text: 3 })
    assert.deepStrictEqual(parse("any:=@args.json"), { any: { text: "from a file" } })
  })

  it("a mistake names the argument, what is expected, and a line that would work", () => {
    const wrong = fails("count=many")
    assert.strictEqual(wrong.code, 2)
    assert.include(wrong.document.message, `count: expected integer, got "many"`)
    assert.include(wrong.text, "It takes: text, count: integer, mode: \"fast\" | \"slow\", [ratio: number]")
    assert.include(wrong.text, "mcp-runtime call notes__add text=text count=3 mode=fast")
    assert.include(fails("txt=a").text, `the tool has no argument "txt"`)
    assert.include(fails("txt=a").text, "Did you mean text?")
    assert.include(fails("where.cty=a").text, "Did you mean where.city?")
    assert.include(fails("mode=quick").text, `mode: expected "fast" | "slow"`)
    assert.include(fails("hello").text, "arguments are key=value")
    assert.include(fails("text=a", "text=b").text, "text is given twice")
    assert.include(fails("count=1.5").text, "expected integer")
    assert.include(fails("@nothing").text, "no nothing")
  })

  it("broken JSON is told without what is in it", () => {
    for (const text of [`{"token": "s3cret`, `{"token": s3cret}`, "[1]", "{", `any:={s3cret`]) {
      const { document, text: shown } = fails(text)
      assert.notInclude(shown + JSON.stringify(document), "s3cret")
    }
  })

  it("no name of a property does harm", () => {
    const open = { name: "x", inputSchema: { type: "object" } }
    const result = Effect.runSync(Arguments.parse(["__proto__=1", "constructor=2"], open, read))
    assert.deepStrictEqual(Object.entries(result), [["__proto__", "1"], ["constructor", "2"]])
    assert.isUndefined(({} as { readonly polluted?: unknown }).polluted)
  })

  it("schemas may be anything", () => {
    const circular = { $ref: "#" }
    for (
      const inputSchema of [{}, circular, { properties: null, required: 3 }, { properties: { a: circular, b: 7 } }]
    ) {
      const any = { name: "x", inputSchema }
      Effect.runSync(Effect.either(Arguments.parse(["a=1"], any, read)))
      assert.match(Arguments.callLine(any), /^mcp-runtime call x/)
    }
  })
})

describe("the command line", () => {
  const commands = new Map([["call", []], ["tools", []], ["config", ["check"]]])
  const words = (...args: ReadonlyArray<string>) => {
    const parsed = Argv.parse(args, commands)
    return Either.isRight(parsed) ? parsed.right.words.slice(2).map(Argv.unshield) : parsed.left.text
  }

  it("options may stand anywhere", () => {
    const expected = ["call", "--json=true", "--server", "a", "--", "add", "x=1"]
    assert.deepStrictEqual(words("call", "add", "x=1", "--json", "--server", "a"), expected)
    assert.deepStrictEqual(words("--json", "--server=a", "call", "add", "x=1"), expected)
    assert.deepStrictEqual(words("call", "--json", "add", "--server", "a", "x=1"), expected)
  })

  it("what follows -- and what is no option is an argument", () => {
    assert.deepStrictEqual(words("call", "add", "--", "--json", "-x"), ["call", "--", "add", "--json", "-x"])
    assert.deepStrictEqual(words("call", "add", "-", "-5"), ["call", "--", "add", "-", "-5"])
    assert.deepStrictEqual(words("config", "check", "--json"), ["config", "check", "--json=true", "--"])
  })

  it("mistakes are met with what was meant", () => {
    assert.include(words("tolls"), "Did you mean mcp-runtime tools?")
    assert.include(words("tools", "--sever", "a"), "Did you mean --server?")
    assert.include(words("tools", "--server"), "--server needs a value")
    assert.include(words("tools", "--json=x"), "--json takes no value")
    assert.include(words("config"), "mcp-runtime config check")
    assert.include(words("config", "chek"), "mcp-runtime config check")
  })

  it("an option with nothing in it is a mistake: a variable that is not set would mean all servers, or other files", () => {
    for (const option of ["server", "config", "url", "command", "timeout", "header", "env"]) {
      for (const given of [[`--${option}=`], [`--${option}`, ""]]) {
        assert.include(words("tools", ...given), `--${option} needs a value`, given.join(" "))
      }
    }
    assert.deepStrictEqual(words("call", "add", "x="), ["call", "--", "add", "x="])
    assert.deepStrictEqual(words("call", "add", ""), ["call", "--", "add", ""])
  })

  it("help is of the command before it", () => {
    assert.deepStrictEqual(
      Either.map(Argv.parse(["call", "x", "--help"], commands), (_) => _.help),
      Either.right(["call"])
    )
    assert.deepStrictEqual(Either.map(Argv.parse([], commands), (_) => _.help), Either.right([]))
  })

  it("times and commands", () => {
    const millis = (text: string) => Either.getOrElse(Durations.millis("timeout", text), (_) => _.document.tag)
    assert.deepStrictEqual(["5000", "5s", "1.5 s", "2m", "250ms", "0", "soon", "-1", "9e9", "99999h"].map(millis), [
      5000,
      5000,
      1500,
      120_000,
      250,
      0,
      "Usage",
      "Usage",
      "Usage",
      "Usage"
    ])
    const split = (text: string) => Either.merge(CommandLine.split(text))
    assert.deepStrictEqual(split(`npx -y "a b" 'c "d"' e\\ f ""`), ["npx", "-y", "a b", `c "d"`, "e f", ""])
    assert.strictEqual(split(`a "b`), `a quote (") is not closed`)
    assert.strictEqual(split("  "), "it is empty")
  })

  it("close names are suggested, in bounded time", () => {
    assert.deepStrictEqual(suggest("add_not", ["add_note", "count"]), ["add_note"])
    assert.deepStrictEqual(suggest("zzz", ["add_note", "count"]), [])
    const many = Array.from({ length: 50_000 }, (_, i) => `${"x".repeat(100)}${i}`)
    const startedAt = processorMillis()
    suggest("y".repeat(100), many)
    assert.isBelow(processorMillis() - startedAt, 5000)
  })

  it("progress of any server is a bar of the same length", () => {
    assert.strictEqual(Progress.describe({ progress: 1, total: 4 }), `[${"█".repeat(6)}${"░".repeat(18)}] 25% 1/4`)
    assert.strictEqual(
      Progress.describe({ progress: 9, total: 4, message: "a\u001b[2Jb" }),
      `[${"█".repeat(24)}] 100% 9/4 a␛[2Jb`
    )
    for (const total of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, undefined]) {
      assert.strictEqual(Progress.describe({ progress: 3, total }), "3")
    }
    assert.include(Progress.describe({ progress: Number.NaN, total: 4 }), "0%")
  })
})
