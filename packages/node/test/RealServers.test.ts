import { assert, describe, it } from "@effect/vitest"
import { ClientHandlers, type McpConfig, McpProtocol, McpSession } from "@mcp-runtime/core"
import { LeakCheck } from "@mcp-runtime/testing"
import { Deferred, Effect, Exit, Fiber, Queue, Stream, SubscriptionRef } from "effect"
import type { Scope } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { everythingOverHttp, openSession, stdio, textOf, toolsIncluding } from "./realServers.js"

const everything: Record<string, Effect.Effect<McpConfig.ServerConfigInput, Error, Scope.Scope>> = {
  stdio: Effect.succeed(stdio("server-everything")),
  http: Effect.map(everythingOverHttp("streamableHttp"), (port) => ({
    name: "everything",
    transport: "http" as const,
    url: `http://127.0.0.1:${port}/mcp`
  })),
  sse: Effect.map(everythingOverHttp("sse"), (port) => ({
    name: "everything",
    transport: "sse" as const,
    url: `http://127.0.0.1:${port}/sse`
  })),
  "auto, which is http": Effect.map(everythingOverHttp("streamableHttp"), (port) => ({
    name: "everything",
    transport: "auto" as const,
    url: `http://127.0.0.1:${port}/mcp`
  })),
  "auto, which is sse": Effect.map(everythingOverHttp("sse"), (port) => ({
    name: "everything",
    transport: "auto" as const,
    url: `http://127.0.0.1:${port}/sse`
  }))
}

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "mcp-runtime-")))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
)

describe.each(Object.entries(everything))("server-everything over %s", (_, target) => {
  it.live("does everything it offers, and nothing is left", () =>
    LeakCheck.noLeaks(
      Effect.scoped(
        Effect.gen(function*() {
          const input = yield* target
          const updates = yield* Queue.unbounded<string>()
          const logs = yield* Queue.unbounded<McpProtocol.LogMessage>()
          const roots = yield* SubscriptionRef.make<ReadonlyArray<McpProtocol.Root>>([{
            uri: "file:///one",
            name: "One"
          }])
          const asked: Array<string> = []
          const session = yield* openSession(input, {
            logLevel: "debug",
            handlers: {
              sampling: {
                create: (request) =>
                  Effect.succeed({
                    role: "assistant",
                    model: "scripted",
                    content: { type: "text", text: `answer to ${request.messages.length} message(s)` }
                  })
              },
              elicitation: {
                applyDefaults: true,
                form: (request) => {
                  asked.push(request.message)
                  const properties = request.requestedSchema.properties as Record<string, McpProtocol.JsonObject>
                  return Effect.succeed({
                    action: "accept",
                    content: "interpretation" in properties ? { interpretation: "technical" } : { name: "Ada" }
                  })
                },
                url: () => Effect.succeed({ action: "accept" })
              },
              roots: ClientHandlers.rootsFromRef(roots),
              onLog: (message) => Queue.offer(logs, message),
              onNotification: (notification) =>
                notification.method === "notifications/resources/updated"
                  ? Queue.offer(updates, String(notification.params.uri))
                  : Effect.void
            }
          })
          assert.strictEqual(session.info.protocolVersion, McpProtocol.latestProtocolVersion)
          yield* McpSession.ping(session)

          // tools, some of which are registered after the handshake
          const tools = yield* toolsIncluding(session, "get-roots-list")
          for (const name of ["trigger-sampling-request", "trigger-elicitation-request"]) {
            if (!tools.some((_) => _.name === name)) yield* McpSession.listTools(session)
          }
          const sum = yield* McpSession.callTool(session, { name: "get-sum", arguments: { a: 2, b: 3 } })
          assert.include(textOf(sum), "5")
          const structured = yield* McpSession.callTool(session, {
            name: "get-structured-content",
            arguments: { location: "Chicago" }
          })
          assert.isObject(structured.structuredContent)
          const image = yield* McpSession.callTool(session, { name: "get-tiny-image" })
          assert.isTrue(image.content.some((_) => _.type === "image"))
          const links = yield* McpSession.callTool(session, { name: "get-resource-links", arguments: { count: 2 } })
          assert.strictEqual(links.content.filter((_) => _.type === "resource_link").length, 2)
          const wrong = yield* McpSession.callTool(session, { name: "no-such-tool" })
          assert.isTrue(wrong.isError)

          // progress
          const progress: Array<number> = []
          yield* McpSession.callTool(
            session,
            { name: "trigger-long-running-operation", arguments: { duration: 0.2, steps: 4 } },
            { onProgress: (_) => Effect.sync(() => progress.push(_.progress)) }
          )
          assert.deepStrictEqual(progress, [1, 2, 3, 4])

          // prompts and completion
          const prompts = yield* McpSession.listPrompts(session)
          assert.isTrue(prompts.items.some((_) => _.name === "completable-prompt"))
          const prompt = yield* McpSession.getPrompt(session, { name: "args-prompt", arguments: { city: "Oslo" } })
          assert.include(JSON.stringify(prompt.messages), "Oslo")
          const completion = yield* McpSession.complete(session, {
            ref: { type: "ref/prompt", name: "completable-prompt" },
            argument: { name: "department", value: "E" }
          })
          assert.deepStrictEqual([...completion.values], ["Engineering"])
          const missing = yield* Effect.flip(McpSession.getPrompt(session, { name: "no-such-prompt" }))
          assert.strictEqual(missing._tag, "RemoteError")

          // resources and templates
          const resources = yield* McpSession.listResources(session)
          assert.isAbove(resources.items.length, 0)
          const templates = yield* McpSession.listResourceTemplates(session)
          assert.strictEqual(templates.items.length, 2)
          const text = yield* McpSession.readResource(session, "demo://resource/dynamic/text/1")
          assert.include(text.contents[0]!.text!, "Resource 1")
          const blob = yield* McpSession.readResource(session, "demo://resource/dynamic/blob/1")
          assert.isString(blob.contents[0]!.blob)

          // subscriptions and logging
          yield* McpSession.subscribe(session, "demo://resource/dynamic/text/1")
          yield* McpSession.callTool(session, { name: "toggle-subscriber-updates" })
          assert.strictEqual(yield* Queue.take(updates), "demo://resource/dynamic/text/1")
          yield* McpSession.callTool(session, { name: "toggle-subscriber-updates" })
          yield* McpSession.unsubscribe(session, "demo://resource/dynamic/text/1")
          // It also logs that it has our roots, whenever it has got them.
          const isOfResource = ({ data }: McpProtocol.LogMessage) => String(data).includes("Resource request")
          assert.isTrue(isOfResource(yield* Effect.repeat(Queue.take(logs), { until: isOfResource })))
          yield* McpSession.setLogLevel(session, "error")

          // what it asks us
          yield* toolsAre(session, ["trigger-sampling-request", "trigger-elicitation-request"])
          const sampled = yield* McpSession.callTool(session, {
            name: "trigger-sampling-request",
            arguments: { prompt: "hello" }
          })
          assert.include(textOf(sampled), "answer to 1 message(s)")
          const elicited = yield* McpSession.callTool(session, { name: "trigger-elicitation-request" })
          assert.include(textOf(elicited), "Ada")
          assert.strictEqual(asked.length, 1)
          assert.include(textOf(yield* McpSession.callTool(session, { name: "get-roots-list" })), "file:///one")

          // a call as a task, with a question on the way
          const seen: Array<string> = []
          const report = yield* McpSession.callToolAsTask(
            session,
            { name: "simulate-research-query", arguments: { topic: "python", ambiguous: true } },
            { onStatus: (task) => Effect.sync(() => seen.push(task.status)) }
          )
          assert.include(textOf(report), "technical")
          assert.include(seen, "input_required")
          assert.strictEqual(asked.length, 2)

          // interruption
          const running = yield* Effect.fork(
            McpSession.callTool(session, {
              name: "trigger-long-running-operation",
              arguments: { duration: 0.5, steps: 1 }
            })
          )
          yield* Effect.yieldNow()
          assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(running)))
          yield* McpSession.ping(session)
          assert.strictEqual((yield* session.stats).inFlight, 0)
        })
      )
    ), 60_000)
})

const toolsAre = (session: McpSession.McpSession, names: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { items } = yield* McpSession.listTools(session)
    for (const name of names) assert.isTrue(items.some((_) => _.name === name), name)
  })

describe("other published servers", () => {
  it.live("server-filesystem: structured output, errors as values, roots replace its directories", () =>
    LeakCheck.noLeaks(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      const other = yield* temporary
      fs.writeFileSync(path.join(directory, "a.txt"), "alpha")
      fs.writeFileSync(path.join(other, "b.txt"), "beta")
      const session = yield* openSession(stdio("server-filesystem", { args: [directory] }))
      const { items } = yield* McpSession.listTools(session)
      assert.isTrue(items.every((_) => _.outputSchema !== undefined))
      const read = (session: McpSession.McpSession, file: string) =>
        McpSession.callTool(session, { name: "read_text_file", arguments: { path: file } })
      const a = yield* read(session, path.join(directory, "a.txt"))
      assert.deepStrictEqual(a.structuredContent, { content: "alpha" })
      assert.isTrue((yield* read(session, path.join(other, "b.txt"))).isError)

      const asked = yield* Deferred.make<void>()
      const withRoots = yield* openSession(stdio("server-filesystem", { args: [directory] }), {
        handlers: {
          roots: {
            list: Effect.as(Deferred.succeed(asked, undefined), [{ uri: `file://${other}` }])
          }
        }
      })
      yield* Deferred.await(asked)
      const b = yield* read(withRoots, path.join(other, "b.txt")).pipe(
        Effect.repeat({ until: (_) => _.isError !== true, times: 1000 })
      )
      assert.deepStrictEqual(b.structuredContent, { content: "beta" })
    }))))

  it.live("server-memory: one update per change of a subscribed resource, none after unsubscribing", () =>
    LeakCheck.noLeaks(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      const session = yield* openSession(
        stdio("server-memory", { env: { MEMORY_FILE_PATH: path.join(directory, "memory.json") } })
      )
      const { items } = yield* McpSession.listResources(session)
      const uri = items[0]!.uri
      const create = (name: string) =>
        McpSession.callTool(session, {
          name: "create_entities",
          arguments: { entities: [{ name, entityType: "person", observations: ["x"] }] }
        })
      yield* McpSession.subscribe(session, uri)
      yield* create("Ada")
      const update = yield* Stream.runHead(session.incoming)
      assert.deepStrictEqual(update._tag === "Some" ? update.value.params : undefined, { uri })
      yield* McpSession.unsubscribe(session, uri)
      yield* create("Grace")
      const graph = yield* McpSession.callTool(session, { name: "read_graph" })
      assert.include(textOf(graph), "Grace")
      assert.strictEqual((yield* session.stats).warnings.DroppedNotification, undefined)
    }))))

  it.live("server-sequential-thinking: chatter on stderr disturbs nothing", () =>
    LeakCheck.noLeaks(Effect.scoped(Effect.gen(function*() {
      const session = yield* openSession(stdio("server-sequential-thinking"))
      const { items } = yield* McpSession.listTools(session)
      for (let i = 1; i <= 3; i++) {
        const result = yield* McpSession.callTool(session, {
          name: items[0]!.name,
          arguments: { thought: `step ${i}`, thoughtNumber: i, totalThoughts: 3, nextThoughtNeeded: i < 3 }
        })
        assert.isObject(result.structuredContent)
      }
    }))))

  it.live("server-redis without Redis never answers: the handshake deadline, and its process is gone", () =>
    LeakCheck.noLeaks(Effect.gen(function*() {
      const error = yield* openSession(
        stdio("server-redis", {
          args: ["redis://127.0.0.1:1"],
          timeouts: { handshake: "1500 millis" },
          shutdown: { afterEof: "100 millis", afterTerm: "100 millis" }
        })
      ).pipe(Effect.scoped, Effect.flip)
      assert(error._tag === "RequestTimeout" || error._tag === "HandshakeFailed", error.message)
      if (error._tag === "RequestTimeout") assert.strictEqual(error.kind, "handshake")
    })))

  it.live("S03: server-slack without its variables ends at once: its exit code and its words are in the error", () =>
    LeakCheck.noLeaks(Effect.gen(function*() {
      const error = yield* openSession(stdio("server-slack")).pipe(Effect.scoped, Effect.flip)
      assert(error._tag === "HandshakeFailed", error.message)
      assert.strictEqual(error.exit?.code, 1)
      assert.include(error.stderrTail, "SLACK_BOT_TOKEN")
    })))
})
