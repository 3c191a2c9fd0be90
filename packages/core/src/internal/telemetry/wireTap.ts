/**
 * The wire of a session, listened to.
 *
 * Owns: that every message is heard once, in order, both ways; who hears it; that nobody who listens can do harm. Of what
 * arrives while the wire is still opening, before it is known what must not show, the first 64 messages are heard, as far as
 * they are together no larger than one may be.
 * May not touch: what is sent and received.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Mailbox from "effect/Mailbox"
import * as Stream from "effect/Stream"
import type * as McpSession from "../../McpSession.js"
import type * as McpTransport from "../../McpTransport.js"
import type { Frame, TypeId, WireTap, WireTapOptions } from "../../WireTap.js"
import { limitsOf } from "../config/accessors.js"
import { owners } from "../errors/owners.js"
import * as Check from "../options.js"
import { maxDepth, Measure } from "../protocol/json.js"
import * as Secrets from "../secrets.js"
import { shownAs } from "../shownAs.js"
import { render } from "./render.js"

type Listener = (frame: Frame) => void

const typeId: TypeId = Symbol.for("@mcp-runtime/core/WireTap") as TypeId

const checks = {
  capacity: Check.count,
  maxLength: Check.count,
  onFrame: (value: unknown) => Check.listener<Frame>(value)
}

const defaults = { capacity: 1024, maxLength: 16_384, onFrame: undefined }

/** Without options it can't fail. */
export const make = (options: WireTapOptions = {}): Effect.Effect<WireTap, never> =>
  Effect.suspend(() => Either.map(Check.check(checks, defaults, options, owners.wireTap), (_) => new Tap(_))) as never

interface Settings {
  readonly capacity: number
  readonly maxLength: number
  readonly onFrame: Listener | undefined
}

class Tap implements WireTap {
  readonly [typeId]: TypeId = typeId
  private readonly listeners = new Set<Listener>()
  private readonly capacity: number
  readonly maxLength: number

  constructor({ capacity, maxLength, onFrame }: Settings) {
    this.capacity = capacity
    this.maxLength = maxLength
    if (onFrame !== undefined) this.listeners.add(onFrame)
    shownAs(this, "WireTap", () => ({ listeners: this.listeners.size }))
  }

  get isHeard(): boolean {
    return this.listeners.size > 0
  }

  /** Total. */
  tell(frame: Frame): void {
    for (const listener of this.listeners) {
      try {
        listener(frame)
      } catch {
        // It is the listener's own affair.
      }
    }
  }

  get frames(): Stream.Stream<Frame> {
    return Stream.unwrapScoped(
      Effect.gen(this, function*() {
        const mailbox = yield* Mailbox.make<Frame>({ capacity: this.capacity, strategy: "sliding" })
        const listener: Listener = (frame) => void mailbox.unsafeOffer(frame)
        yield* Effect.acquireRelease(
          Effect.sync(() => this.listeners.add(listener)),
          () => Effect.zipRight(Effect.sync(() => this.listeners.delete(listener)), mailbox.shutdown)
        )
        return Mailbox.toStream(mailbox)
      })
    )
  }
}

/** The opening of a channel, through the tap of the session if it has one. */
export const tapped = (
  channel: McpTransport.Channel,
  { generation = 0, tap }: McpSession.SessionOptions,
  now: () => number
): McpTransport.Channel["open"] => {
  if (!(tap instanceof Tap)) return channel.open
  return (events) => {
    const { messageBytes } = limitsOf(channel.config)
    const wire = new TappedWire(tap, channel.config.name, generation, now, new Measure(messageBytes))
    return Effect.map(channel.open(wire.events(events)), (transport) => wire.over(transport))
  }
}

/** What is kept until it is known what must not show. */
const mostEarly = 64

/** One session of a server, through a tap. */
class TappedWire {
  private transport: McpTransport.MessageTransport | undefined = undefined
  private early: Array<{ readonly message: unknown; readonly at: number }> = []

  constructor(
    private readonly tap: Tap,
    private readonly server: string,
    private readonly generation: number,
    private readonly now: () => number,
    /** How large what is kept is, together. */
    private readonly kept: Measure
  ) {}

  events(events: McpTransport.TransportEvents): McpTransport.TransportEvents {
    return {
      ...events,
      message: (message) => {
        this.hear("received", message)
        events.message(message)
      }
    }
  }

  over(transport: McpTransport.MessageTransport): McpTransport.MessageTransport {
    this.transport = transport
    for (const { at, message } of this.early.splice(0)) this.tell("received", message, at)
    return {
      kind: () => transport.kind(),
      sessionId: () => transport.sessionId(),
      send: (message, sent) => {
        this.hear("sent", message)
        transport.send(message, sent)
      },
      release: (id) => transport.release(id),
      negotiated: (protocolVersion) => transport.negotiated(protocolVersion),
      listen: Effect.suspend(() => transport.listen),
      stderrTail: () => transport.stderrTail(),
      secrets: () => this.secrets,
      reading: transport.reading === undefined ? undefined : () => transport.reading!()
    }
  }

  private hear(direction: Frame["direction"], message: unknown): void {
    if (!this.tap.isHeard) return
    if (this.transport !== undefined) this.tell(direction, message, this.now())
    else if (this.hasRoomFor(message)) this.early.push({ message, at: this.now() })
  }

  /** What is nested too deeply is not measured to its end. */
  private hasRoomFor(message: unknown): boolean {
    return this.early.length < mostEarly && this.kept.add(message) <= maxDepth && !this.kept.isExceeded
  }

  private tell(direction: Frame["direction"], message: unknown, at: number): void {
    const { cut, text } = render(message, this.secrets, this.tap.maxLength)
    const { id, method } = Object(message) as { readonly id?: unknown; readonly method?: unknown }
    this.tap.tell(Object.freeze({
      server: this.server,
      generation: this.generation,
      direction,
      at,
      method: typeof method === "string" ? this.short(method) : undefined,
      id: typeof id === "string" ? this.short(id) : typeof id === "number" ? id : undefined,
      text,
      truncated: cut
    }))
  }

  /** As a text of a message, without its quotes. */
  private short(text: string): string {
    return Secrets.without(text, this.secrets).slice(0, 256)
  }

  private get secrets(): ReadonlyArray<string> {
    return this.transport?.secrets?.() ?? Secrets.none
  }
}
