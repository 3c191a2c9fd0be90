/**
 * The command line.
 */
import * as Either from "effect/Either"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { revisions, type Selection } from "./plan.js"

export interface Options extends Selection {
  readonly client: string
  readonly repeat: number
  readonly seconds: number
  readonly verbose: boolean
  /** The page whose table is made anew. */
  readonly report: string | undefined
}

export const usage = `npm run conformance -- [options]

  --scenario <name>          only this scenario; may be given several times
  --spec-version <revision>  only the runs of ${revisions.join(", ")}
  --extensions               only the extensions
  --repeat <n>               each run so often
  --timeout <seconds>        how long a run may take (60)
  --client <file>            another client than ours
  --verbose                  everything that the suite writes
  --report <file>            writes the table into this page`

export const parse = (args: ReadonlyArray<string>): Either.Either<Options, string> =>
  Either.flatMap(
    Either.try({
      try: () =>
        parseArgs({
          args: [...args],
          options: {
            "scenario": { type: "string", multiple: true, default: [] },
            "spec-version": { type: "string" },
            "extensions": { type: "boolean", default: false },
            "repeat": { type: "string", default: "1" },
            "timeout": { type: "string", default: "60" },
            "client": { type: "string", default: fileURLToPath(new URL("../client.js", import.meta.url)) },
            "verbose": { type: "boolean", default: false },
            "report": { type: "string" }
          }
        }).values,
      catch: (error) => error instanceof Error ? error.message : String(error)
    }),
    (values) => {
      const { client, extensions, report, scenario, verbose } = values
      const revision = values["spec-version"]
      const repeat = Number(values.repeat)
      const seconds = Number(values.timeout)
      if (revision !== undefined && !revisions.includes(revision)) {
        return Either.left(`--spec-version must be one of ${revisions.join(", ")}`)
      }
      if (!Number.isInteger(repeat) || repeat < 1) return Either.left("--repeat must be a whole number from 1 on")
      if (!(seconds > 0 && seconds <= 3600)) return Either.left("--timeout must be a number of seconds up to 3600")
      return Either.right({ scenarios: scenario, revision, extensions, repeat, seconds, client, verbose, report })
    }
  )
