/**
 * What went wrong in the client itself, or with what the suite has told it.
 */
import * as Data from "effect/Data"

export class Problem extends Data.TaggedError("Problem")<{ readonly message: string }> {}
