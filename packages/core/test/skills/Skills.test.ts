/**
 * Skills of honest servers: lists, entries, files, and what is sent again.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpConnection, McpError, McpSkills, McpTransport } from "@mcp-runtime/core"
import type * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { ReadResourceRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { Effect, Fiber, TestClock } from "effect"
import { inspect } from "node:util"
import { z } from "zod"
import {
  capabilities,
  entry,
  fileOf,
  forms,
  formsText,
  instructions,
  loaded,
  main,
  only,
  serving,
  skillText,
  textContent
} from "./kit.js"

const named = (name: string) => ({
  uri: `skill://a/${name}/SKILL.md`,
  frontmatter: { name, description: "d" },
  resources: [fileOf(`skill://a/${name}/SKILL.md`, "x")]
})

describe("lists and entries", () => {
  it.scoped("a listing gives the entries, and reads no file", () =>
    Effect.gen(function*() {
      const { connection, reads, server } = yield* serving()
      const { dropped, items } = yield* McpSkills.list(connection)
      assert.deepStrictEqual(dropped, [])
      assert.deepStrictEqual(items, [{
        server: "scripted",
        uri: main,
        name: "pdf-processing",
        description: "Fill PDF forms",
        frontmatter: entry.frontmatter as never,
        files: [
          { ...fileOf(main, skillText), path: "SKILL.md" },
          { ...fileOf(forms, formsText), path: "references/FORMS.md" }
        ] as never
      }])
      assert.isTrue(Object.isFrozen(items[0]) && Object.isFrozen(items[0]!.files))
      assert.deepStrictEqual(yield* reads, [])
      assert.lengthOf(yield* server.receivedOf("skills/get"), 0)
    }))

  it.scoped("all pages are followed, and only a page that failed is asked for again", () =>
    Effect.gen(function*() {
      const cursors: Array<unknown> = []
      let failures = 1
      const { connection } = yield* serving({
        handlers: {
          "skills/list": ({ params }) => {
            cursors.push(params.cursor)
            if (params.cursor === undefined) return Effect.succeed({ skills: [named("a")], nextCursor: "two" })
            return failures-- > 0
              ? Effect.fail(
                new McpError.HttpError({ server: "scripted", operation: "x", executed: "maybe", status: 503, body: "" })
              )
              : Effect.succeed({ skills: [named("b")] })
          }
        }
      })
      const fiber = yield* Effect.fork(McpSkills.list(connection))
      yield* TestClock.adjust("1 minute")
      const { items } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(items.map((_) => _.name), ["a", "b"])
      assert.deepStrictEqual(cursors, [undefined, "two", "two"])
    }))

  it.scoped("a list is bounded in pages, items and cursors, as every list", () =>
    Effect.gen(function*() {
      const endless = (page: (i: number) => object, limits: object) =>
        Effect.gen(function*() {
          let asked = 0
          const { connection } = yield* serving({
            limits,
            handlers: { "skills/list": () => Effect.sync(() => page(++asked)) }
          })
          return yield* Effect.flip(McpSkills.list(connection))
        })
      const pages = yield* endless((i) => ({ skills: [], nextCursor: `c${i}` }), { pages: 3 })
      assert.include(pages, { _tag: "LimitExceeded", operation: "skills/list", limit: "pages", max: 3 })
      const items = yield* endless(() => ({ skills: [1, 2, 3, 4] }), { items: 3 })
      assert.include(items, { _tag: "LimitExceeded", limit: "items", max: 3 })
      const bytes = yield* endless(() => ({ skills: [{ ...named("a"), x: "y".repeat(2000) }] }), { listBytes: 1000 })
      assert.include(bytes, { _tag: "LimitExceeded", limit: "listBytes", max: 1000 })
      const cursor = yield* endless(() => ({ skills: [], nextCursor: "again" }), {})
      assert.strictEqual(cursor._tag, "ProtocolViolation")
    }))

  it.scoped("the entry of a skill that is not listed can be had by its URI", () =>
    Effect.gen(function*() {
      const { connection, reads } = yield* serving({
        handlers: { "skills/list": () => Effect.succeed({ skills: [] }) }
      })
      assert.deepStrictEqual((yield* McpSkills.list(connection)).items, [])
      const skill = yield* McpSkills.get(connection, main)
      assert.strictEqual(skill.name, "pdf-processing")
      assert.deepStrictEqual(yield* reads, [])
      const none = yield* Effect.flip(McpSkills.get(connection, "skill://none/SKILL.md"))
      assert.include(none, { _tag: "RemoteError", code: -32602 })
    }))

  it.scoped("nothing is sent to a server that does not announce skills", () =>
    Effect.gen(function*() {
      for (
        const extensions of [
          undefined,
          {},
          { "io.modelcontextprotocol/ui": {} },
          [],
          "x",
          JSON.parse(`{"__proto__":{}}`)
        ]
      ) {
        const { connection, server } = yield* serving({ capabilities: { resources: {}, extensions } as never })
        for (
          const effect of [Effect.asVoid(McpSkills.list(connection)), Effect.asVoid(McpSkills.get(connection, main))]
        ) {
          const error = yield* Effect.flip(effect)
          assert.include(error, {
            _tag: "CapabilityMissing",
            executed: "no",
            capability: `extensions["io.modelcontextprotocol/skills"]`
          })
        }
        const sent = (yield* server.received).map((_) => _.method)
        assert.notInclude(sent, "skills/list")
        assert.notInclude(sent, "skills/get")
      }
    }))

  it.scoped("a client can say that it knows skills", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* serving({
        options: { capabilities: { extensions: { [McpSkills.extension]: {} } } }
      })
      yield* McpSkills.list(connection)
      const [initialize] = yield* server.receivedOf("initialize")
      assert.deepNestedInclude(initialize!.params, { "capabilities.extensions": { [McpSkills.extension]: {} } })
    }))

  it("an approval is bound to the server and to each file, not to their order", () => {
    const file = (uri: string, digest: string) => ({ uri, path: uri, digest, size: 1 })
    const skill = (server: string, files: McpSkills.Skill["files"]): McpSkills.Skill => ({
      server,
      uri: main,
      name: "n",
      description: "d",
      frontmatter: {},
      files
    })
    const print = (server: string, ...files: ReadonlyArray<McpSkills.SkillFile>) =>
      McpSkills.fingerprint(skill(server, files))
    const [a, b] = [file("a", "1"), file("b", "2")]
    assert.match(print("s", a, b)!, /^[0-9a-f]{64}$/)
    assert.strictEqual(print("s", a, b), print("s", b, a))
    const all = [
      print("s", a, b),
      print("t", a, b),
      print("s", a),
      print("s", a, file("b", "3")),
      print("s", file("b", "1"), file("a", "2"))
    ]
    assert.strictEqual(new Set(all).size, all.length)
    assert.isUndefined(McpSkills.fingerprint(skill("s", "dynamic")))
  })
})

describe("files", () => {
  it.scoped("SKILL.md is read when a skill is loaded, another file when it is asked for, each once", () =>
    Effect.gen(function*() {
      const { connection, reads } = yield* serving()
      const skill = yield* loaded(connection)
      assert.strictEqual(skill.text, skillText)
      assert.strictEqual(skill.instructions, instructions)
      assert.strictEqual(skill.skill.uri, main)
      assert.deepStrictEqual(yield* reads, [main])
      const content = yield* skill.read("references/FORMS.md")
      assert.strictEqual(content.text, formsText)
      assert.include(content, { uri: forms, path: "references/FORMS.md", mimeType: "text/markdown" })
      assert.deepStrictEqual(Buffer.from(content.bytes).toString(), formsText)
      assert.deepStrictEqual(yield* reads, [main, forms])
    }))

  it.scoped("bytes: an image, an empty file, a SKILL.md that comes as a blob", () =>
    Effect.gen(function*() {
      const image = Uint8Array.from({ length: 1000 }, (_, i) => (i * 7) % 256)
      const [imageUri, emptyUri] = ["skill://pdf-processing/a b.png", "skill://pdf-processing/empty"]
      const blob = (uri: string, bytes: Uint8Array) => ({
        contents: [{ uri, blob: Buffer.from(bytes).toString("base64") }]
      })
      const { connection } = yield* serving({
        skills: [{
          ...entry,
          resources: [fileOf(main, skillText), fileOf(imageUri, image), fileOf(emptyUri, "")]
        }],
        files: {
          [main]: blob(main, Buffer.from(skillText)),
          // As a server answers that has parsed the URI.
          [imageUri]: blob("skill://pdf-processing/a%20b.png", image),
          [emptyUri]: ""
        }
      })
      const skill = yield* loaded(connection)
      assert.strictEqual(skill.instructions, instructions)
      const content = yield* skill.read("a b.png")
      assert.isUndefined(content.text)
      assert.deepStrictEqual([...content.bytes], [...image])
      assert.strictEqual((yield* skill.read("empty")).text, "")
    }))

  it.scoped("a path is understood as a text refers to it: from the root of the skill, also with dots, encoded, or as a URI", () =>
    Effect.gen(function*() {
      const spaced = "skill://pdf-processing/My%20Guide.md"
      const { connection } = yield* serving({
        skills: [{ ...entry, resources: [fileOf(main, skillText), fileOf(forms, formsText), fileOf(spaced, "g")] }],
        files: { [spaced]: "g" }
      })
      const skill = yield* loaded(connection)
      for (
        const path of [
          "references/FORMS.md",
          "./references/FORMS.md",
          "references//./FORMS.md",
          "scripts/../references/FORMS.md",
          forms
        ]
      ) {
        assert.strictEqual((yield* skill.read(path)).uri, forms, path)
      }
      for (const path of ["My Guide.md", "My%20Guide.md", spaced]) {
        assert.include(yield* skill.read(path), { uri: spaced, path: "My Guide.md", text: "g" }, path)
      }
    }))

  it.scoped("a list, an entry and a file are asked for again after a failure that may pass, since that does no harm", () =>
    Effect.gen(function*() {
      const counts: Record<string, number> = {}
      const lost = new McpError.HttpError({
        server: "scripted",
        operation: "x",
        executed: "maybe",
        status: 503,
        body: ""
      })
      const flaky = (method: string, answer: (uri: string) => object): ScriptedServer.Handler => ({ params }) =>
        Effect.suspend(() => {
          counts[method] = (counts[method] ?? 0) + 1
          return counts[method] % 2 === 1 ? Effect.fail(lost) : Effect.succeed(answer(String(params.uri)))
        })
      const { connection } = yield* serving({
        handlers: {
          "skills/list": flaky("skills/list", () => ({ skills: [entry] })),
          "skills/get": flaky("skills/get", () => ({ skill: entry })),
          "resources/read": flaky("resources/read", (uri) => textContent(uri, skillText))
        }
      })
      const fiber = yield* Effect.fork(Effect.zip(loaded(connection), McpSkills.get(connection, main)))
      yield* TestClock.adjust("1 minute")
      const [skill] = yield* Fiber.join(fiber)
      assert.strictEqual(skill.text, skillText)
      assert.deepStrictEqual(counts, { "skills/list": 2, "skills/get": 2, "resources/read": 2 })
    }))

  it.scoped("an entry that was kept as JSON can be loaded later, and printing a loaded skill shows none of its text", () =>
    Effect.gen(function*() {
      const { connection } = yield* serving()
      const kept = JSON.parse(JSON.stringify(yield* only(connection))) as McpSkills.Skill
      const skill = yield* McpSkills.load(connection, kept)
      assert.strictEqual(skill.instructions, instructions)
      assert.notInclude(inspect(skill), "PDF")
      assert.strictEqual(JSON.stringify(skill), `{"_id":"LoadedSkill","server":"scripted","uri":"${main}"}`)
    }))
})

describe("a server made with the SDK", () => {
  it.scopedLive("gives its skills in this process", () =>
    Effect.gen(function*() {
      const make = () => {
        const sdk = new McpServer({ name: "sdk", version: "1.0.0" }, { capabilities })
        const request = (method: "skills/list" | "skills/get") =>
          z.object({ method: z.literal(method), params: z.object({ uri: z.string().optional() }).optional() })
        sdk.server.setRequestHandler(request("skills/list"), () => ({ skills: [entry] }))
        sdk.server.setRequestHandler(request("skills/get"), () => ({ skill: entry }))
        sdk.server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => ({
          contents: [{ uri, text: uri === main ? skillText : formsText }]
        }))
        return sdk
      }
      const config = yield* McpConfig.decodeUnknown({ name: "sdk", transport: "inMemory", server: make })
      const connection = yield* McpConnection.make(config)
      const listed = yield* only(connection)
      assert.deepStrictEqual(yield* McpSkills.get(connection, main), listed)
      const skill = yield* McpSkills.load(connection, listed)
      assert.strictEqual((yield* skill.read("references/FORMS.md")).text, formsText)
    }).pipe(Effect.provide(McpTransport.layerFetch)))
})
