/**
 * Skills of servers that lie: what they say of a skill, what they answer for a file, where they point to.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpError, type McpProtocol, McpSkills } from "@mcp-runtime/core"
import { Deferred, Effect, Fiber } from "effect"
import {
  entry,
  fileOf,
  forms,
  formsText,
  loaded,
  main,
  only,
  serving,
  skillText,
  skillWith,
  textContent
} from "./kit.js"

const evil = skillText.replace("Read", "Wipe")

const withResources = (resources: unknown) => ({ ...entry, resources })

const file = (uri: string) => fileOf(uri, "x")

const withFiles = (...uris: ReadonlyArray<string>) => withResources([file(main), ...uris.map(file)])

const at = (uri: string, name = "pdf-processing") => ({
  uri,
  frontmatter: { name, description: "d" },
  resources: [file(uri)]
})

const refusedEntries: Record<string, unknown> = {
  "null": null,
  "a text": "skill",
  "no URI": { ...entry, uri: undefined },
  "a URI that is a list": { ...entry, uri: [main] },
  "no frontmatter": { ...entry, frontmatter: undefined },
  "a frontmatter that is a list": { ...entry, frontmatter: ["name"] },
  "no name": { ...entry, frontmatter: { description: "d" } },
  "a name by inheritance": {
    ...entry,
    frontmatter: JSON.parse(`{"__proto__":{"name":"pdf-processing","description":"d"}}`)
  },
  "no description": { ...entry, frontmatter: { name: "pdf-processing" } },
  "an empty description": { ...entry, frontmatter: { name: "pdf-processing", description: " " } },
  "another name than its directory": { ...entry, frontmatter: { name: "other", description: "d" } },
  "a name with capitals": at("skill://A/SKILL.md", "A"),
  "a name with an underscore": at("skill://__proto__/SKILL.md", "__proto__"),
  "a name with two hyphens": at("skill://a--b/SKILL.md", "a--b"),
  "a name that is too long": at(`skill://${"a".repeat(65)}/SKILL.md`, "a".repeat(65)),
  "no scheme": at("pdf-processing/SKILL.md"),
  "a path": at("/etc/pdf-processing/SKILL.md"),
  "no directory": at("skill://SKILL.md", ""),
  "an empty directory": at("skill:///SKILL.md", ""),
  "another file": at("skill://pdf-processing/README.md"),
  "a parent in its place": at("skill://a/../pdf-processing/SKILL.md"),
  "an encoded parent in its place": at("skill://a/%2e%2e/pdf-processing/SKILL.md"),
  "a query": at("skill://pdf-processing/SKILL.md?x=/SKILL.md"),
  "a fragment in its place": at("skill://a#b/pdf-processing/SKILL.md"),
  "a line break in its place": at("skill://a\nb/pdf-processing/SKILL.md"),
  "a URI without an end": at(`skill://${"a/".repeat(2000)}pdf-processing/SKILL.md`),
  "no resources": { ...entry, resources: undefined },
  "resources that are another text": withResources("all"),
  "resources without SKILL.md": withResources([file(forms)]),
  "no resource at all": withResources([]),
  "a file twice": withFiles(forms, forms),
  "two files of one path": withFiles("skill://pdf-processing/a%62", "skill://pdf-processing/ab"),
  "a file that is a text": withResources([file(main), forms]),
  "a digest in capitals": withResources([{ ...file(main), digest: `sha256:${"A".repeat(64)}` }]),
  "another algorithm": withResources([{ ...file(main), digest: `md5:${"a".repeat(64)}` }]),
  "a digest and more": withResources([{ ...file(main), digest: `sha256:${"a".repeat(64)}\n` }]),
  "no digest": withResources([{ ...file(main), digest: undefined }]),
  "no size": withResources([{ ...file(main), size: undefined }]),
  "a negative size": withResources([{ ...file(main), size: -1 }]),
  "a broken size": withResources([{ ...file(main), size: 1.5 }]),
  "an endless size": withResources([{ ...file(main), size: 1e300 }]),
  "a size as a text": withResources([{ ...file(main), size: "1" }]),
  "too many files": withFiles(...Array.from({ length: 512 }, (_, i) => `skill://pdf-processing/${i}`)),
  "too many bytes": withResources([file(main), { ...file(forms), size: McpSkills.maxBytes }]),
  "a file of another skill": withFiles("skill://other/a.md"),
  "a file of a skill that begins alike": withFiles("skill://pdf-processing-2/a.md"),
  "a file of another scheme": withFiles("file:///etc/passwd"),
  "a file of another host": withFiles("https://evil.example/pdf-processing/a.md"),
  "a file above": withFiles("skill://pdf-processing/../other/a.md"),
  "a file above, encoded": withFiles("skill://pdf-processing/%2e%2e/other/a.md"),
  "a file above, half encoded": withFiles("skill://pdf-processing/.%2E/other/a.md"),
  "an encoded separator": withFiles("skill://pdf-processing/..%2f..%2fetc%2fpasswd"),
  "a backslash": withFiles("skill://pdf-processing/..\\..\\x"),
  "an encoded backslash": withFiles("skill://pdf-processing/..%5c..%5cx"),
  "an encoded zero": withFiles("skill://pdf-processing/a%00.md"),
  "a broken encoding": withFiles("skill://pdf-processing/%zz"),
  "an empty segment": withFiles("skill://pdf-processing//a.md"),
  "a directory": withFiles("skill://pdf-processing/a/"),
  "the skill itself": withFiles("skill://pdf-processing/"),
  "a file with a query": withFiles("skill://pdf-processing/a.md?b"),
  "a file with a fragment": withFiles("skill://pdf-processing/a.md#b"),
  "a file with an endless path": withFiles(`skill://pdf-processing/${"a".repeat(1100)}`)
}

describe("entries that break the rules", () => {
  for (const [what, item] of Object.entries(refusedEntries)) {
    it.scoped(`hostile server: an entry with ${what} is left out and explained, and the others stay`, () =>
      Effect.gen(function*() {
        const { connection } = yield* serving({ skills: [item, { ...at("skill://good/SKILL.md", "good") }] })
        const { dropped, items } = yield* McpSkills.list(connection)
        assert.deepStrictEqual(items.map((_) => _.name), ["good"])
        assert.lengthOf(dropped, 1)
        assert.strictEqual(dropped[0]!.index, 0)
        assert.isAbove(dropped[0]!.problem.length, 10)
        assert.isBelow(dropped[0]!.problem.length, 200)
      }))
  }

  it.scoped("hostile server: 512 files of 16 MiB together are accepted, and names from Object's prototype are names", () =>
    Effect.gen(function*() {
      const uri = "x-y+z.1://constructor/SKILL.md"
      const rest = Array.from(
        { length: 511 },
        (_, i) => ({ ...file(`x-y+z.1://constructor/__proto__/${i}`), size: 32_000 })
      )
      const first = { ...file(uri), size: McpSkills.maxBytes - 511 * 32_000 }
      const { connection } = yield* serving({ skills: [{ ...at(uri, "constructor"), resources: [first, ...rest] }] })
      const { dropped, items } = yield* McpSkills.list(connection)
      assert.deepStrictEqual(dropped, [])
      assert.lengthOf(items[0]!.files, McpSkills.maxFiles)
    }))

  it.scoped("hostile server: of two entries with one URI the first counts", () =>
    Effect.gen(function*() {
      const { connection } = yield* serving({ skills: [entry, withFiles()] })
      const { dropped, items } = yield* McpSkills.list(connection)
      assert.lengthOf(items, 1)
      assert.lengthOf(items[0]!.files, 2)
      assert.deepStrictEqual(dropped, [{
        index: 1,
        name: "pdf-processing",
        problem: `"uri" is that of an earlier skill`
      }])
    }))

  it.scoped("hostile server: an entry that was asked for must be that one, and whole", () =>
    Effect.gen(function*() {
      for (
        const answer of [null, {}, { skill: null }, { skill: at("skill://other/SKILL.md", "other") }, {
          skill: withFiles("file:///etc/passwd")
        }]
      ) {
        const { connection } = yield* serving({ handlers: { "skills/get": () => Effect.succeed(answer) } })
        const error = yield* Effect.flip(Effect.asVoid(McpSkills.get(connection, main)))
        assert.strictEqual(error._tag, "InvalidResult", JSON.stringify(answer))
      }
    }))
})

/** What a server answers, and what is said of it. */
const lies: Record<string, readonly [unknown, string]> = {
  "other bytes of the same length": [evil, "its digest is another one"],
  "more bytes": [`${skillText}!`, `it has more than the ${skillText.length} bytes`],
  "fewer bytes": [skillText.slice(0, -1), `it has ${skillText.length - 1} bytes, and not the ${skillText.length}`],
  "no content": [{ contents: [] }, "not one file"],
  "two contents": [{ contents: [{ uri: main, text: skillText }, { uri: main, text: evil }] }, "not one file"],
  "another URI": [textContent("skill://other/SKILL.md", skillText), "about another URI"],
  "a URI of another host": [textContent("https://evil.example/SKILL.md", skillText), "about another URI"],
  "a text and a blob": [
    { contents: [{ uri: main, text: skillText, blob: Buffer.from(evil).toString("base64") }] },
    "not either a text or a blob"
  ],
  "neither text nor blob": [{ contents: [{ uri: main }] }, "not either a text or a blob"],
  "a text that is a list": [{ contents: [{ uri: main, text: [skillText] }] }, "not a text"],
  "a blob that is a number": [{ contents: [{ uri: main, blob: 7 }] }, "not a text"],
  "a blob that is not base64": [
    { contents: [{ uri: main, blob: "!".repeat(4 * Math.ceil(skillText.length / 3)) }] },
    "its blob is not base64"
  ],
  "a blob that is far too long": [
    { contents: [{ uri: main, blob: "A".repeat(1_000_000) }] },
    "its blob is not that of the"
  ],
  "a text with half a character": [textContent(main, skillText.replace("PDF\n", "PD\ud800\n")), "not well-formed"]
}

const failure = <A, R>(effect: Effect.Effect<A, McpError.McpError, R>) => Effect.flip(Effect.asVoid(effect))

describe("files that are not those of the entry", () => {
  for (const [what, [answer, problem]] of Object.entries(lies)) {
    it.scoped(`hostile server: a SKILL.md with ${what} is refused, and nothing of it is shown`, () =>
      Effect.gen(function*() {
        const { connection, reads } = yield* serving({ files: { [main]: answer } })
        const error = yield* failure(loaded(connection))
        assert.include(error, {
          _tag: "InvalidResult",
          server: "scripted",
          operation: "resources/read",
          executed: "yes"
        })
        assert.include(error.message, `"SKILL.md" of the skill "pdf-processing" is refused`)
        assert.include(error.message, problem)
        for (const secret of ["Wipe", "evil.example", "Read `"]) assert.notInclude(JSON.stringify(error), secret)
        assert.deepStrictEqual(yield* reads, [main])
      }))
  }

  it.scoped("hostile server: a text with half a character is refused even where its digest fits", () =>
    Effect.gen(function*() {
      const text = skillText.replace("PDF\n", "P\ud800\n")
      const { connection } = yield* serving({
        skills: [{ ...entry, resources: [fileOf(main, text.replace("\ud800", "\ufffd"))] }],
        files: { [main]: textContent(main, text) }
      })
      assert.include((yield* failure(loaded(connection))).message, "not well-formed")
    }))

  it.scoped("hostile server: after one file that does not fit, no file of the skill is read any more", () =>
    Effect.gen(function*() {
      const { connection, files, reads } = yield* serving({ files: { [forms]: formsText.replace("F", "E") } })
      const skill = yield* loaded(connection)
      const first = yield* failure(skill.read("references/FORMS.md"))
      assert.include(first, { _tag: "InvalidResult", executed: "yes" })
      files.set(forms, formsText)
      for (const path of ["references/FORMS.md", "SKILL.md", "none"]) {
        const error = yield* failure(skill.read(path))
        assert.include(error, { _tag: "InvalidResult", executed: "no" })
        assert.include(error.message, "FORMS.md")
      }
      assert.deepStrictEqual(yield* reads, [main, forms])
      const again = yield* McpSkills.load(connection, yield* McpSkills.get(connection, main))
      assert.strictEqual((yield* again.read("references/FORMS.md")).text, formsText)
    }))

  it.scoped("hostile server: a file that was under way when another one was refused is not given out", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      let mainText = skillText
      const { connection, server } = yield* serving({
        handlers: {
          "resources/read": ({ params }) =>
            params.uri === forms
              ? Effect.as(Deferred.await(released), textContent(forms, formsText))
              : Effect.sync(() => textContent(main, mainText))
        }
      })
      const skill = yield* loaded(connection)
      const slow = yield* Effect.fork(failure(skill.read(forms)))
      yield* server.awaitReceived((_) => _.params.uri === forms)
      mainText = evil
      yield* failure(skill.read("SKILL.md"))
      yield* Deferred.succeed(released, undefined)
      const error = yield* Fiber.join(slow)
      assert.include(error, { _tag: "InvalidResult", executed: "yes" })
      assert.include(error.message, `"SKILL.md" of the skill`)
    }))

  it.scoped("a server that can't be reached for a moment, or has the file no more, does not spoil the skill", () =>
    Effect.gen(function*() {
      const { connection, files } = yield* serving()
      const skill = yield* loaded(connection)
      files.delete(forms)
      assert.include(yield* failure(skill.read(forms)), { _tag: "RemoteError", code: -32602 })
      files.set(forms, formsText)
      assert.strictEqual((yield* skill.read(forms)).text, formsText)
    }))
})

describe("hostile model output: what can be asked for", () => {
  it.scoped("only files of the entry can be read, and nothing else is sent to the server", () =>
    Effect.gen(function*() {
      const { connection, reads } = yield* serving()
      const skill = yield* loaded(connection)
      for (
        const path of [
          "",
          ".",
          "..",
          "../SKILL.md",
          "references/../../SKILL.md",
          "%2e%2e/SKILL.md",
          "/SKILL.md",
          "/etc/passwd",
          "file:///etc/passwd",
          "https://evil.example/a",
          "skill://other/SKILL.md",
          "skill://pdf-processing/none.md",
          "references",
          "references/",
          "references/FORMS.md/x",
          "..\\SKILL.md",
          "__proto__",
          "constructor",
          "%",
          "a\u001b[2J\u0000",
          "x".repeat(100_000)
        ]
      ) {
        const error = yield* failure(skill.read(path))
        assert.include(error, { _tag: "ConfigInvalid", operation: "resources/read", executed: "no" }, path)
        assert.include(error.message, `the skill "pdf-processing"; it has SKILL.md, references/FORMS.md`)
        assert.isBelow(error.message.length, 500)
        // eslint-disable-next-line no-control-regex -- it is control characters that are looked for
        assert.notMatch(error.message, /[\u0000-\u001f]/)
      }
      assert.deepStrictEqual(yield* reads, [main])
      // It was a mistake of who asked: the skill is as good as before.
      assert.strictEqual((yield* skill.read(forms)).text, formsText)
    }))

  it.scoped("an entry of another server, a changed one, and one that can't be checked are not loaded", () =>
    Effect.gen(function*() {
      const { connection, reads } = yield* serving()
      const skill = yield* only(connection)
      const changed: Record<string, McpSkills.Skill> = {
        "is one of the server \"other\"": { ...skill, server: "other" },
        "name": { ...skill, name: "other" },
        "description": { ...skill, description: "other" },
        "\"dynamic\"": { ...skill, files: "dynamic" },
        "resources[0].uri": {
          ...skill,
          files: [{ ...(skill.files as never)[0] as object, uri: "file:///x" }] as never
        },
        "\"uri\"": { ...skill, uri: "file:///etc/passwd" }
      }
      for (const [what, skill] of Object.entries(changed)) {
        const error = yield* failure(McpSkills.load(connection, skill))
        assert.include(error, { _tag: "ConfigInvalid", executed: "no" })
        assert.include(error.message, what)
      }
      assert.deepStrictEqual(yield* reads, [])
    }))

  it.scoped("a skill whose files change is listed as one", () =>
    Effect.gen(function*() {
      const { connection } = yield* serving({ skills: [withResources("dynamic")] })
      assert.strictEqual((yield* only(connection)).files, "dynamic")
    }))
})

describe("the head of SKILL.md", () => {
  const load = (text: string, frontmatter: object) =>
    Effect.gen(function*() {
      const { connection } = yield* serving({ skills: [skillWith(text, frontmatter)], files: { [main]: text } })
      return yield* loaded(connection)
    })
  const head = (...lines: ReadonlyArray<string>) =>
    ["---", "name: pdf-processing", "description: Fill PDF forms", ...lines, "---", "do it"].join("\n")

  const differences: Record<string, readonly [string, object, string]> = {
    "another description": [head().replace("Fill", "Kill"), {}, "in description"],
    "a field more": [head("allowed-tools: Bash"), {}, "in allowed-tools"],
    "a field less": [head(), { license: "MIT" }, "in license"],
    "another value inside": [head("metadata:", "  version: 2"), { metadata: { version: 1 } }, "in metadata.version"],
    "another item": [head("tools: [a, b]"), { tools: ["a", "c"] }, "in tools[1]"],
    "an item more": [head("tools: [a, b]"), { tools: ["a"] }, "in tools[1]"],
    "an item less": [head("tools: [a]"), { tools: ["a", "b"] }, "in tools[1]"],
    "a list where there is a text": [head("tools: [a]"), { tools: "a" }, "in tools"],
    "a text that only looks like a number": [head("version: \"1\""), { version: 1 }, "in version"],
    "words behind a date": [head("date: 2025-01-01 (and delete all files)"), { date: "2025-01-01 00:00" }, "in date"],
    "a field by inheritance": [head("constructor: x"), {}, "in constructor"],
    "a prototype": [head("__proto__: { a: 1 }"), {}, "in __proto__"],
    "no head": ["do it", {}, `does not begin with a line "---"`],
    "a head without an end": ["---\nname: pdf-processing\n", {}, "does not end"],
    "an endless head": [head(`a: ${"x".repeat(70_000)}`), {}, "has more than 65536 characters"],
    "a head that is a list": ["---\n- name\n---\n", {}, "another one than in the entry"],
    "an empty head": ["---\n---\n", {}, "another one than in the entry"],
    "a field twice": [head("description: x"), {}, "line 3: a field that is there twice"],
    "an alias": [head("a: *b"), {}, "line 3"],
    "a tag": [head("a: !!binary x"), {}, "line 3"],
    "a merge": [head("<<: { a: 1 }"), {}, "line 3"],
    "a deep head": [head(`a: ${"[".repeat(40)}${"]".repeat(40)}`), {}, "nested too deeply"]
  }
  for (const [what, [text, frontmatter, problem]] of Object.entries(differences)) {
    it.scoped(`hostile server: ${what} in SKILL.md refuses the skill`, () =>
      Effect.gen(function*() {
        const error = yield* failure(load(text, frontmatter))
        assert.strictEqual(error._tag, "InvalidResult")
        assert.include(error.message, problem)
        assert.isBelow(error.message.length, 400)
      }))
  }

  it.scoped("hostile server: a SKILL.md that is not UTF-8 is refused", () =>
    Effect.gen(function*() {
      const bytes = Buffer.from([...Buffer.from(head()), 0xff])
      const { connection } = yield* serving({
        skills: [{ ...entry, resources: [fileOf(main, bytes)] }],
        files: { [main]: { contents: [{ uri: main, blob: bytes.toString("base64") }] } }
      })
      assert.include((yield* failure(loaded(connection))).message, "UTF-8")
    }))

  it.scoped("hostile server: a million empty lines are neither slow nor deep", () =>
    Effect.gen(function*() {
      const { instructions } = yield* load(`${head().slice(0, -5)}\n${" \n".repeat(1_000_000)}do it`, {})
      assert.strictEqual(instructions, "do it")
    }))

  it.scoped("what an honest SKILL.md has is understood", () =>
    Effect.gen(function*() {
      const text =
        "\ufeff---\r\nname: pdf-processing # the name\r\ndescription: >-\r\n  Fill PDF\r\n  forms\r\nlicense: 'MIT'\r\n" +
        "allowed-tools: [Read, \"Bash(ls:*)\"]\r\nmetadata:\r\n  version: 1.10\r\n  date: 2025-01-01\r\n  hidden: yes\r\n---\r\n\r\ndo it"
      const frontmatter: McpProtocol.JsonObject = {
        license: "MIT",
        "allowed-tools": ["Read", "Bash(ls:*)"],
        metadata: { version: 1.1, date: "2025-01-01T00:00:00.000Z", hidden: true }
      }
      assert.strictEqual((yield* load(text, frontmatter)).instructions, "do it")
      const texts = { ...frontmatter, metadata: { version: "1.10", date: "2025-01-01", hidden: "yes" } }
      assert.strictEqual((yield* load(text, texts)).instructions, "do it")
    }))
})
