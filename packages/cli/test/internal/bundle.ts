/** The file that has the whole command, which `bundling.ts` has made. */
import { inject } from "@effect/vitest"

declare module "vitest" {
  interface ProvidedContext {
    readonly bundle: string
  }
}

export const bundle = (): string => inject("bundle")
