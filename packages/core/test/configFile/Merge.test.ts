import { assert, describe, it } from "@effect/vitest"
import { Toolset } from "@mcp-runtime/core"
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import { Effect } from "effect"

const source = (
  level: ConfigFile.Level,
  mcpServers: object,
  more: object = {},
  path: string = level
): ConfigFile.Source => ({
  level,
  path,
  text: JSON.stringify({ mcpServers, ...more })
})

const at = (command: string, more: object = {}) => ({ command, ...more })
const wrong = { command: 1 }

/** `name=command@path`, with `-` where it is disabled. */
const shown = (loaded: ConfigFile.Loaded) =>
  loaded.entries.map(({ config, name, origin }) =>
    `${config.enabled === false ? "-" : ""}${name}=${(config as { readonly command: string }).command}@${origin.path}`
  )

const texts = (loaded: ConfigFile.Loaded) => loaded.problems.map((_) => `${_.path} ${_.server ?? ""}: ${_.problem}`)

describe("several files", () => {
  const table: ReadonlyArray<
    readonly [
      name: string,
      sources: ReadonlyArray<ConfigFile.Source>,
      expected: ReadonlyArray<string>,
      options?: ConfigFile.LoadOptions
    ]
  > = [
    [
      "the higher level wins, whatever the order of the sources; its servers come first, in the order of the file",
      [
        source("user", { a: at("user"), c: at("user"), b: at("user") }),
        source("explicit", { z: at("explicit"), a: at("explicit") }),
        source("project", { a: at("project"), b: at("project") })
      ],
      ["z=explicit@explicit", "a=explicit@explicit", "b=project@project", "c=user@user"]
    ],
    [
      "within a level the first source wins",
      [source("project", { a: at("one") }, {}, "one"), source("project", { a: at("two"), b: at("two") }, {}, "two")],
      ["a=one@one", "b=two@two"]
    ],
    [
      "no field is merged",
      [source("project", { a: { url: "https://a.example" } }), source("user", { a: at("user", { env: { A: "b" } }) })],
      ["a=undefined@project"]
    ],
    [
      "one that is wrong hides nothing",
      [source("explicit", { a: wrong }), source("project", { a: wrong }), source("user", { a: at("user") })],
      ["a=user@user"]
    ],
    [
      "a disabled one keeps its name",
      [source("project", { a: at("project", { enabled: false }) }), source("user", { a: at("user") })],
      ["-a=project@project"]
    ],
    [
      "\"disabled\" is the opposite of \"enabled\"",
      [source("project", {
        a: at("a", { disabled: true }),
        b: at("b", { disabled: false }),
        c: at("c", { enabled: true })
      })],
      ["-a=a@project", "b=b@project", "c=c@project"]
    ],
    [
      "one that is only switched off switches those below off",
      [source("project", { a: { disabled: true } }), source("user", { a: at("user") })],
      ["-a=user@user"]
    ],
    [
      "one that is disabled and wrong, too",
      [source("project", { a: { ...wrong, enabled: false } }), source("user", { a: at("user") })],
      ["-a=user@user"]
    ],
    [
      "a lower one switches nothing off",
      [source("project", { a: at("project") }), source("user", { a: { enabled: false } })],
      ["a=project@project"]
    ],
    [
      "disabledServers of the user hold for every file",
      [source("project", { a: at("project"), b: at("project") }), source("user", {}, { disabledServers: ["a", "x"] })],
      ["-a=project@project", "b=project@project"]
    ],
    [
      "enabledServers switch on what its file has switched off, but for disabledServers",
      [
        source("project", { a: at("project", { enabled: false }), b: at("project", { disabled: true }) }),
        source("user", {}, { enabledServers: ["a", "b"], disabledServers: ["b"] })
      ],
      ["a=project@project", "-b=project@project"]
    ],
    [
      "a project can't switch on or off by such lists",
      [
        source("project", {}, { disabledServers: ["a"], enabledServers: ["b"] }),
        source("user", { a: at("user"), b: at("user", { enabled: false }) })
      ],
      ["a=user@user", "-b=user@user"]
    ],
    [
      "without files of the project it is as if they were not there",
      [
        source("project", { a: at("project"), b: at("project", { enabled: false }), c: { enabled: false }, d: wrong }),
        source("user", { a: at("user"), b: at("user"), c: at("user") })
      ],
      ["a=user@user", "b=user@user", "c=user@user"],
      { enableProjectConfig: false }
    ],
    [
      "what a predicate leaves out hides nothing",
      [source("project", { a: at("project"), ab: at("project") }), source("user", { a: at("user"), ab: at("user") })],
      ["a=user@user", "ab=user@user"],
      { exclude: [(_) => _.command === "project"] }
    ],
    ["by name", [source("user", { exa: at("1"), exa2: at("2"), hexa: at("3") })], ["hexa=3@user"], {
      exclude: [ConfigFile.named("exa*")]
    }],
    [
      "by level",
      [source("project", { a: at("project") }), source("user", { a: at("user") })],
      ["a=project@project"],
      { exclude: [ConfigFile.level("user")] }
    ],
    [
      "by URL, as it is written or meant",
      [
        source("user", {
          a: { url: "HTTPS://MCP.exa.AI" },
          b: { url: "https://mcp.exa.ai/mcp?key=${KEY}" },
          c: at("https://mcp.exa.ai/"),
          d: { url: "https://${HOST}/mcp" }
        })
      ],
      ["c=https://mcp.exa.ai/@user"],
      { exclude: [ConfigFile.url("https://mcp.exa.ai/*"), ConfigFile.url("https://${HOST}/*")] }
    ],
    [
      "a predicate that throws leaves out what it was asked about",
      [source("user", { a: at("a"), b: at("b") })],
      ["b=b@user"],
      {
        exclude: [({ name }) => {
          if (name === "a") throw new Error("c4n4ry")
          return false
        }]
      }
    ]
  ]
  for (const [name, sources, expected, options] of table) {
    it(name, () => {
      const loaded = ConfigFile.load(sources, options)
      assert.deepStrictEqual(shown(loaded), expected)
      assert.notInclude(JSON.stringify(loaded.problems), "c4n4ry")
    })
  }

  it("without files of the project, servers of the user and their commands start in the user's directory, not in the one that was opened", () => {
    const servers = {
      a: at("a"),
      b: at("b", { cwd: "sub" }),
      c: { url: "https://c.example", headers: { Authorization: { command: "token" } } },
      d: at("d", { args: ["${workspaceFolder}"] })
    }
    const sources = [source("explicit", { e: at("e") }), source("user", servers)]
    const options = { userFolder: "/home/ada", workspaceFolder: "/tmp/strange" }
    const places = (loaded: ConfigFile.Loaded) =>
      loaded.entries.map(({ config }) => [config.name, "cwd" in config ? config.cwd : undefined, config.expand])
    assert.deepStrictEqual(places(ConfigFile.load(sources, { ...options, enableProjectConfig: false })), [
      ["e", undefined, true],
      ["a", "/home/ada", { commandFolder: "/home/ada" }],
      ["b", "sub", { commandFolder: "/home/ada" }],
      ["c", undefined, { commandFolder: "/home/ada" }],
      // It is asked for by name.
      ["d", "/home/ada", { commandFolder: "/home/ada", workspaceFolder: "/tmp/strange" }]
    ])
    const usual: ReturnType<typeof places> = [
      ["e", undefined, true],
      ["a", undefined, true],
      ["b", "sub", true],
      ["c", undefined, true],
      ["d", undefined, { workspaceFolder: "/tmp/strange" }]
    ]
    assert.deepStrictEqual(places(ConfigFile.load(sources, options)), usual)
    const { userFolder: _, ...without } = options
    assert.deepStrictEqual(places(ConfigFile.load(sources, { ...without, enableProjectConfig: false })), usual)
  })

  it("each entry says where it is from and what it hides", () => {
    const sources = [
      source("explicit", { a: at("1") }),
      source("project", { a: at("2"), b: at("3") }),
      source("user", { a: wrong, b: at("4") })
    ]
    const loaded = ConfigFile.load(sources)
    assert.deepStrictEqual(loaded.entries.map(({ name, origin, shadows }) => [name, origin.path, shadows]), [
      ["a", "explicit", [{ level: "project", path: "project" }]],
      ["b", "project", [{ level: "user", path: "user" }]]
    ])
    assert.deepStrictEqual(loaded.sources, [
      { level: "explicit", path: "explicit" },
      { level: "project", path: "project" },
      { level: "user", path: "user" }
    ])
    assert.strictEqual(ConfigFile.load(sources, { enableProjectConfig: false }).sources.length, 2)
  })

  it("what takes the place of a server that is wrong is said, and who has switched one off", () => {
    const replaced = ConfigFile.load([source("project", { a: wrong }), source("user", { a: at("user") })])
    assert.deepStrictEqual(texts(replaced), [
      "project a: must be a text that is not empty",
      "project a: the server of this name in user is used in its place"
    ])
    const off = ConfigFile.load([source("project", { a: { disabled: true } }), source("user", { a: at("user") })])
    assert.deepStrictEqual(off.problems, [])
    assert.deepStrictEqual(off.entries[0]!.disabledBy, { level: "project", path: "project" })
    const nothing = ConfigFile.load([source("project", { a: { disabled: true } })])
    assert.deepStrictEqual(texts(nothing), ["project a: is switched off, but no file has a server of this name"])
    const list = ConfigFile.load([source("project", { a: at("a") }), source("user", {}, { disabledServers: ["a"] })])
    assert.deepStrictEqual(list.entries[0]!.disabledBy, { level: "user", path: "user" })
  })

  it("lists of names that are wrong are problems", () => {
    const lists = [1, "a", ["a", 1]]
    for (const disabledServers of lists) {
      const loaded = ConfigFile.load([source("user", { a: at("a") }, { disabledServers })])
      assert.strictEqual(loaded.problems.length, 1)
      assert.strictEqual(loaded.problems[0]!.field, "disabledServers")
    }
  })

  it("of two inputs with one id the higher one counts", () => {
    const inputs = (description: string) => ({
      inputs: [{ id: "a", type: "promptString", description }, 1, { id: "" }]
    })
    const loaded = ConfigFile.load([source("user", {}, inputs("user")), source("project", {}, inputs("project"))])
    assert.strictEqual(loaded.inputs.get("a")?.description, "project")
    assert.strictEqual(loaded.problems.length, 4)
  })
})

describe("rules", () => {
  it.effect("become filters and approvals of a toolset", () =>
    Effect.gen(function*() {
      const loaded = ConfigFile.load([source("user", {
        __proto__x: at("a"),
        files: at("a", {
          tools: { allow: ["read_*"], block: ["read_secret"] },
          approval: { read_all: "always", "*": "never" }
        }),
        omp: at("a", { enabledTools: ["a"], disabledTools: ["b"] }),
        none: at("a", { tools: { allow: [] }, approval: "always" })
      })])
      assert.deepStrictEqual(loaded.problems, [])
      const servers = ConfigFile.toolsetServers(loaded)
      assert.deepStrictEqual(Object.keys(servers), ["files", "omp", "none"])
      const shows = (server: string, name: string) =>
        servers[server]!.filter!.decide({ name, inputSchema: { type: "object" } }, server, undefined)
      assert.deepStrictEqual(["read_a", "read_secret", "write"].map((_) => shows("files", _)), [true, false, false])
      assert.deepStrictEqual(["a", "b", "c"].map((_) => shows("omp", _)), [true, false, false])
      assert.strictEqual(shows("none", "a"), false)
      const asks = (tool: string) =>
        servers.files!.approval!.decide(
          { server: "files", tool, name: tool, arguments: {}, trusted: false } as never,
          undefined
        )
      assert.deepStrictEqual(["read_all", "read_a"].map(asks), [true, false])
      yield* Toolset.make([], { servers })
    }))

  it("a server called __proto__ has its rules as well", () => {
    const text = `{ "mcpServers": { "__proto__": { "command": "a", "tools": { "allow": [] } } } }`
    const servers = ConfigFile.toolsetServers(ConfigFile.load([{ level: "user", path: "a", text }]))
    assert.deepStrictEqual(Object.keys(servers), ["__proto__"])
    assert.isDefined(Object.getOwnPropertyDescriptor(servers, "__proto__")?.value)
  })

  it("rules of a hand-made entry that do not hold show nothing and ask always", () => {
    const [entry] = ConfigFile.load([source("user", { a: at("a") })]).entries
    const servers = ConfigFile.toolsetServers({
      entries: [{ ...entry!, rules: { tools: { allow: [1] }, approval: 1 } as never }],
      problems: [],
      sources: [],
      inputs: new Map()
    })
    assert.strictEqual(servers.a!.filter!.decide({ name: "a", inputSchema: { type: "object" } }, "a", undefined), false)
    assert.strictEqual(servers.a!.approval!.decide({} as never, undefined), true)
  })
})

it("a problem is one line, whatever is in it", () => {
  const problem = { path: "a", problem: "is wrong", severity: "error" } as const
  assert.strictEqual(ConfigFile.display(problem), "a: is wrong")
  assert.strictEqual(
    ConfigFile.display({ ...problem, line: 1, column: 2, server: "b", field: "c" }),
    "a:1:2: server \"b\": c: is wrong"
  )
})
