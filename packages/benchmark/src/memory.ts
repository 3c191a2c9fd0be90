/**
 * What this process holds once nothing is left to collect.
 */
import { setTimeout } from "node:timers/promises"
import { collectGarbage } from "./measure.js"

/** Bytes. */
export interface Memory {
  readonly heap: number
  readonly rss: number
}

export const memory = async (): Promise<Memory> => {
  for (let i = 0; i < 3; i++) {
    collectGarbage()
    // Finalizers run in tasks of their own, and no event tells when they have.
    await setTimeout(20)
  }
  const { heapUsed, rss } = process.memoryUsage()
  return { heap: heapUsed, rss }
}
