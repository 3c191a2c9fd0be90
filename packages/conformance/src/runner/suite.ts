/**
 * The suite: where it is, what it offers, and how one scenario of it is started.
 *
 * Owns: its command line.
 * May not touch: its files.
 */
import * as Effect from "effect/Effect"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Offered, Planned } from "./plan.js"
import { Broken, type Command, output } from "./process.js"

const suite = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json")),
  "dist",
  "index.js"
)

const node20 = fileURLToPath(new URL("../../node20.mjs", import.meta.url))

const started = (...args: ReadonlyArray<string>): ReadonlyArray<string> => [
  process.execPath,
  "--import",
  node20,
  suite,
  ...args
]

/** `  - name [revision,revision]`, or `  - name [extension]`. */
const line = /^ {2}- (\S+) \[([^\]]+)\]$/gm

/** The scenarios for clients. */
export const offered: Effect.Effect<ReadonlyArray<Offered>, Broken> = output({
  argv: started("list", "--client")
}).pipe(
  Effect.map((text) =>
    Array.from(text.matchAll(line), ([, scenario, of]): Offered => ({
      scenario: scenario!,
      revisions: of === "extension" ? of : of!.split(",")
    }))
  ),
  Effect.filterOrFail(
    (found) => found.length > 0,
    () => new Broken({ message: "the suite lists no scenarios, or not as it used to" })
  )
)

/** The version of the suite. */
export const version: Effect.Effect<string, Broken> = Effect.map(
  output({ argv: started("--version") }),
  (text) => text.trim()
)

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/**
 * One scenario, with its results in this directory. The suite appends the URL of its server to the command and gives both
 * to a shell, without quotes; and of a client that was killed by a signal it says that all was well. `eval` lets a path have
 * spaces, and makes that end an exit code.
 */
export const running = (
  { group, revision, scenario }: Planned,
  { client, directory }: { readonly client: ReadonlyArray<string>; readonly directory: string }
): Command => ({
  argv: started(
    "client",
    "--command",
    `eval "$CONFORMANCE_CLIENT"`,
    "--scenario",
    scenario,
    "--output-dir",
    directory,
    // Who ends a client that hangs is the runner.
    "--timeout",
    "3600000",
    ...(group === "extension" ? [] : ["--spec-version", revision]),
    ...(group === "ahead" ? ["--force"] : [])
  ),
  env: { CONFORMANCE_CLIENT: client.map(quoted).join(" ") }
})
