import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import { FileStore, FileTokens, LoopbackAuthorizer, NodeSecrets, UndiciExchange } from "@mcp-runtime/node"
import { type Duration, Effect, Layer } from "effect"

/** Whatever it is, of JavaScript too. */
const wrong: ReadonlyArray<unknown> = [-5, 0, Number.NaN, Number.POSITIVE_INFINITY, "soon", "-5 seconds", {}]

const places: ReadonlyArray<
  readonly [
    field: string,
    owner: string,
    make: (value: Duration.DurationInput) => unknown,
    layer: (value: Duration.DurationInput) => Layer.Layer<never, McpError.ConfigInvalid>
  ]
> = [
  ...(["keepAliveTimeout", "connectTimeout", "closeTimeout"] as const).map((field) =>
    [
      field,
      "<undici>",
      (value: Duration.DurationInput) => UndiciExchange.make({ [field]: value }),
      (value: Duration.DurationInput) => UndiciExchange.layerOptions({ [field]: value }) as never
    ] as const
  ),
  [
    "expireAfter",
    "<file store>",
    (expireAfter) => FileStore.make("/tmp/x", { expireAfter }),
    (expireAfter) => FileStore.layer("/tmp/x", { expireAfter }) as never
  ],
  [
    "lockTimeout",
    "<file tokens>",
    (lockTimeout) => FileTokens.make("/tmp/x", { lockTimeout }),
    (lockTimeout) => FileTokens.layer("/tmp/x", { lockTimeout }) as never
  ],
  ...(["commandTimeout", "reuseCommands"] as const).map((field) =>
    [
      field,
      "<secrets>",
      (value: Duration.DurationInput) => NodeSecrets.make({ [field]: value }),
      (value: Duration.DurationInput) => NodeSecrets.layer({ [field]: value }) as never
    ] as const
  ),
  [
    "timeout",
    "<loopback authorizer>",
    (timeout) => LoopbackAuthorizer.make({ timeout }),
    (timeout) => LoopbackAuthorizer.layer({ timeout }) as never
  ]
]

const built = <A, E>(layer: Layer.Layer<A, E>) => Effect.scoped(Effect.asVoid(Layer.build(layer)))

describe("a duration of an option", () => {
  for (const [field, owner, make, layer] of places) {
    it.effect(`${owner} ${field} is positive and finite, or an error that names it`, () =>
      Effect.gen(function*() {
        for (const value of wrong) {
          const error = yield* Effect.flip(built(layer(value as never)))
          assert(error._tag === "ConfigInvalid")
          assert.strictEqual(error.server, owner)
          assert.deepStrictEqual(error.problems.map((_) => _.field), [field])
          assert.throws(() => make(value as never), McpError.ConfigInvalid)
        }
        yield* built(layer("1 hour"))
        assert.isDefined(make("1 hour"))
      }))
  }
})
