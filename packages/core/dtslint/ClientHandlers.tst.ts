import { ClientHandlers, type McpProtocol } from "@mcp-runtime/core"
import { Context, Effect, Stream, SubscriptionRef } from "effect"
import { describe, expect, it } from "tstyche"

class Model extends Context.Tag("Model")<Model, { readonly name: string }>() {}
class User extends Context.Tag("User")<User, { readonly name: string }>() {}
class Files extends Context.Tag("Files")<Files, ReadonlyArray<McpProtocol.Root>>() {}

const sampling = {
  create: () =>
    Effect.map(Model, ({ name }): McpProtocol.SamplingResult => ({
      role: "assistant",
      model: name,
      content: { type: "text", text: "" }
    }))
}

describe("ClientHandlers.make", () => {
  it("needs what its handlers need, all of them together", () => {
    expect(ClientHandlers.make({})).type.toBe<Effect.Effect<ClientHandlers.Handlers>>()
    expect(ClientHandlers.make({ sampling })).type.toBe<Effect.Effect<ClientHandlers.Handlers, never, Model>>()
    expect(
      ClientHandlers.make<Model | User | Files>({
        sampling,
        elicitation: { form: () => Effect.as(User, { action: "decline" as const }) },
        roots: { list: Files, changes: Stream.empty },
        onLog: () => Effect.void
      })
    ).type.toBe<Effect.Effect<ClientHandlers.Handlers, never, Model | User | Files>>()
  })

  it("what it gives needs nothing", () => {
    expect<Effect.Effect.Success<ReturnType<typeof ClientHandlers.make<Model>>>>().type.toBe<
      ClientHandlers.Handlers<never>
    >()
    expect<ClientHandlers.Handlers>().type.not.toBeAssignableFrom<ClientHandlers.Handlers<Model>>()
    expect<ClientHandlers.Handlers<Model>>().type.toBeAssignableFrom<ClientHandlers.Handlers>()
  })

  it("handlers may fail with anything, but answer with what the protocol has", () => {
    expect(ClientHandlers.make).type.toBeCallableWith({ sampling: { create: () => Effect.fail("no") } })
    expect(ClientHandlers.make).type.toBeCallableWith({ requests: { "x/y": () => Effect.succeed({ a: 1 }) } })
    expect(ClientHandlers.make).type.not.toBeCallableWith({ sampling: { create: () => Effect.succeed({}) } })
    expect(ClientHandlers.make).type.not.toBeCallableWith({ requests: { "x/y": () => Effect.succeed("text") } })
    expect(ClientHandlers.make).type.not.toBeCallableWith({
      elicitation: { form: () => Effect.succeed({ action: "yes" }) }
    })
    expect(ClientHandlers.make).type.not.toBeCallableWith({ onLog: () => undefined })
  })

  it("handlers know what they are asked", () => {
    void ClientHandlers.make({
      elicitation: {
        form: (request, context) => {
          expect(request).type.toBe<McpProtocol.FormElicitation>()
          expect(context).type.toBe<ClientHandlers.HandlerContext>()
          return Effect.succeed({ action: "accept", content: { a: "x", b: 1, c: true, d: ["e"] } } as const)
        },
        url: (request) => {
          expect(request).type.toBe<McpProtocol.UrlElicitation>()
          return Effect.succeed({ action: "cancel" } as const)
        }
      },
      onLog: (message) => {
        expect(message.level).type.toBe<McpProtocol.LogLevel>()
        return Effect.void
      }
    })
  })
})

describe("roots", () => {
  it("from a ref or as they are", () => {
    const ref = SubscriptionRef.make<ReadonlyArray<McpProtocol.Root>>([])
    expect(Effect.map(ref, ClientHandlers.rootsFromRef)).type.toBe<Effect.Effect<ClientHandlers.RootsHandler>>()
    expect(ClientHandlers.rootsOf({ uri: "file:///" })).type.toBe<ClientHandlers.RootsHandler>()
    expect(ClientHandlers.rootsOf).type.not.toBeCallableWith("file:///")
  })
})
