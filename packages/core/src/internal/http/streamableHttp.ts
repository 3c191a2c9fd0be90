/**
 * One session over Streamable HTTP.
 *
 * Owns: which messages go out, and the end of the session: the server is told what is cancelled, everything that is under
 * way is stopped without a report, and then the server is told that its session is over, all with a deadline. After that
 * nothing is sent.
 * May not touch: the meaning of messages beyond their ids.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { MessageTransport } from "../../McpTransport.js"
import { shownAs } from "../shownAs.js"
import { HttpSession } from "./httpSession.js"
import { Inbox } from "./inbox.js"
import * as Losses from "./losses.js"
import { isRequest, type Note, operationOf } from "./note.js"
import { Outbox } from "./outbox.js"
import type { PostContext } from "./post.js"
import { Post } from "./post.js"
import { ServerStream } from "./serverStream.js"
import { terminate } from "./terminate.js"
import type { Wire } from "./wire.js"
import * as Wires from "./wire.js"

/** How long the opening of a session waits for the standalone stream, in milliseconds. */
const listenTime = 500

export const open = (...parts: Wires.Parts): Effect.Effect<MessageTransport, McpError.McpError, Scope.Scope> =>
  Wires.scoped(parts, (wire) => new StreamableHttp(wire))

class StreamableHttp implements MessageTransport {
  private readonly session: HttpSession
  private readonly inbox: Inbox
  private readonly context: PostContext
  private readonly outbox: Outbox
  private stream: ServerStream | undefined = undefined
  private onNoteSettled: (() => void) | undefined = undefined

  constructor(private readonly wire: Wire) {
    this.session = new HttpSession(wire.target)
    this.inbox = new Inbox(wire.events, wire)
    this.outbox = new Outbox(wire)
    this.context = { wire, session: this.session, inbox: this.inbox }
    shownAs(this, "MessageTransport", () => ({ server: wire.server, transport: this.kind() }))
  }

  readonly kind = () => "http" as const

  readonly sessionId = () => this.session.id

  readonly stderrTail = () => undefined

  readonly secrets = () => Wires.lent(this.wire, this.session.id)

  readonly send: MessageTransport["send"] = (message, sent) => {
    if (this.wire.closed) {
      const error = Losses.closing(this.wire.server, operationOf(message), "no")
      if (isRequest(message)) this.wire.events.requestFailed(message.id, error)
      else sent?.(error)
      return
    }
    if (isRequest(message)) new Post(this.context, message).start()
    else this.sendNote(message, sent)
  }

  readonly release = (id: McpProtocol.RequestId): boolean => this.inbox.pending.get(id)?.release() === true

  readonly negotiated = (protocolVersion: string): void => this.session.negotiated(protocolVersion)

  // Its own, not its prototype's, as all of a transport is: who wraps one copies it.
  readonly listen: Effect.Effect<void> = Effect.async<void>((resume) => {
    if (this.wire.closed || this.stream !== undefined) return resume(Effect.void)
    const stream = new ServerStream(this.context)
    this.stream = stream
    const cancel = this.wire.timers.after(listenTime, () => {
      stream.late()
      resume(Effect.void)
    })
    stream.start(() => {
      cancel()
      resume(Effect.void)
    })
    return Effect.sync(cancel)
  })

  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { timers } = this.wire
      const atMost = Duration.toMillis(McpConfig.timeoutsOf(this.wire.config).close)
      const until = timers.steady.now() + atMost
      const left = () => Math.max(0, until - timers.steady.now())
      return this.farewell(atMost / 2).pipe(
        Effect.zipRight(Effect.sync(() => this.stop())),
        Effect.zipRight(Effect.suspend(() => terminate(this.wire, this.session, left()))),
        Effect.zipRight(Effect.suspend(() => timers.shutdown(left())))
      )
    })
  }

  private stop(): void {
    Wires.stop(this.wire)
    this.inbox.pending.clear()
    for (const note of this.outbox.all) note.settle(Losses.closing(this.wire.server, note.operation, "maybe"))
  }

  /** The server hears first that nobody waits for what it still does. */
  private farewell(atMostMillis: number): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const isOver = () => this.session.lost || !this.outbox.all.some(isCancellation)
      if (isOver()) return resume(Effect.void)
      const cancel = this.wire.timers.after(atMostMillis, () => resume(Effect.void))
      this.onNoteSettled = () => {
        if (!isOver()) return
        cancel()
        resume(Effect.void)
      }
    })
  }

  private sendNote(message: McpProtocol.JsonRpcMessage, sent?: (error: McpError.McpError | undefined) => void): void {
    const { session } = this
    const withSession = session.id !== undefined
    this.outbox.send(message, {
      url: this.wire.target.url,
      headers: session.post,
      sessionId: session.id,
      sessionWorked: () => withSession && session.worked,
      onAccepted: () => {
        if (withSession) session.worked = true
      },
      onSettled: (error) => {
        // A 404 may be about what it refers to, such as a request that is over: only one to a request ends the session.
        sent?.(error)
        this.onNoteSettled?.()
      }
    })
  }
}

const isCancellation = (note: Note): boolean => note.operation === "notifications/cancelled"
