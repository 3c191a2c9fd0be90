/**
 * An approval is for the server that was asked about: not for another program that has its name by then and calls its tools the
 * same.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpConfig, McpConnection } from "@mcp-runtime/core"
import { type McpManager, ToolApproval, ToolFilter } from "@mcp-runtime/core"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { Deferred, Effect, Either, Exit, Fiber } from "effect"
import * as Canonical from "../../src/internal/toolset/canonical.js"
import { sha256 } from "../../src/internal/toolset/sha256.js"
import { end, ending, pendingOf, problemsOf } from "./calling.js"
import * as Kit from "./kit.js"

const always = { approval: ToolApproval.always }

const another =
  "pending: its server is another one, or configured otherwise, since approval was asked; the call must be made anew"

const refusal = <A>(exit: Exit.Exit<A, Toolset.ApproveError>): string => {
  assert(Exit.isFailure(exit) && exit.cause._tag === "Fail", "it should be refused")
  const { error } = exit.cause
  assert(error._tag === "ConfigInvalid", error._tag)
  assert.strictEqual(error.executed, "no")
  return problemsOf(error)
}

/** As it is stored and read again. */
const stored = (pending: ToolApproval.PendingApproval) =>
  Either.getOrThrow(ToolApproval.decode(JSON.parse(JSON.stringify(ToolApproval.encode(pending)))))

/** With these fields, as somebody would store it who knows how fingerprints are made. */
const rewritten = (pending: ToolApproval.PendingApproval, change: Partial<ToolApproval.PendingApproval>) => {
  const changed = { ...ToolApproval.encode(pending), ...change }
  const fingerprint = Canonical.fingerprint(changed)
  return Either.getOrThrow(ToolApproval.decode(JSON.parse(JSON.stringify({ ...changed, fingerprint }))))
}

/** As another process would have asked. */
const ofAnotherProcess = (pending: ToolApproval.PendingApproval) =>
  rewritten(pending, { serverSeal: `${"0".repeat(16)}:${"0".repeat(64)}` })

const remote = { name: "a", transport: "http", url: "https://mcp.test/a" }

/** A server that is configured like this, over a manager. */
const managed = (config: object, options: Toolset.ToolsetOptions<unknown, never, unknown> = {}) =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", ["x"], { config })
    const { manager, toolset } = yield* Kit.managed([a], { ...always, ...options })
    return {
      a,
      manager,
      ...toolset.for(),
      becomes: (...servers: ReadonlyArray<unknown>) =>
        Effect.zipRight(manager.reload(servers as McpManager.ManagerOptions["servers"]), Kit.settled)
    }
  })

describe("an approval, after a reload", () => {
  const own = (): McpConfig.InProcessServer => ({ connect: () => Promise.resolve() })
  const stdio = { name: "a", transport: "stdio", command: "server" }
  const others: ReadonlyArray<readonly [what: string, before: object, after: object]> = [
    ["another command", stdio, { ...stdio, command: "/tmp/hostile" }],
    ["other arguments", { ...stdio, args: ["--root", "/tmp"] }, { ...stdio, args: ["--root", "/"] }],
    ["another directory", stdio, { ...stdio, cwd: "/" }],
    ["another reference", { ...stdio, env: { DB: { env: "STAGING" } } }, { ...stdio, env: { DB: { env: "LIVE" } } }],
    ["another value", { ...stdio, env: { DB: "staging" } }, { ...stdio, env: { DB: "live" } }],
    ["another host", remote, { ...remote, url: "https://hostile.test/a" }],
    ["another query", { ...remote, url: `${remote.url}?db=staging` }, { ...remote, url: `${remote.url}?db=live` }],
    ["another header", { ...remote, headers: { Tenant: "a" } }, { ...remote, headers: { Tenant: "b" } }],
    ["a proxy", remote, { ...remote, proxy: "http://hostile.test" }],
    ["no check of certificates", remote, { ...remote, tls: { verify: false } }],
    ["another client", remote, { ...remote, auth: { type: "oauth", clientId: "other" } }],
    ["another transport", stdio, remote],
    ["another transport, of a server of this process", { name: "a", transport: "inMemory", server: own }, stdio],
    ["another server of this process", { name: "a", transport: "inMemory", server: own }, {
      name: "a",
      transport: "inMemory",
      server: () => own()
    }]
  ]
  for (const [what, before, after] of others) {
    it.scoped(`does not hold for a server with ${what}, whose tool is the same, and nothing is sent`, () =>
      Effect.gen(function*() {
        const { a, approve, becomes, call } = yield* managed({})
        yield* becomes(before)
        const [first, second] = [yield* pendingOf(call("a__x")), stored(yield* pendingOf(call("a__x")))]
        yield* becomes(after)
        for (const pending of [first, second]) {
          assert.strictEqual(refusal(yield* Effect.exit(approve(pending))), another)
        }
        assert.deepStrictEqual(yield* a.calls, [])
        assert.strictEqual(yield* ending(approve(yield* pendingOf(call("a__x")))), "a x")
      }))
  }

  it.scoped("holds for a server that is only used otherwise, and for one that is what it was again", () =>
    Effect.gen(function*() {
      const { a, approve, becomes, call } = yield* managed({ env: { TOKEN: "secret" } })
      const [first, second] = [yield* pendingOf(call("a__x")), yield* pendingOf(call("a__x"))]
      yield* becomes({ ...a.config, timeouts: { request: "5 seconds" }, trusted: true, concurrency: 2 })
      assert.strictEqual(yield* ending(approve(first)), "a x")
      yield* becomes({ ...a.config, command: "other" })
      yield* becomes(a.config)
      assert.strictEqual(yield* ending(approve(stored(second))), "a x")
    }))

  it.scoped("of another process holds where values are others that are written out, and for nothing else", () =>
    Effect.gen(function*() {
      const { a, approve, becomes, call } = yield* managed({ env: { TOKEN: "before" } })
      const [first, second] = [yield* pendingOf(call("a__x")), yield* pendingOf(call("a__x"))]
      yield* becomes({ ...a.config, env: { TOKEN: "rotated" } })
      assert.strictEqual(yield* ending(approve(ofAnotherProcess(first))), "a x")
      yield* becomes({ ...a.config, env: { TOKEN: { env: "TOKEN" } } })
      assert.strictEqual(refusal(yield* Effect.exit(approve(ofAnotherProcess(second)))), another)
    }))

  it.scoped("that can't be used for the other server can be rejected", () =>
    Effect.gen(function*() {
      const { a, becomes, call, reject } = yield* managed({})
      const pending = yield* pendingOf(call("a__x"))
      yield* becomes({ ...a.config, command: "/tmp/hostile" })
      assert.strictEqual(yield* ending(reject(pending, "no")), "Rejected no")
    }))
})

describe("a reload while an approval is used", () => {
  const hostile = { command: "/tmp/hostile" }

  it.scoped("while the list of the server is read: nothing is sent", () =>
    Effect.gen(function*() {
      const { a, approve, becomes, call } = yield* managed({})
      const pending = yield* pendingOf(call("a__x"))
      const gate = yield* Deferred.make<void>()
      a.listing = Deferred.await(gate)
      yield* a.server.notify(Kit.toolsChanged)
      yield* Kit.settled
      const approving = yield* Kit.begun(approve(pending))
      a.listing = Effect.void
      yield* becomes({ ...a.config, ...hostile })
      yield* Deferred.succeed(gate, undefined)
      yield* Kit.settled
      assert.strictEqual(end(yield* Fiber.join(approving)), "Failure ConnectionUnavailable")
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("while a filter thinks: it is refused", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      let waits = Effect.void
      const filter = ToolFilter.dynamic(() => Effect.as(waits, true))
      const a = yield* Kit.server("a", ["x"])
      const { manager, toolset } = yield* Kit.managed([a], { ...always, filter })
      const { approve, call } = toolset.for({ agent: 1, runContext: 2 })
      const pending = yield* pendingOf(call("a__x"))
      waits = Deferred.await(gate)
      const approving = yield* Kit.begun(approve(pending))
      yield* manager.reload([{ ...a.config, ...hostile } as McpConfig.ServerConfigInput])
      yield* Deferred.succeed(gate, undefined)
      yield* Kit.settled
      assert.strictEqual(refusal(yield* Fiber.join(approving)), another)
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  for (const step of ["meta", "around"] as const) {
    it.scoped(`after it was looked at, in \`${step}\`: the call does not go to the new one`, () =>
      Effect.gen(function*() {
        const gate = yield* Deferred.make<void>()
        const waiting = Deferred.await(gate)
        const { a, approve, becomes, call } = yield* managed(
          {},
          step === "meta"
            ? { meta: () => Effect.as(waiting, undefined) }
            : { around: (_, next) => Effect.zipRight(waiting, next()) }
        )
        const approving = yield* Kit.begun(approve(yield* pendingOf(call("a__x"))))
        yield* becomes({ ...a.config, ...hostile })
        yield* Deferred.succeed(gate, undefined)
        yield* Kit.settled
        assert.strictEqual(end(yield* Fiber.join(approving)), "Failure ConnectionUnavailable")
        assert.deepStrictEqual(yield* a.calls, [])
      }))
  }

  it.scoped("while a policy thinks that asks for it: it is for the server that was thought about", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const approval = Either.getOrThrow(ToolApproval.make(() => Effect.as(Deferred.await(gate), true)))
      const a = yield* Kit.server("a", ["x"])
      const { manager, toolset } = yield* Kit.managed([a], { approval })
      const { approve, call } = toolset.for({ agent: 1, runContext: 2 })
      const calling = yield* Effect.fork(pendingOf(call("a__x")))
      yield* Kit.settled
      yield* manager.reload([{ ...a.config, ...hostile } as McpConfig.ServerConfigInput])
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(refusal(yield* Effect.exit(approve(yield* Fiber.join(calling)))), another)
      assert.deepStrictEqual(yield* a.calls, [])
    }))
})

describe("an approval, of which server it is for", () => {
  it.scoped("is one of each connection, where there is no manager", () =>
    Effect.gen(function*() {
      const [a, other] = [
        yield* Kit.server("a", ["x"]),
        yield* Kit.server("a", ["x"], { config: { command: "other" } })
      ]
      const asking = (yield* Kit.toolset([a], always)).for()
      const [first, second] = [yield* pendingOf(asking.call("a__x")), yield* pendingOf(asking.call("a__x"))]
      const approve = (yield* Kit.toolset([other], always)).for().approve
      assert.strictEqual(refusal(yield* Effect.exit(approve(first))), another)
      assert.deepStrictEqual(yield* other.calls, [])
      assert.strictEqual(yield* ending((yield* Kit.toolset([a], always)).for().approve(stored(second))), "a x")
    }))

  it.scoped("that does not say it, as those that were stored before did not, can be read and rejected, not approved", () =>
    Effect.gen(function*() {
      const { a, approve, call, reject } = yield* managed({})
      const before = (pending: ToolApproval.PendingApproval) => {
        const { serverFingerprint: _, serverSeal: __, ...json } = ToolApproval.encode(pending)
        const asked = ["tools", "a", "x", "a__x", {}, json.toolFingerprint]
        return Either.getOrThrow(ToolApproval.decode({ ...json, fingerprint: `1:${sha256(JSON.stringify(asked))}` }))
      }
      const [first, second] = [before(yield* pendingOf(call("a__x"))), before(yield* pendingOf(call("a__x")))]
      assert.strictEqual(
        refusal(yield* Effect.exit(approve(first))),
        "pending: does not say which server it was for; the call must be made anew"
      )
      assert.strictEqual(yield* ending(reject(second, "no")), "Rejected no")
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("can't be changed by accident", () =>
    Effect.gen(function*() {
      const { a, approve, call } = yield* managed({})
      const pending = yield* pendingOf(call("a__x"))
      assert.isString(pending.serverFingerprint)
      assert.isString(pending.serverSeal)
      for (const field of ["serverFingerprint", "serverSeal"] as const) {
        for (const change of [{ [field]: undefined }, { [field]: "0" }]) {
          assert.isTrue(Either.isLeft(ToolApproval.decode({ ...ToolApproval.encode(pending), ...change })))
          const forged = Object.assign(Object.create(ToolApproval.PendingApproval.prototype), pending, change)
          assert.strictEqual(
            refusal(yield* Effect.exit(approve(forged))),
            "pending: is not what approval was asked for"
          )
        }
      }
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("has nothing of its secrets", () =>
    Effect.gen(function*() {
      const secrets = { env: { TOKEN: "correct horse" }, args: ["--token", "battery staple"] }
      const { call } = yield* managed(secrets)
      const text = JSON.stringify(ToolApproval.encode(yield* pendingOf(call("a__x"))))
      assert.notInclude(text, "horse")
      assert.notInclude(text, "staple")
    }))

  it.scoped("is nothing for a connection whose configuration says nothing, and only for such a one", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const connection = yield* Kit.connection(a)
      const nameless: McpConnection.McpConnection = {
        ...connection,
        config: { name: "a", transport: "http", url: "%" }
      }
      const asking = (yield* Toolset.make([nameless], always)).for()
      const [first, second] = [yield* pendingOf(asking.call("a__x")), yield* pendingOf(asking.call("a__x"))]
      assert.isUndefined(first.serverFingerprint)
      assert.strictEqual(yield* ending(asking.approve(first)), "a x")
      const known = (yield* Toolset.make([connection], always)).for()
      assert.strictEqual(
        refusal(yield* Effect.exit(known.approve(second))),
        "pending: does not say which server it was for; the call must be made anew"
      )
      assert.strictEqual(refusal(yield* Effect.exit(asking.approve(yield* pendingOf(known.call("a__x"))))), another)
    }))

  it.scoped("costs a call nothing that needs no approval", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const connection = yield* Kit.connection(a)
      let looks = 0
      const config = new Proxy(connection.config, {
        get: (config, field) => {
          if (field === "args") looks++
          return Reflect.get(config, field) as unknown
        }
      })
      const source = [{ ...connection, config }]
      for (const approval of ["never", { x: "never" }] as const) {
        const { call } = (yield* Toolset.make(source, { approval: yield* ToolApproval.make(approval) })).for()
        for (let i = 0; i < 3; i++) assert.strictEqual(yield* ending(call("a__x")), "a x")
      }
      assert.strictEqual(looks, 0)
      const { approve, call } = (yield* Toolset.make(source, always)).for()
      yield* pendingOf(call("a__x"))
      const once = looks
      assert.isAbove(once, 0)
      for (let i = 0; i < 3; i++) yield* approve(yield* pendingOf(call("a__x")))
      assert.strictEqual(looks, once)
    }))
})

it.scoped("a policy that thought about a server is asked again about another one, whose tools are the very same", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", ["x"], { config: { trusted: true } })
    const connection = yield* Kit.connection(a)
    let current = connection.config
    const source = [{
      ...connection,
      get config() {
        return current
      }
    }]
    const gate = yield* Deferred.make<void>()
    const seen: Array<boolean> = []
    const approval = yield* ToolApproval.make(({ trusted }) => {
      seen.push(trusted)
      return Effect.as(Deferred.await(gate), !trusted)
    })
    const { call } = (yield* Toolset.make(source, { approval })).for({ agent: 1, runContext: 2 })
    const calling = yield* Kit.begun(call("a__x"))
    current = { ...current, trusted: false }
    yield* Deferred.succeed(gate, undefined)
    assert.strictEqual(end(yield* Fiber.join(calling)), "error ApprovalRequired")
    assert.deepStrictEqual(seen, [true, false])
    assert.deepStrictEqual(yield* a.calls, [])
  }))

describe("a policy that remembers what was allowed", () => {
  it.scoped("can tell the same tool of the same server from others of the name", () =>
    Effect.gen(function*() {
      const allowed = new Set<string>()
      const keyOf = ({ serverFingerprint, tool, toolFingerprint }: ToolApproval.Call | ToolApproval.PendingApproval) =>
        JSON.stringify([serverFingerprint, tool, toolFingerprint])
      const approval = yield* ToolApproval.make((call: ToolApproval.Call) => !allowed.has(keyOf(call)))
      const a = yield* Kit.server("a", ["x"])
      const { manager, toolset } = yield* Kit.managed([a], { approval })
      const { call } = toolset.for({ agent: 1, runContext: 2 })
      allowed.add(keyOf(stored(yield* pendingOf(call("a__x")))))
      assert.strictEqual(yield* ending(call("a__x")), "a x")
      yield* a.offers({ name: "x", description: "deletes" })
      assert.strictEqual(yield* ending(call("a__x")), "error ApprovalRequired")
      yield* a.offers("x")
      assert.strictEqual(yield* ending(call("a__x")), "a x")
      yield* manager.reload([{ ...a.config, command: "/tmp/hostile" } as McpConfig.ServerConfigInput])
      yield* Kit.settled
      assert.strictEqual(yield* ending(call("a__x")), "error ApprovalRequired")
      assert.deepStrictEqual(yield* a.calls, ["x", "x"])
    }))
})
