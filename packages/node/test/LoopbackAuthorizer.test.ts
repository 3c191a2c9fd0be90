import { assert, describe, it } from "@effect/vitest"
import type * as McpAuth from "@mcp-runtime/core/McpAuth"
import { AuthFixture, LeakCheck } from "@mcp-runtime/testing"
import { Console, Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import * as Net from "node:net"
import { join } from "node:path"
import { commandOf, open } from "../src/internal/auth/browser.js"
import * as LoopbackAuthorizer from "../src/LoopbackAuthorizer.js"
import { directory } from "./internal/connections.js"
import { until } from "./internal/processes.js"

const anywhere: McpAuth.Redirect = { server: "mail", registered: undefined, fixed: false }

const requestOf = (
  callback: McpAuth.Callback,
  url = "https://auth.example/authorize?a=1"
): McpAuth.AuthorizationRequest => ({
  server: "mail",
  url,
  redirectUri: callback.redirectUri,
  state: "the state"
})

/** Begins to ask, and gives what is asked, once it is shown. */
const asking = (options: LoopbackAuthorizer.Options = {}, redirect: McpAuth.Redirect = anywhere) =>
  Effect.gen(function*() {
    const shown = yield* Deferred.make<McpAuth.AuthorizationRequest>()
    const authorizer = LoopbackAuthorizer.make({ open: (_) => Deferred.succeed(shown, _), ...options })
    const callback = yield* authorizer.listen(redirect)
    const answer = yield* Effect.fork(callback.authorize(requestOf(callback)))
    yield* options.open === undefined ? Deferred.await(shown) : Effect.void
    return { callback, answer, origin: new URL(callback.redirectUri).origin }
  })

const come = (redirectUri: string, query: string) => AuthFixture.open(`${redirectUri}?${query}`)

const good = "code=canary-code&state=the+state&iss=https%3A%2F%2Fauth.example"

const send = (origin: string, options: Http.RequestOptions) =>
  Effect.async<number>((resume) => {
    const request = Http.request(origin, { agent: false, ...options }, (response) => {
      response.resume()
      response.on("end", () => resume(Effect.succeed(response.statusCode ?? 0)))
    })
    request.on("error", () => resume(Effect.succeed(0)))
    request.end()
  })

const isRefused = (origin: string) =>
  Effect.map(Effect.flip(AuthFixture.open(origin)), (_) => assert.include(_.problem, "ECONNREFUSED"))

const occupied = Effect.acquireRelease(
  Effect.async<Net.Server>((resume) => {
    const server = Net.createServer()
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
)

const portOf = (server: Net.Server) => (server.address() as Net.AddressInfo).port

describe("LoopbackAuthorizer", () => {
  it.live("waits for the browser, gives the whole URL, shows a fixed page, and closes with its scope", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const origin = yield* Effect.scoped(Effect.gen(function*() {
        const { answer, callback, origin } = yield* asking()
        assert.match(callback.redirectUri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
        const page = yield* come(callback.redirectUri, `${good}&x=%3Cscript%3Ealert(1)%3C/script%3E`)
        assert.strictEqual(page.status, 200)
        assert.notInclude(page.body, "canary-code")
        assert.notInclude(page.body, "alert")
        assert.include(page.body, "You can close this window")
        assert.include(String(page.headers["content-security-policy"]), "default-src 'none'")
        assert.strictEqual(page.headers["cache-control"], "no-store")
        assert.strictEqual(page.headers["referrer-policy"], "no-referrer")
        const url = new URL(yield* Fiber.join(answer))
        assert.deepStrictEqual([...url.searchParams].slice(0, 3), [
          ["code", "canary-code"],
          ["state", "the state"],
          ["iss", "https://auth.example"]
        ])
        assert.strictEqual((yield* come(callback.redirectUri, good)).status, 400)
        return origin
      }))
      yield* isRefused(origin)
    })))

  it.live("nothing but a GET with the state, for this host and path, is the answer; waiting goes on", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { answer, callback, origin } = yield* asking()
      for (
        const query of [
          "",
          "code=x",
          "code=x&state=",
          "code=x&state=wrong",
          `${good}&state=the+state`,
          "state=THE+STATE"
        ]
      ) {
        const page = yield* come(callback.redirectUri, query)
        assert.deepStrictEqual([query, page.status], [query, 400])
        assert.include(page.body, "begin again")
      }
      assert.strictEqual(yield* send(origin, { path: `/?${good}` }), 404)
      assert.strictEqual(yield* send(origin, { path: `/callback/?${good}` }), 404)
      assert.strictEqual(yield* send(origin, { path: `//evil/callback?${good}` }), 404)
      assert.strictEqual(yield* send(origin, { path: `http://evil/callback?${good}` }), 404)
      assert.strictEqual(yield* send(origin, { path: "/favicon.ico" }), 404)
      for (const method of ["POST", "HEAD", "OPTIONS", "PUT"]) {
        assert.strictEqual(yield* send(origin, { path: `/callback?${good}`, method }), 405)
      }
      for (const host of ["evil.example", "localhost", `localhost:${new URL(origin).port}`, "127.0.0.1"]) {
        assert.strictEqual(yield* send(origin, { path: `/callback?${good}`, headers: { host } }), 400, host)
      }
      assert.strictEqual(yield* send(origin, { path: `/callback?${good}&x=${"x".repeat(20_000)}` }), 431)
      assert.isNull(answer.unsafePoll())
      const declined = yield* come(callback.redirectUri, "error=access_denied&state=the+state")
      assert.include(declined.body, "Not authorized")
      assert.include(yield* Fiber.join(answer), "error=access_denied")
    })))

  it.live("the path that it is told is the only one that is listened at, also where the port is another one", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const path = "/callback/of-this-issuer"
      const { answer, callback, origin } = yield* asking({}, { ...anywhere, path })
      assert.strictEqual(callback.redirectUri, `${origin}${path}`)
      for (const other of ["/callback", "/callback/", "/callback/of-another", `${path}/`]) {
        assert.strictEqual(yield* send(origin, { path: `${other}?${good}` }), 404)
      }
      assert.isNull(answer.unsafePoll())
      assert.strictEqual((yield* come(callback.redirectUri, good)).status, 200)
      assert.include(yield* Fiber.join(answer), "canary-code")
      const server = yield* occupied
      const registered = `http://127.0.0.1:${portOf(server)}${path}`
      const other = yield* LoopbackAuthorizer.make().listen({ server: "mail", registered, fixed: false, path })
      assert.strictEqual(new URL(other.redirectUri).pathname, path)
      const same = yield* Effect.scoped(
        Effect.map(LoopbackAuthorizer.make().listen(anywhere), (_) => new URL(_.redirectUri).origin)
      )
      const fixed = yield* LoopbackAuthorizer.make().listen({
        server: "mail",
        registered: `${same}/b`,
        fixed: true,
        path
      })
      assert.strictEqual(fixed.redirectUri, `${same}/b`)
    })))

  it.live("nobody is answered before a person is asked", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const callback = yield* LoopbackAuthorizer.make().listen(anywhere)
      assert.strictEqual((yield* come(callback.redirectUri, "state=undefined")).status, 400)
      assert.strictEqual((yield* come(callback.redirectUri, good)).status, 400)
    })))

  it.scoped("nobody comes back: Unauthorized when the time is over, 5 minutes unless told otherwise", () =>
    Effect.gen(function*() {
      const { answer } = yield* asking()
      yield* TestClock.adjust("299 seconds")
      assert.isNull(answer.unsafePoll())
      yield* TestClock.adjust("1 seconds")
      const error = yield* Effect.flip(Fiber.join(answer))
      assert(error._tag === "Unauthorized")
      assert.include(error.message, "nobody came back from the browser within 5m")
      const shorter = yield* asking({ timeout: "10 seconds" })
      yield* TestClock.adjust("10 seconds")
      assert.isTrue(Exit.isFailure(yield* Fiber.await(shorter.answer)))
    }))

  it.live("A08: interruption, or the end of the scope, closes everything, also a request under way and an opener", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      let interrupted = 0
      const opening = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      const { answer, origin } = yield* Scope.extend(
        asking({
          open: () =>
            Effect.onInterrupt(
              Effect.zipRight(Deferred.succeed(opening, undefined), Effect.never),
              () => Effect.sync(() => void interrupted++)
            )
        }),
        scope
      )
      yield* Deferred.await(opening)
      const socket = yield* Effect.acquireRelease(
        Effect.async<Net.Socket>((resume) => {
          const socket = Net.connect(Number(new URL(origin).port), "127.0.0.1", () => {
            socket.write("GET /callback")
            resume(Effect.succeed(socket))
          })
          socket.on("error", () => {})
        }),
        (socket) => Effect.sync(() => socket.destroy())
      )
      const gone = Effect.async<void>((resume) => void socket.once("close", () => resume(Effect.void)).resume())
      yield* Fiber.interrupt(answer)
      assert.strictEqual(interrupted, 1)
      yield* Effect.zip(Scope.close(scope, Exit.void), gone, { concurrent: true })
      yield* isRefused(origin)
    })))

  it.live("the registered address is used; if its port is in use, another one, unless it is fixed", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const server = yield* occupied
      const registered = `http://localhost:${portOf(server)}/oauth/back`
      const { listen } = LoopbackAuthorizer.make()
      const other = yield* listen({ server: "mail", registered, fixed: false })
      assert.match(other.redirectUri, /^http:\/\/localhost:\d+\/oauth\/back$/)
      assert.notStrictEqual(other.redirectUri, registered)
      const error = yield* Effect.flip(listen({ server: "mail", registered, fixed: true }))
      assert(error._tag === "ConfigInvalid")
      assert.strictEqual(error.problems[0]?.field, "auth.redirectPort")
      assert.include(error.message, `port ${portOf(server)} of localhost is in use by another program`)
      assert.include(error.message, "end that program, or use another port")
      const same = yield* Effect.scoped(Effect.map(listen(anywhere), (_) => _.redirectUri))
      assert.strictEqual((yield* listen({ server: "mail", registered: same, fixed: true })).redirectUri, same)
      // As it is written: authorization servers compare it as a text.
      const bare = yield* Effect.scoped(Effect.map(listen(anywhere), (_) => new URL(_.redirectUri).origin))
      yield* Effect.scoped(Effect.gen(function*() {
        const { answer, callback } = yield* asking({}, { server: "mail", registered: bare, fixed: true })
        assert.strictEqual(callback.redirectUri, bare)
        assert.strictEqual((yield* come(callback.redirectUri, good)).status, 200)
        assert.include(yield* Fiber.join(answer), "canary-code")
      }))
      const elsewhere = ["https://app.example/back", "http://10.0.0.1:80/x", "not a URL", "http://127.0.0.1:1/a?b=c"]
      for (const registered of elsewhere) {
        const error = yield* Effect.flip(listen({ server: "mail", registered, fixed: true }))
        assert.include(error.message, "it must be http://127.0.0.1:<port>/<path>")
        assert.match(
          (yield* listen({ server: "mail", registered, fixed: false })).redirectUri,
          /^http:\/\/127\.0\.0\.1:\d+\/callback$/
        )
      }
    })))

  it.live("several at one address at the same time: each has the answer with its own state; the last one closes it", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const { listen } = LoopbackAuthorizer.make({ open: () => Effect.void })
      const free = yield* Effect.scoped(Effect.map(listen(anywhere), (_) => new URL(_.redirectUri).origin))
      const one = yield* Scope.make()
      const other = yield* Scope.make()
      const begin = (server: string, path: string, scope: Scope.Scope) =>
        Effect.gen(function*() {
          const callback = yield* listen({ server, registered: `${free}${path}`, fixed: true })
          return yield* Effect.forkScoped(callback.authorize({ ...requestOf(callback), server, state: server }))
        }).pipe(Scope.extend(scope))
      const mail = yield* begin("mail", "/back", one)
      const wiki = yield* begin("wiki", "/back", other)
      const news = yield* begin("news", "/news", other)
      yield* Effect.yieldNow()
      assert.strictEqual((yield* come(`${free}/back`, "code=n&state=news")).status, 400)
      assert.strictEqual((yield* come(`${free}/back`, "code=w&state=wiki")).status, 200)
      assert.include(yield* Fiber.join(wiki), "code=w")
      assert.strictEqual((yield* come(`${free}/back`, "code=w&state=wiki")).status, 400)
      yield* Scope.close(other, Exit.void)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(news)))
      assert.strictEqual((yield* come(`${free}/news`, "code=n&state=news")).status, 404)
      assert.strictEqual((yield* come(`${free}/back`, "code=m&state=mail")).status, 200)
      assert.include(yield* Fiber.join(mail), "code=m")
      yield* Scope.close(one, Exit.void)
      yield* isRefused(free)
    })))

  it.scopedLive("the page is printed to the standard error; what is no web page is never opened", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const console = { ...globalThis.console, error: (line: string) => void lines.push(line) }
      const shown = yield* Deferred.make<void>()
      const callback = yield* LoopbackAuthorizer.make({
        open: (_) => Effect.zipRight(LoopbackAuthorizer.printUrl(_), Deferred.succeed(shown, undefined))
      }).listen(anywhere)
      const asked = yield* Effect.fork(
        Effect.withConsole(
          callback.authorize({
            ...requestOf(callback, "https://auth.example/a\u001b[31m\nb"),
            server: "ma\u001b[2Jil"
          }),
          { ...defaultConsole, unsafe: console, error: (..._) => Effect.sync(() => console.error(String(_[0]))) }
        )
      )
      yield* Deferred.await(shown)
      yield* Fiber.interrupt(asked)
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0], "https://auth.example/a%1B[31mb")
      assert.notInclude(lines[0], "\u001b")
      for (const url of ["file:///etc/passwd", "javascript:alert(1)", "ms-msdt:/id", "-h", ""]) {
        const opened: Array<string> = []
        const strict = yield* LoopbackAuthorizer.make({ open: (_) => Effect.sync(() => void opened.push(_.url)) })
          .listen(anywhere)
        const error = yield* Effect.flip(strict.authorize(requestOf(strict, url)))
        assert.include(error.message, "is no http: or https: URL")
        assert.deepStrictEqual(opened, [])
      }
    }))

  it.scopedLive("a browser is started with the page as one argument, and is left to itself; a missing one is no error", () =>
    Effect.gen(function*() {
      const url = "https://auth.example/a?b=c&d=$(touch x)"
      assert.deepStrictEqual(commandOf("darwin", url), ["open", url])
      assert.deepStrictEqual(commandOf("win32", url, {}), [
        "C:\\Windows\\System32\\rundll32.exe",
        "url.dll,FileProtocolHandler",
        url
      ])
      const path = yield* directory
      const script = join(path, "xdg-open")
      writeFileSync(
        script,
        `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > "${path}/seen.tmp"\n/bin/mv "${path}/seen.tmp" "${path}/seen"\n`
      )
      chmodSync(script, 0o755)
      const before = process.env.PATH
      yield* Effect.addFinalizer(() => Effect.sync(() => void (process.env.PATH = before)))
      process.env.PATH = path
      yield* open("linux", url)
      const seen = () => {
        try {
          return readFileSync(join(path, "seen"), "utf8")
        } catch {
          return undefined
        }
      }
      yield* until("the page is opened", () => seen() !== undefined)
      assert.strictEqual(seen(), `1\n${new URL(url).href}\n`)
      process.env.PATH = join(path, "none")
      yield* open("linux", url)
    }))
})

const defaultConsole = Effect.runSync(Console.consoleWith(Effect.succeed))
