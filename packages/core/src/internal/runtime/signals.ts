/**
 * What `AbortSignal`s interrupt.
 *
 * Owns: one listener for all fibers of a signal, and none when they have ended. Platforms warn of a leak where a signal has more
 * than ten, and a signal often lives as long as the program.
 */
import type * as Fiber from "effect/Fiber"

type Running = Fiber.RuntimeFiber<unknown, unknown>

interface Followers {
  readonly fibers: Set<Running>
  readonly abort: () => void
}

const followers = new WeakMap<AbortSignal, Followers>()

const interrupt = (fiber: Running): void => fiber.unsafeInterruptAsFork(fiber.id())

const of = (signal: AbortSignal): Followers => {
  const known = followers.get(signal)
  if (known !== undefined) return known
  const fibers = new Set<Running>()
  const made: Followers = { fibers, abort: () => [...fibers].forEach(interrupt) }
  signal.addEventListener("abort", made.abort)
  followers.set(signal, made)
  return made
}

/** Interrupts the fiber when the signal is aborted, or has been. */
export const follow = (fiber: Running, signal: AbortSignal | undefined): void => {
  if (signal === undefined) return
  const { abort, fibers } = of(signal)
  fibers.add(fiber)
  fiber.addObserver(() => {
    fibers.delete(fiber)
    if (fibers.size > 0) return
    signal.removeEventListener("abort", abort)
    followers.delete(signal)
  })
  // While the fiber was started.
  if (signal.aborted) interrupt(fiber)
}
