import { type McpConnection, type McpError, type McpProtocol, McpSkills } from "@mcp-runtime/core"
import type { Effect } from "effect"
import { describe, expect, it } from "tstyche"

declare const connection: McpConnection.McpConnection
declare const skill: McpSkills.Skill
declare const loaded: McpSkills.LoadedSkill

describe("McpSkills", () => {
  it("has one error type, and no requirements", () => {
    expect(McpSkills.list(connection)).type.toBe<
      Effect.Effect<McpProtocol.Listing<McpSkills.Skill>, McpError.McpError>
    >()
    expect(McpSkills.get(connection, "skill://a/SKILL.md")).type.toBe<
      Effect.Effect<McpSkills.Skill, McpError.McpError>
    >()
    expect(McpSkills.load(connection, skill)).type.toBe<Effect.Effect<McpSkills.LoadedSkill, McpError.McpError>>()
    expect(loaded.read("a.md")).type.toBe<Effect.Effect<McpSkills.SkillContent, McpError.McpError>>()
    expect(McpSkills.list).type.toBeCallableWith(connection, { replay: "never", timeout: "1 second" })
  })

  it("reads files of a skill that was loaded, and of nothing else", () => {
    expect(skill).type.not.toHaveProperty("read")
    expect(McpSkills.load).type.not.toBeCallableWith(connection, "skill://a/SKILL.md")
  })

  it("a skill whose files change has none to go through", () => {
    expect(skill.files).type.toBe<ReadonlyArray<McpSkills.SkillFile> | "dynamic">()
    expect(McpSkills.fingerprint(skill)).type.toBe<string | undefined>()
  })

  it("what is known is not to be changed", () => {
    expect<McpSkills.Skill>().type.not.toBeAssignableFrom<{}>()
    expect<Readonly<McpSkills.Skill>>().type.toBe<McpSkills.Skill>()
    expect(McpSkills.extension).type.toBe<"io.modelcontextprotocol/skills">()
  })
})
