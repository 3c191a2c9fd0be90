/**
 * Where workers come from. Each row has fresh ones, so that none is slow for what another row has left in it; a run that is
 * only to show that everything runs keeps them.
 *
 * Owns: workers between rows. May not touch: workers in use.
 */
import type { Options } from "../options.js"
import type { Who } from "../who.js"
import { startWorker, type Worker } from "./worker.js"

const kept = new Map<Who, Worker>()

export const take = async (who: Who, options: Options): Promise<Worker> => {
  const known = kept.get(who)
  kept.delete(who)
  return known ?? await startWorker(who, options.orderMillis)
}

/** What a worker still holds is for it to close. */
export const giveBack = async (worker: Worker, options: Options): Promise<void> => {
  if (options.conclusive) return worker.end()
  try {
    await worker.ask("reset", {})
    kept.set(worker.who, worker)
  } catch {
    await worker.end()
  }
}

export const endKept = async (): Promise<void> => {
  await Promise.all([...kept.values()].map((_) => _.end()))
  kept.clear()
}
