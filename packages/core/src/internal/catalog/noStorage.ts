/**
 * A storage that knows nothing and keeps nothing. Who is given this one need not ask it.
 */
import * as Effect from "effect/Effect"
import type * as Catalog from "../../Catalog.js"

export const noStorage: Catalog.Storage = { load: () => Effect.succeed(undefined), save: () => Effect.void }
