/**
 * An HTTP service that offers the tools of MCP servers, made with `HttpApi` of `@effect/platform`: who uses it needs to know
 * nothing of MCP. It starts on a free port of the loopback, asks itself, and ends.
 */
import {
  FetchHttpClient,
  HttpApi,
  HttpApiBuilder,
  HttpApiClient,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpApiSchema,
  HttpServer
} from "@effect/platform"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { McpError, McpManager, McpRuntime, ToolFilter, ToolNaming, ToolOutput, Toolset } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Console, Context, Effect, Layer, Schema } from "effect"
import { createServer } from "node:http"
import { notesServer } from "./servers/start.js"

// What the service offers.

const Tool = Schema.Struct({ name: Schema.String, description: Schema.String, inputSchema: Schema.Unknown })
const Status = Schema.Struct({ name: Schema.String, phase: Schema.String, error: Schema.optional(Schema.String) })

/** `executed` says whether the tool may have run: only with `"no"` is it safe to ask again. */
class CallFailed extends Schema.TaggedError<CallFailed>()(
  "CallFailed",
  { text: Schema.String, executed: McpError.Executed },
  HttpApiSchema.annotations({ status: 502 })
) {}

class ListFailed extends Schema.TaggedError<ListFailed>()(
  "ListFailed",
  { text: Schema.String },
  HttpApiSchema.annotations({ status: 502 })
) {}

const tools = HttpApiGroup.make("tools", { topLevel: true })
  .add(HttpApiEndpoint.get("status", "/status").addSuccess(Schema.Array(Status)))
  .add(HttpApiEndpoint.get("list", "/tools").addSuccess(Schema.Array(Tool)).addError(ListFailed))
  .add(
    HttpApiEndpoint.post("call", "/tools/:name")
      .setPath(Schema.Struct({ name: Schema.String }))
      .setPayload(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
      .addSuccess(Schema.Struct({ text: Schema.String, isError: Schema.Boolean }))
      .addError(CallFailed)
  )

const api = HttpApi.make("api").add(tools)

// What it does.

class Tools extends Context.Tag("Tools")<Tools, Toolset.Toolbox<never, string>>() {
  static readonly live = Layer.effect(
    Tools,
    Effect.gen(function*() {
      const toolset = yield* Toolset.make(yield* McpManager.McpManager, {
        filter: ToolFilter.allow("add_note", "count"),
        naming: ToolNaming.raw,
        output: ToolOutput.text
      })
      return toolset.for()
    })
  )
}

const handlers = HttpApiBuilder.group(api, "tools", (routes) =>
  Effect.gen(function*() {
    const manager = yield* McpManager.McpManager
    const { call, list } = yield* Tools
    return routes
      .handle("status", () =>
        Effect.map(manager.state, ({ servers }) =>
          servers.map(({ error, name, phase }) => ({ name, phase, ...(error && { error: error.message }) }))))
      .handle("list", () =>
        // Only for the names of the tools: a server that does not work costs nothing but its own.
        Effect.mapBoth(list, {
          onFailure: ({ message }) =>
            new ListFailed({ text: message }),
          onSuccess: ({ tools }) =>
            tools
        }))
      // Who hangs up interrupts the handler, and with it the call: its server is told.
      .handle("call", ({ path, payload }) =>
        call(path.name, payload, { timeout: "20 seconds" }).pipe(
          // What went wrong with a call is a result; this is about how the tools are set up.
          Effect.mapError(({ executed, message }) => new CallFailed({ text: message, executed })),
          Effect.flatMap((result) =>
            result._tag === "Success"
              ? Effect.succeed({ text: result.output, isError: result.isError })
              : new CallFailed({
                text: result.text,
                executed: result._tag === "Failure" ? result.error.executed : "no"
              })
          )
        ))
  }))

const mcp = McpRuntime.layer({ servers: [{ name: "notes", transport: "stdio", ...notesServer }] }).pipe(
  Layer.provide(NodeMcp.layer)
)

const service = HttpApiBuilder.serve().pipe(
  Layer.provide(HttpApiBuilder.api(api)),
  Layer.provide(handlers),
  Layer.provide(Tools.live),
  Layer.provide(mcp),
  Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 }))
)

// Somebody uses it.

const visitor = Effect.gen(function*() {
  const client = yield* HttpServer.addressFormattedWith((baseUrl) => HttpApiClient.make(api, { baseUrl }))
  yield* Console.log("GET /status", yield* client.status())
  yield* Console.log("GET /tools", (yield* client.list()).map(({ name }) => name))
  yield* Console.log(
    "POST /tools/add_note",
    yield* client.call({ path: { name: "add_note" }, payload: { text: "milk" } })
  )
  // A tool that the filter does not show does not exist.
  const failed = yield* Effect.flip(client.call({ path: { name: "crash" }, payload: {} }))
  yield* Console.log("POST /tools/crash", failed._tag === "CallFailed" ? { ...failed } : failed)
})

visitor.pipe(Effect.provide([service, FetchHttpClient.layer]), NodeRuntime.runMain)
