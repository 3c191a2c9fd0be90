/**
 * Records what real servers say, for `packages/core/test/fuzz/traffic`: run once, by
 * `npx tsx --conditions=@mcp-runtime/source packages/node/test/fuzz/record.ts`.
 *
 * Owns: the transcripts, which are small: long texts are cut, and of lists the first items are kept.
 */
import { type McpConfig, McpConfig as Configs, type McpProtocol, McpSession, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect, Stream } from "effect"
import * as Fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { everythingOverHttp, stdio } from "../realServers.js"

const directory = fileURLToPath(new URL("../../../core/test/fuzz/traffic", import.meta.url))

interface Said {
  readonly to?: string
  readonly message: unknown
}

const longest = 200
const mostItems = 12

const shortened = (value: unknown, root: string): unknown => {
  if (typeof value === "string") return value.replaceAll(root, "/data").slice(0, longest)
  if (Array.isArray(value)) return value.slice(0, mostItems).map((_) => shortened(_, root))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, _]) => [key, shortened(_, root)]))
}

/** The same channel, with everything that comes over it written down. */
const recorded = (channel: McpTransport.Channel, said: Array<Said>, root: string): McpTransport.Channel => {
  const asked = new Map<unknown, string>()
  return {
    ...channel,
    open: (events) =>
      Effect.map(
        channel.open({
          ...events,
          message: (message) => {
            const { id, method } = message as McpProtocol.JsonObject
            const to = method === undefined ? asked.get(id) : undefined
            said.push({ ...(to !== undefined && { to }), message: shortened(message, root) })
            events.message(message)
          }
        }),
        (transport) => ({
          ...transport,
          send: (message, sent) => {
            if ("method" in message && "id" in message) asked.set(message.id, message.method)
            transport.send(message, sent)
          }
        })
      )
  }
}

const tell = <A, E>(effect: Effect.Effect<A, E>) => Effect.ignore(effect)

const conversation = (session: McpSession.McpSession, root: string) =>
  Effect.gen(function*() {
    yield* Effect.fork(Stream.runDrain(session.incoming))
    const call = (name: string, args: McpProtocol.JsonObject = {}) =>
      tell(McpSession.callTool(session, { name, arguments: args }))
    yield* tell(McpSession.ping(session))
    const tools = yield* McpSession.listTools(session)
    yield* tell(McpSession.listResources(session))
    yield* tell(McpSession.listResourceTemplates(session))
    yield* tell(McpSession.listPrompts(session))
    yield* call("echo", { message: "hello" })
    yield* call("echo", {})
    yield* call("no-such-tool")
    for (const { name } of tools.items) {
      if (/image|structured|annotated|reference|links/i.test(name)) {
        yield* call(name, { location: "New York", messageType: "error", resourceType: "Text", resourceId: 1, count: 2 })
      }
    }
    yield* call("trigger-long-running-operation", { duration: 1, steps: 4 })
    yield* call("trigger-sampling-request", { prompt: "hi", maxTokens: 5 })
    yield* call("get-roots-list")
    yield* call("create_entities", { entities: [{ name: "a", entityType: "b", observations: ["c"] }] })
    yield* call("read_graph")
    yield* call("search_nodes", { query: "a" })
    yield* call("write_file", { path: `${root}/a.txt`, content: "hello" })
    yield* call("read_text_file", { path: `${root}/a.txt` })
    yield* call("list_directory", { path: root })
    yield* call("directory_tree", { path: root })
    yield* call("read_text_file", { path: "/etc/passwd" })
    yield* tell(McpSession.getPrompt(session, { name: "simple-prompt" }))
    yield* tell(McpSession.getPrompt(session, { name: "args-prompt", arguments: { city: "Oslo" } }))
    yield* tell(McpSession.readResource(session, "demo://resource/dynamic/text/1"))
    yield* tell(McpSession.readResource(session, "demo://resource/dynamic/blob/1"))
    yield* tell(McpSession.complete(session, {
      ref: { type: "ref/prompt", name: "completable-prompt" },
      argument: { name: "department", value: "E" }
    }))
  })

const record = (name: string, config: McpConfig.ServerConfigInput, root: string) =>
  Effect.gen(function*() {
    const said: Array<Said> = []
    const transport = yield* McpTransport.McpTransport
    const channel = yield* transport.channel(yield* Configs.decode(config))
    const session = yield* McpSession.open(recorded(channel, said, root), {
      logLevel: "debug",
      handlers: {
        roots: { list: Effect.succeed([{ uri: "file:///data", name: "data" }]) },
        sampling: {
          create: () => Effect.succeed({ role: "assistant", model: "m", content: { type: "text", text: "x" } })
        }
      }
    })
    yield* conversation(session, root)
    Fs.mkdirSync(directory, { recursive: true })
    Fs.writeFileSync(join(directory, `${name}.json`), `[\n${said.map((_) => JSON.stringify(_)).join(",\n")}\n]\n`)
    process.stdout.write(`${name}: ${said.length} messages\n`)
  }).pipe(Effect.scoped, Effect.provide(NodeMcp.layerTransport))

const root = Fs.realpathSync(Fs.mkdtempSync(join(tmpdir(), "record-")))

const program = Effect.gen(function*() {
  yield* record("everything-stdio", stdio("server-everything", { args: ["stdio"] }), root)
  yield* record("filesystem-stdio", stdio("server-filesystem", { args: [root] }), root)
  yield* record("memory-stdio", stdio("server-memory", { env: { MEMORY_FILE_PATH: join(root, "memory.json") } }), root)
  const port = yield* everythingOverHttp("streamableHttp")
  yield* record(
    "everything-http",
    { name: "http", transport: "http", url: `http://127.0.0.1:${port}/mcp` },
    root
  )
}).pipe(Effect.scoped, Effect.ensuring(Effect.sync(() => Fs.rmSync(root, { recursive: true, force: true }))))

void Effect.runPromise(program)
