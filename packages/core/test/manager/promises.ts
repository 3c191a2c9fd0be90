/**
 * What the tests of the runtime for code that isn't Effect share.
 */
import { assert, it } from "@effect/vitest"
import { CatalogStore, McpRuntime } from "@mcp-runtime/core"
import * as LeakCheck from "@mcp-runtime/testing/LeakCheck"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Layer } from "effect"
import { assertNothingLeft, type Fake, fake, type FakeOptions } from "./kit.js"

export const make = (name: string, options?: FakeOptions) => Effect.runSync(fake(name, options))

const platform = (all: ReadonlyArray<Fake>) =>
  Layer.merge(ScriptedServer.layer(...all.map((_) => _.server)), CatalogStore.layerNone)

export const open = (
  all: ReadonlyArray<Fake>,
  options: Partial<McpRuntime.RuntimeOptions> = {},
  promise?: McpRuntime.PromiseOptions
) => McpRuntime.promise({ servers: all.map((_) => _.config), ...options }, platform(all), promise)

/** Nothing is left of it, not even a fiber. */
export const check = (name: string, test: () => Promise<void>) =>
  it.live(name, () => LeakCheck.noLeaks(Effect.promise(test)))

export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(() => assert.fail("it should have been rejected"), (error: unknown) => error)

export const nothingLeft = (...all: ReadonlyArray<Fake>) => Effect.runPromise(assertNothingLeft(...all))
