/**
 * Makes every step of a connection countable, so that an interruption can be placed between any two of them: each message
 * and each stage of a wire, or each turn of the fibers.
 */
import type { McpTransport } from "@mcp-runtime/core"
import type { Fiber } from "effect"
import { Effect, Scheduler } from "effect"

/** Calls `step` around everything that passes between the engine and its wire, and around opening and closing. */
export const stepping = (
  transport: McpTransport.McpTransport["Type"],
  step: () => void
): McpTransport.McpTransport["Type"] => {
  const around = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.sync(step).pipe(Effect.zipRight(effect), Effect.ensuring(Effect.sync(step)))
  return {
    channel: (config) =>
      Effect.acquireRelease(Effect.sync(step), () => Effect.sync(step)).pipe(
        Effect.zipRight(around(transport.channel(config))),
        Effect.map((channel) => ({
          config: channel.config,
          open: (events) =>
            Effect.acquireRelease(Effect.sync(step), () => Effect.sync(step)).pipe(
              Effect.zipRight(around(channel.open(steppingEvents(events, step)))),
              Effect.map((wire) => steppingWire(wire, step))
            )
        }))
      )
  }
}

const counted =
  <Args extends ReadonlyArray<unknown>, A = void>(step: () => void, f: (...args: Args) => A) => (...args: Args): A => {
    step()
    const answer = f(...args)
    step()
    return answer
  }

const steppingEvents = (events: McpTransport.TransportEvents, step: () => void): McpTransport.TransportEvents => ({
  message: counted(step, events.message),
  requestFailed: counted(step, events.requestFailed),
  closed: counted(step, events.closed),
  warning: events.warning,
  serverStream: counted(step, events.serverStream)
})

const steppingWire = (wire: McpTransport.MessageTransport, step: () => void): McpTransport.MessageTransport => ({
  kind: () => wire.kind(),
  sessionId: () => wire.sessionId(),
  stderrTail: () => wire.stderrTail(),
  send: counted<Parameters<typeof wire.send>>(step, (message, sent) => wire.send(message, sent)),
  release: counted<Parameters<typeof wire.release>, boolean>(step, (id) => wire.release(id)),
  negotiated: counted<Parameters<typeof wire.negotiated>>(step, (version) => wire.negotiated(version)),
  listen: Effect.zipRight(Effect.sync(step), Effect.ensuring(wire.listen, Effect.sync(step)))
})

/** A yield takes nine operations itself: with fewer than ten a fiber would yield for ever. */
const opsPerTurn = 10

/** After so many steps fibers yield as they usually do. */
const mostTurns = 20_000

class CountingScheduler implements Scheduler.Scheduler {
  private turns = 0
  constructor(private readonly step: () => void) {}
  shouldYield(fiber: Fiber.RuntimeFiber<unknown, unknown>) {
    return this.turns > mostTurns ? false : Scheduler.defaultScheduler.shouldYield(fiber)
  }
  scheduleTask(task: Scheduler.Task, priority: number, fiber?: Fiber.RuntimeFiber<unknown, unknown>) {
    Scheduler.defaultScheduler.scheduleTask(
      () => {
        this.turns++
        this.step()
        task()
      },
      priority,
      fiber
    )
  }
}

/** Calls `step` before each turn of the fibers of this effect, which are an operation or two long. */
export const inTurns = (step: () => void) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  effect.pipe(
    Effect.withMaxOpsBeforeYield(opsPerTurn),
    Effect.withScheduler(new CountingScheduler(step))
  )
