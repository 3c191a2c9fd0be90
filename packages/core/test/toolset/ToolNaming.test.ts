import { assert, describe, it } from "@effect/vitest"
import * as ToolNaming from "@mcp-runtime/core/ToolNaming"
import { Array as Arr, Either, FastCheck, Schema } from "effect"
import { createHash } from "node:crypto"
import { sha1 } from "../../src/internal/toolset/sha1.js"
import { wyhash } from "../../src/internal/toolset/wyhash.js"

type Tools = ReadonlyArray<ToolNaming.ToolIdentity>

const none: ReadonlySet<string> = new Set()

const tool = (server: string, tool: string): ToolNaming.ToolIdentity => ({ server, tool })

/** `"server|tool"`, split at the first bar. */
const tools = (...texts: ReadonlyArray<string>): Tools =>
  texts.map((text) => tool(text.slice(0, text.indexOf("|")), text.slice(text.indexOf("|") + 1)))

const named = (naming: ToolNaming.ToolNaming, tools: Tools, reserved = none): ReadonlyArray<string> =>
  Either.getOrThrow(naming.names(tools, reserved))

const clashOf = (naming: ToolNaming.ToolNaming, tools: Tools, reserved = none): ToolNaming.NamesClash => {
  const result = naming.names(tools, reserved)
  assert(Either.isLeft(result), "expected a clash")
  return result.left
}

const one = (naming: ToolNaming.ToolNaming, server: string, name: string): string =>
  named(naming, [tool(server, name)])[0]!

const keyOf = (_: ToolNaming.ToolIdentity): string => JSON.stringify([_.server, _.tool])

const digest = (text: string): string => createHash("sha1").update(text, "utf8").digest("hex")

const modes = {
  prefixed: ToolNaming.prefixed,
  openAiAgents: ToolNaming.openAiAgents,
  ohMyPi: ToolNaming.ohMyPi
} as const

/** Few letters and short, so that names meet; and what sanitizing, cutting and folding turn on. */
const anyName: FastCheck.Arbitrary<string> = FastCheck.oneof(
  {
    weight: 6,
    arbitrary: FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "_", "-", "A", "1"), maxLength: 4 })
  },
  {
    weight: 2,
    arbitrary: FastCheck.string({ unit: FastCheck.constantFrom("a", "_", ".", " ", "日", "😀"), maxLength: 4 })
  },
  { weight: 1, arbitrary: FastCheck.string({ unit: "binary", maxLength: 8 }) },
  {
    weight: 1,
    arbitrary: FastCheck.integer({ min: 20, max: 300 }).map((length) => "long_name".repeat(40).slice(0, length))
  },
  {
    weight: 1,
    arbitrary: FastCheck.constantFrom(
      "__proto__",
      "constructor",
      "a\0b",
      "\ud800",
      "\udfff",
      "a_0123456789",
      "0123456789",
      "\u202ename",
      "İ",
      "sse: https://u:p@h/x?y"
    )
  }
)

const anyTool: FastCheck.Arbitrary<ToolNaming.ToolIdentity> = FastCheck.record({ server: anyName, tool: anyName })

const distinctTools = FastCheck.uniqueArray(anyTool, { maxLength: 40, selector: keyOf })

/** Names that somebody might have: those that some of these tools would get, and those that they would get instead. */
const withReserved = (naming: ToolNaming.ToolNaming, some: FastCheck.Arbitrary<Tools>) =>
  FastCheck.record({ tools: some, picks: FastCheck.array(FastCheck.nat(1000), { maxLength: 6 }) }).map(
    ({ picks, tools }) => {
      const reserved = new Set<string>()
      for (const pick of picks) {
        const names = named(naming, tools, reserved)
        if (names.length > 0) reserved.add(names[pick % names.length]!)
      }
      return { reserved, tools }
    }
  )

const shuffled = <A>(items: ReadonlyArray<A>, seed: number): Array<A> =>
  items.map((item, index) => ({ item, at: digest(`${seed} ${index}`) }))
    .sort((a, b) => a.at < b.at ? -1 : 1)
    .map((_) => _.item)

const byKey = (tools: Tools, names: ReadonlyArray<string>): ReadonlyMap<string, string> =>
  new Map(tools.map((tool, index) => [keyOf(tool), names[index]!]))

describe("hashes", () => {
  it("sha1 is SHA-1: every length around a block, and any text", () => {
    for (let length = 0; length < 200; length++) {
      const text = "x".repeat(length)
      assert.strictEqual(sha1(text), digest(text), `length ${length}`)
    }
    const long = "日本語😀".repeat(20_000)
    assert.strictEqual(sha1(long), digest(long))
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary", maxLength: 300 }), (text) => sha1(text) === digest(text)),
      { numRuns: 500 }
    )
  })

  it("wyhash is Bun.hash: published values", () => {
    const letters = "abcdefghijklmnopqrstuvwxyz"
    const values: ReadonlyArray<readonly [string, bigint, bigint]> = [
      ["", 0n, 0x0409638ee2bde459n],
      ["a", 1n, 0xa8412d091b5fe0a9n],
      ["abc", 2n, 0x32dd92e4b2915153n],
      ["message digest", 3n, 0x8619124089a3a16bn],
      [letters, 4n, 0x7a43afb61d7f5f40n],
      [`${letters.toUpperCase()}${letters}0123456789`, 5n, 0xff42329b90e50d58n],
      ["1234567890".repeat(8), 6n, 0xc39cab13b115aad3n],
      ["some data here", 0n, 11562320457524636935n],
      ["some data here", 1234n, 15724820720172937558n]
    ]
    for (const [text, seed, value] of values) assert.strictEqual(wyhash(text, seed), value, text)
  })
})

describe("every mode that never fails", () => {
  for (const naming of Object.values(modes)) {
    it(`${naming.mode}: one valid name for each, in order, all different, none reserved, none changed by order`, () => {
      FastCheck.assert(
        FastCheck.property(withReserved(naming, distinctTools), FastCheck.nat(), ({ reserved, tools }, seed) => {
          const names = named(naming, tools, reserved)
          assert.strictEqual(names.length, tools.length)
          assert.strictEqual(new Set(names).size, names.length)
          for (const name of names) {
            assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
            assert.isFalse(reserved.has(name))
          }
          assert.deepStrictEqual(names, named(naming, tools, reserved))
          const others = shuffled(tools, seed)
          const expected = byKey(tools, names)
          for (const [key, name] of byKey(others, named(naming, others, reserved))) {
            assert.strictEqual(name, expected.get(key), key)
          }
        }),
        { numRuns: 400 }
      )
    })

    it(`${naming.mode}: a tool that is listed several times: the names are the same in every order`, () => {
      FastCheck.assert(
        FastCheck.property(
          FastCheck.array(anyTool, { maxLength: 8 }),
          FastCheck.integer({ min: 1, max: 4 }),
          FastCheck.nat(),
          (some, times, seed) => {
            const tools = Array.from({ length: times }, () => some).flat()
            const names = named(naming, tools)
            assert.strictEqual(new Set(names).size, tools.length)
            for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
            const others = shuffled(tools, seed)
            const pairs = (tools: Tools, names: ReadonlyArray<string>) =>
              tools.map((tool, index) => `${keyOf(tool)} ${names[index]!}`).sort()
            assert.deepStrictEqual(pairs(others, named(naming, others)), pairs(tools, names))
          }
        ),
        { numRuns: 200 }
      )
    })

    it(`${naming.mode}: a tool that is listed 3,000 times costs no more than its hashes`, () => {
      const many = Array.from({ length: 3000 }, () => tool("web", "search"))
      assert.strictEqual(new Set(named(naming, many)).size, 3000)
    })

    it(`${naming.mode}: names that are hashed alike cost no more than their hashes, and are the same in every order`, () => {
      // Lone surrogates, of which each counts as U+FFFD.
      const digit = (i: number, place: number) => String.fromCharCode(0xd800 + ((i >> (3 * place)) & 7))
      const many = Array.from({ length: 6000 }, (_, i) => tool("web", [0, 1, 2, 3, 4].map((_) => digit(i, _)).join("")))
      const names = named(naming, many)
      assert.strictEqual(new Set(names).size, 6000)
      assert.deepStrictEqual(Arr.reverse(named(naming, Arr.reverse(many))), names)
    })

    it(`${naming.mode}: no tools, no names`, () => assert.deepStrictEqual(named(naming, []), []))
  }

  it("what is given is not changed, frozen or not", () => {
    const frozen = Object.freeze([Object.freeze(tool("b", "x y")), Object.freeze(tool("a", "x y")), tool("a", "x y")])
    for (const naming of Object.values(modes)) named(naming, frozen)
    assert.deepStrictEqual(frozen, [tool("b", "x y"), tool("a", "x y"), tool("a", "x y")])
  })
})

describe("prefixed", () => {
  const { prefixed } = ToolNaming
  const hashOf = (server: string, tool: string, ...attempt: ReadonlyArray<number>) =>
    digest(JSON.stringify([server, tool, ...attempt])).slice(0, 10)

  it("a name that nothing else could have stays as it is", () => {
    assert.deepStrictEqual(
      named(prefixed, tools("web|search", "web|_x", "my-files|Read_File", "1|2", "a_b|c__d", "a|b_c", "a_b|c", "A|b")),
      ["web__search", "web___x", "my-files__Read_File", "1__2", "a_b__c__d", "a__b_c", "a_b__c", "A__b"]
    )
    assert.strictEqual(one(prefixed, "s".repeat(30), "t".repeat(32)), `${"s".repeat(30)}__${"t".repeat(32)}`)
  })

  it("all others get a hash of server and tool: other characters, empty, ambiguous, too long, like a hash", () => {
    const stems: ReadonlyArray<readonly [string, string, string]> = [
      ["web", "a.b", "web__a_b"],
      ["web", "a..%b ", "web__a_b"],
      ["my server", "x", "my_server__x"],
      ["日本", "検索", "server__tool"],
      ["", "", "server__tool"],
      ["web", "", "web__tool"],
      ["web", "\ud800", "web__tool"],
      ["web", "\n", "web__tool"],
      ["a__b", "c", "a_b__c"],
      ["a_", "b", "a__b"],
      ["web", "get_0123456789", "web__get_0123456789"],
      ["web", "0123456789", "web__0123456789"],
      ["s".repeat(31), "t".repeat(32), `${"s".repeat(24)}__${"t".repeat(27)}`],
      ["s".repeat(256), "read", `${"s".repeat(47)}__read`],
      ["web", "t".repeat(5000), `web__${"t".repeat(48)}`],
      [`${"s".repeat(23)}_${"s".repeat(30)}`, "t".repeat(90), `${"s".repeat(23)}__${"t".repeat(28)}`],
      ["web", `${"t".repeat(47)}-${"t".repeat(30)}`, `web__${"t".repeat(47)}`]
    ]
    for (const [server, name, stem] of stems) {
      assert.strictEqual(one(prefixed, server, name), `${stem}_${hashOf(server, name)}`)
    }
  })

  it("the example of its documentation", () =>
    assert.deepStrictEqual(named(prefixed, tools("web|search", "web|検索")), ["web__search", "web__tool_5d89c85398"]))

  it("3B.7 20: identities that other systems take for one have names of their own", () => {
    const alike = [
      ...tools(
        "s|list1",
        "s|list2",
        "s|list",
        "foo|foo_bar",
        "foo|bar",
        "a|b_c",
        "a_b|c",
        "日本|検索",
        "日本|検査",
        "s|A",
        "s|a"
      ),
      tool("a\0b", "c"),
      tool("a", "b\0c"),
      tool("a", "\ud800"),
      tool("a", "\ud801"),
      tool("a", "\ufffd"),
      tool("", "a__b"),
      tool("a__b", ""),
      tool("a__b", "c"),
      tool("a", "b__c")
    ]
    const names = named(prefixed, alike)
    assert.strictEqual(new Set(names).size, alike.length)
    alike.forEach((tool, index) => assert.strictEqual(one(prefixed, tool.server, tool.tool), names[index]))
  })

  it("a name depends on nothing but its own identity, whatever other tools there are", () => {
    FastCheck.assert(
      FastCheck.property(distinctTools, (tools) => {
        named(prefixed, tools).forEach((name, index) =>
          assert.strictEqual(name, one(prefixed, tools[index]!.server, tools[index]!.tool))
        )
      }),
      { numRuns: 500 }
    )
  })

  it("names that stay and names with a hash have none in common", () => {
    FastCheck.assert(
      FastCheck.property(anyTool, (identity) => {
        const name = one(prefixed, identity.server, identity.tool)
        const kept = name === `${identity.server}__${identity.tool}`
        assert.strictEqual(/_[0-9a-f]{10}$/.test(name), !kept)
        // The first separator of a kept name is the separator: nobody else can have it.
        if (kept) assert.strictEqual(name.indexOf("__"), identity.server.length)
      }),
      { numRuns: 1000 }
    )
  })

  it("a reserved name is given up for a hash, the same whoever else is there, and for the next if that is reserved", () => {
    const first = `web__search_${hashOf("web", "search", 1)}`
    const second = `web__search_${hashOf("web", "search", 2)}`
    const others = tools("a|b", "web|search", "web|検索")
    assert.strictEqual(named(prefixed, others, new Set(["web__search"]))[1], first)
    assert.deepStrictEqual(named(prefixed, others, new Set(["web__search", first])), [
      "a__b",
      second,
      `web__tool_${hashOf("web", "検索")}`
    ])
    assert.deepStrictEqual(
      named(prefixed, tools("web|検索"), new Set([`web__tool_${hashOf("web", "検索")}`])),
      [`web__tool_${hashOf("web", "検索", 1)}`]
    )
  })

  it("20: of a tool that is listed twice the first has the name", () =>
    assert.deepStrictEqual(named(prefixed, tools("web|search", "a|b", "web|search", "web|search")), [
      "web__search",
      "a__b",
      `web__search_${hashOf("web", "search", 1)}`,
      `web__search_${hashOf("web", "search", 2)}`
    ]))
})

describe("openAiAgents", () => {
  const { openAiAgents } = ToolNaming

  /** After the description in the reference, for server names without URLs. */
  const expected = (tools: Tools, reserved: ReadonlySet<string>): ReadonlyArray<string> => {
    const part = (text: string, fallback: string) =>
      Array.from(text, (_) => /^[A-Za-z0-9_-]$/.test(_) ? _ : "_").join("").replace(/^[_-]+/, "").replace(
        /[_-]+$/,
        ""
      ) ||
      fallback
    const shorten = (base: string, seed: string, force: boolean) =>
      !force && base.length <= 64 ? base : `${base.slice(0, 55).replace(/[_-]+$/, "")}_${digest(seed).slice(0, 8)}`
    const bases = tools.map((_) => `mcp_${part(_.server, "server")}__${part(_.tool, "tool")}`)
    const candidates = tools.map((tool, index) => {
      const base = bases[index]!
      const seed = `${tool.server}\0${tool.tool}`
      const force = bases.filter((_) => _ === base).length > 1 || reserved.has(base)
      return { base, index, initial: shorten(base, seed, force), seed }
    })
    candidates.sort((a, b) =>
      a.initial < b.initial
        ? -1
        : a.initial > b.initial
        ? 1
        : a.seed < b.seed
        ? -1
        : a.seed > b.seed
        ? 1
        : a.index - b.index
    )
    const used = new Set(reserved)
    const names: Array<string> = []
    for (const { base, index, initial, seed } of candidates) {
      let name = initial
      for (let attempt = 1; used.has(name); attempt++) name = shorten(base, `${seed}\0${attempt}`, true)
      used.add(name)
      names[index] = name
    }
    return names
  }

  it("1.9: equals that system, with reserved names and tools that are listed twice", () => {
    FastCheck.assert(
      FastCheck.property(
        withReserved(openAiAgents, FastCheck.array(anyTool, { maxLength: 30 })),
        ({ reserved, tools }) => {
          const plain = tools.filter((_) => !_.server.includes("://"))
          assert.deepStrictEqual(named(openAiAgents, plain, reserved), expected(plain, reserved))
        }
      ),
      { numRuns: 400 }
    )
  })

  it("1.9: all that want one name get a hash; the value in that system's own tests", () => {
    assert.deepStrictEqual(named(openAiAgents, tools("docs|search", "calendar|search")), [
      "mcp_docs__search",
      "mcp_calendar__search"
    ])
    assert.deepStrictEqual(named(openAiAgents, tools("docs|search", "docs|search")), [
      "mcp_docs__search_15de6fa1",
      `mcp_docs__search_${digest("docs\0search\x001").slice(0, 8)}`
    ])
    const dashed = named(openAiAgents, tools("docs|search!", "docs|search", "docs|-search"))
    assert.deepStrictEqual(
      dashed,
      ["docs\0search!", "docs\0search", "docs\0-search"].map((seed) => `mcp_docs__search_${digest(seed).slice(0, 8)}`)
    )
    assert.strictEqual(
      named(openAiAgents, tools("docs|search"), new Set(["mcp_docs__search"]))[0],
      "mcp_docs__search_15de6fa1"
    )
    assert.strictEqual(one(openAiAgents, "日本", "検索"), "mcp_server__tool")
    assert.strictEqual(one(openAiAgents, "a😀b", "c"), "mcp_a_b__c")
  })

  it("1.9: 64 characters stay, 65 are cut to at most 64 without a dangling separator", () => {
    const at = (length: number) => "x".repeat(length - "mcp_s__".length)
    assert.strictEqual(one(openAiAgents, "s", at(64)), `mcp_s__${at(64)}`)
    assert.strictEqual(one(openAiAgents, "s", at(65)), `mcp_s__${at(55)}_${digest(`s\0${at(65)}`).slice(0, 8)}`)
    const dangling = `${at(53)}_-${"y".repeat(20)}`
    assert.strictEqual(one(openAiAgents, "s", dangling), `mcp_s__${at(53)}_${digest(`s\0${dangling}`).slice(0, 8)}`)
  })

  it("1.14: a URL in the server's name is reduced before it is named and hashed", () => {
    const shown: ReadonlyArray<readonly [string, string, string]> = [
      [
        "sse: https://User:pw@Example.COM:080/A/mcp?token=x#y",
        "sse: https://example.com:80/A/mcp",
        "sse__https___example_com_80_A_mcp"
      ],
      ["streamable_http: HTTP://h", "streamable_http: http://h", "streamable_http__http___h"],
      [
        "streamable-http: https://[::1]:8080/x",
        "streamable-http: https://[::1]:8080/x",
        "streamable-http__https______1__8080_x"
      ],
      ["https://a@b@h/p", "https://h/p", "https___h_p"],
      ["sse: https://h:99999/", "sse: <invalid-url>", "sse___invalid-url"],
      ["https://", "<invalid-url>", "invalid-url"],
      ["https://[::1/x", "<invalid-url>", "invalid-url"],
      ["https://a b/x", "<invalid-url>", "invalid-url"],
      ["stdio: node x?token=y", "stdio: node x?token=y", "stdio__node_x_token_y"],
      ["sse: somewhere", "sse: somewhere", "sse__somewhere"],
      ["ftp://u:p@h/x", "ftp://u:p@h/x", "ftp___u_p_h_x"]
    ]
    for (const [server, name, part] of shown) {
      const base = `mcp_${part}__t`
      const hash = digest(`${name}\0t`).slice(0, 8)
      assert.strictEqual(named(openAiAgents, [tool(server, "t")], new Set([base]))[0], `${base.slice(0, 55)}_${hash}`)
      assert.strictEqual(one(openAiAgents, server, "t"), base)
    }
  })
})

describe("ohMyPi", () => {
  const { ohMyPi } = ToolNaming

  it("1A.8: the values of its latest generation", () => {
    const values: ReadonlyArray<readonly [string, string, string]> = [
      ["puppeteer", "puppeteer_screenshot", "mcp__puppeteer_screenshot"],
      ["puppeteer", "screenshot", "mcp__puppeteer_screenshot"],
      ["foo", "foo", "mcp__foo_foo"],
      ["s3", "list1", "mcp__s3_list1"],
      ["s3", "list2", "mcp__s3_list2"],
      ["123", "456", "mcp__123_456"],
      ["GitHub.com", "create-issue", "mcp__github_com_create_issue"],
      ["a", "b_c", "mcp__a_b_c"],
      ["a_b", "c", "mcp__a_b_c"],
      ["日本", "検索", "mcp__server_tool"],
      ["__x--", "_._", "mcp__x_tool"]
    ]
    for (const [server, tool, name] of values) assert.strictEqual(one(ohMyPi, server, tool), name)
  })

  it("1A.8: 64 characters stay, 65 are cut for a hash in base 36", () => {
    const fits = "x".repeat(64 - "mcp__s_".length)
    assert.strictEqual(one(ohMyPi, "s", fits), `mcp__s_${fits}`)
    const hash = wyhash(`mcp__s_${fits}x`).toString(36).slice(0, 8)
    assert.match(hash, /^[0-9a-z]{8}$/)
    assert.strictEqual(one(ohMyPi, "s", `${fits}X`), `mcp__s_${fits}`.slice(0, 55) + `_${hash}`)
  })

  it("1A.8 3B.6: the smaller of server NUL tool has the name in every order, and the other is not lost", () => {
    const lost = `mcp__a_b_c_${wyhash("a_b\0c\x001").toString(36).slice(0, 8)}`
    assert.deepStrictEqual(named(ohMyPi, tools("a|b_c", "a_b|c")), ["mcp__a_b_c", lost])
    assert.deepStrictEqual(named(ohMyPi, tools("a_b|c", "a|b_c")), [lost, "mcp__a_b_c"])
    const [first, second] = named(ohMyPi, tools("foo|foo_bar", "foo|bar"))
    assert.strictEqual(second, "mcp__foo_bar")
    assert.match(first!, /^mcp__foo_bar_[0-9a-z]{8}$/)
  })
})

describe("raw, pydanticAi and one's own", () => {
  const { pydanticAi, raw } = ToolNaming

  it("names as they are, of any characters and length", () => {
    const odd = [tool("a", "検索"), tool("a b", "x".repeat(500)), tool("", ""), tool("c", "__proto__")]
    assert.deepStrictEqual(named(raw, odd), odd.map((_) => _.tool))
    assert.deepStrictEqual(named(pydanticAi, odd), odd.map((_) => `${_.server}_${_.tool}`))
  })

  it("20: raw names all duplicates, across servers and within one, in the same order whatever the order of listing", () => {
    const listed = [
      ...tools("web|search", "files|read", "web|search", "files|search", "b|unique", "z|constructor", "a|constructor"),
      tool("files", "\u0000"),
      tool("files", "read")
    ]
    const names = [
      { name: "constructor", problem: "duplicate", tools: tools("a|constructor", "z|constructor") },
      { name: "read", problem: "duplicate", tools: tools("files|read", "files|read") },
      { name: "search", problem: "duplicate", tools: tools("files|search", "web|search", "web|search") }
    ]
    for (let seed = 0; seed < 20; seed++) {
      const clash = clashOf(raw, shuffled(listed, seed))
      assert.deepStrictEqual(clash.names, names as never)
      assert.deepStrictEqual([clash._tag, clash.server, clash.operation, clash.executed], [
        "NamesClash",
        "a",
        "name",
        "no"
      ])
    }
  })

  it("3C.9: pydanticAi fails where that system overwrites: within a server, and a|b_c with a_b|c", () => {
    assert.deepStrictEqual(clashOf(pydanticAi, tools("a_b|c", "a|b_c", "s|t", "s|t", "s|u")).names, [
      { name: "a_b_c", problem: "duplicate", tools: tools("a|b_c", "a_b|c") },
      { name: "s_t", problem: "duplicate", tools: tools("s|t", "s|t") }
    ])
  })

  it("a reserved name is an error, though one tool only wants it", () => {
    assert.deepStrictEqual(clashOf(raw, tools("a|x", "a|y"), new Set(["y"])).names, [
      { name: "y", problem: "reserved", tools: tools("a|y") }
    ])
    assert.deepStrictEqual(clashOf(pydanticAi, tools("a|x"), new Set(["a_x"])).names.map((_) => _.problem), [
      "reserved"
    ])
  })

  it("make: characters, length, reserved names and duplicates are checked", () => {
    const own = ToolNaming.make({ mode: "own", name: (_) => _.tool })
    assert.strictEqual(own.mode, "own")
    assert.deepStrictEqual(named(own, tools("a|x", "b|Y-_9", `c|${"z".repeat(64)}`)), ["x", "Y-_9", "z".repeat(64)])
    const bad = ["", "a b", "ü", "x\n", "z".repeat(65)]
    const clash = clashOf(
      own,
      [...bad.map((_) => tool("s", _)), ...tools("s|ok", "t|ok", "s|kept", "s|mine")],
      new Set(["mine"])
    )
    assert.deepStrictEqual(
      clash.names.map((_) => [_.name, _.problem]),
      [...bad.map((_) => [_, "invalid"]), ["ok", "duplicate"], ["mine", "reserved"]]
        .sort((a, b) => a[0]! < b[0]! ? -1 : 1)
    )
    const noText = ToolNaming.make({ mode: "none", name: () => undefined as never })
    assert.deepStrictEqual(clashOf(noText, tools("a|x")).names.map((_) => _.problem), ["invalid"])
  })

  it("the message says what clashes and what to do, and is bounded", () => {
    const message = clashOf(raw, tools("web|search", "files|search", "a|mine"), new Set(["mine"])).message
    assert.strictEqual(
      message,
      "MCP server \"a\": name: 2 tool names can't be used: \"mine\" is reserved, and would be the name of \"mine\" of \"a\"; " +
        "\"search\" would be the name of \"search\" of \"files\", \"search\" of \"web\". " +
        "Exclude some of these tools by a filter, or name all of them by ToolNaming.prefixed"
    )
    const long = Array.from({ length: 500 }, (_, index) => `${index}${"x".repeat(10_000)}\u0007`)
    const many = clashOf(raw, long.flatMap((name) => Array.from({ length: 10 }, () => tool("s".repeat(1000), name))))
    assert.strictEqual(many.names.length, 500)
    assert.isBelow(many.message.length, 12_000)
    assert.notInclude(many.message, "\u0007")
    assert.include(many.message, "and 490 more")
  })

  it("the error survives being written and read", () => {
    const clash = clashOf(raw, tools("a|x", "b|x"))
    const read = Schema.decodeUnknownSync(ToolNaming.NamesClash)(
      JSON.parse(JSON.stringify(Schema.encodeSync(ToolNaming.NamesClash)(clash)))
    )
    assert.strictEqual(read.message, clash.message)
  })
})
