/** `doctor`: looks at everything, and says what to do. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Report from "../doctor/report.js"
import { ExitCode, type Failure } from "../exit.js"
import type { Common } from "../Options.js"
import * as Region from "../output/region.js"
import { Screen } from "../output/Screen.js"
import { shownName } from "../output/text.js"
import * as Servers from "../Servers.js"
import * as Setup from "../Setup.js"

const defaultTimeout = 30_000

export const run = (options: Common): Effect.Effect<ExitCode, Failure, Screen> =>
  Effect.gen(function*() {
    const { document, json, out } = yield* Screen
    const setup = yield* Setup.read(options)
    const timeout = setup.timeout === 0 ? null : Duration.millis(setup.timeout ?? defaultTimeout)
    const report = yield* Effect.scoped(Effect.gen(function*() {
      const waiting = new Set(setup.loaded.entries.filter((_) => _.config.enabled !== false).map((_) => _.name))
      yield* Region.show(
        ({ spinner, style }) =>
          [...waiting].map((name) => ({ text: `${spinner} ${shownName(name)}`, style: style.cyan })),
        { keep: false }
      )
      return yield* Report.diagnose(setup.loaded, {
        timeout,
        servers: options.server,
        onServer: ({ server }) => Effect.sync(() => void waiting.delete(server))
      })
    })).pipe(Effect.provide(Servers.platform(setup)))
    if (json) yield* document(Report.json(report))
    else {
      const { dim, green, red, yellow } = out.style
      yield* out.line(Report.text(report, { good: green, bad: red, odd: yellow, faint: dim }))
    }
    if (report.ok) return ExitCode.done
    return report.servers.some((_) => _.status === "failed") ? ExitCode.failed : ExitCode.usage
  })
