/**
 * The entry that a skill was loaded with, for as long as it is used.
 *
 * Owns: that only its files are read, that nothing of one is given out before it was checked, and that the first file that
 * does not fit is the last one.
 */
import * as Effect from "effect/Effect"
import type { CallOptions, McpConnection } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import type { Skill, SkillContent, SkillFile } from "../../McpSkills.js"
import { readResource } from "../connection/operations.js"
import * as Content from "./content.js"
import * as Places from "./places.js"

type Result<A> = Effect.Effect<A, McpError.McpError>

export interface Entry extends Skill {
  readonly files: ReadonlyArray<SkillFile>
}

export class Held {
  private refused: string | undefined = undefined

  constructor(private readonly connection: McpConnection, readonly entry: Entry) {}

  read(path: string, options: CallOptions | undefined): Result<SkillContent> {
    return Effect.suspend(() => {
      if (this.refused !== undefined) return Effect.fail(this.refusal("no"))
      const file = Places.find(this.entry.files, path)
      if (file === undefined) return Effect.fail(unusable(this.connection, "path", this.missing(path)))
      return Effect.flatMap(
        readResource(this.connection, file.uri, options),
        (result) =>
          Effect.matchEffect(Content.check(file, result), {
            onFailure: (problem) => Effect.fail(this.refuse(file.path, problem)),
            // Another file may have been refused meanwhile.
            onSuccess: (content) =>
              this.refused === undefined ? Effect.succeed(content) : Effect.fail(this.refusal("yes"))
          })
      )
    })
  }

  refuse(path: string, problem: string): McpError.McpError {
    this.refused ??= `"${McpError.displayText(path, 200)}" of the skill "${this.entry.name}" is refused: ${problem}; ` +
      "the skill may have changed: get its entry again"
    return this.refusal("yes")
  }

  private refusal(executed: McpError.Executed): McpError.McpError {
    return new McpError.InvalidResult({
      server: this.connection.server,
      operation: "resources/read",
      executed,
      detail: this.refused ?? ""
    })
  }

  private missing(path: string): string {
    const { files, name } = this.entry
    const shown = files.slice(0, 10).map((_) => McpError.displayText(_.path, 100)).join(", ")
    const more = files.length > 10 ? ` and ${files.length - 10} more` : ""
    return `"${McpError.displayText(path, 100)}" is no file of the skill "${name}"; it has ${shown}${more}`
  }
}

/** Nothing was sent. */
export const unusable = (connection: McpConnection, field: string, problem: string): McpError.McpError =>
  new McpError.ConfigInvalid({
    server: connection.server,
    operation: "resources/read",
    executed: "no",
    problems: [{ field, problem }]
  })
