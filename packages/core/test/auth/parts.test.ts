import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Redacted } from "effect"
import type { Authority } from "../../src/internal/auth/authority.js"
import * as Callback from "../../src/internal/auth/callback.js"
import * as Challenge from "../../src/internal/auth/challenge.js"
import * as Clients from "../../src/internal/auth/clients.js"
import * as Records from "../../src/internal/auth/record.js"
import * as Scopes from "../../src/internal/auth/scopes.js"
import * as Urls from "../../src/internal/auth/urls.js"
import { processorMillis } from "../processor.js"

const authority: Authority = {
  issuer: "https://as.example",
  authorizationEndpoint: "https://as.example/authorize",
  tokenEndpoint: "https://as.example/token",
  registrationEndpoint: undefined,
  methods: undefined,
  scopes: undefined,
  documents: false,
  sendsIssuer: true,
  pkce: true,
  proofs: undefined
}

const client: Records.Client = {
  issuer: "https://as.example",
  kind: "registered",
  clientId: "me",
  clientSecret: Redacted.make("s3cret"),
  expiresAt: undefined,
  method: undefined,
  redirectUri: "http://127.0.0.1:1/callback"
}

const pending: Records.Pending = {
  url: "https://as.example/authorize",
  state: "the-state",
  verifier: Redacted.make("verifier"),
  redirectUri: "http://127.0.0.1:1/callback",
  scopes: [],
  authority,
  client,
  resource: undefined,
  binding: "offered",
  since: 0
}

describe("WWW-Authenticate", () => {
  const table: ReadonlyArray<readonly [string, ReadonlyArray<readonly [string, { readonly [key: string]: string }]>]> =
    [
      ["", []],
      ["Bearer", [["bearer", {}]]],
      [`Bearer realm="a, b=\\"c\\"", scope=x`, [["bearer", { realm: `a, b="c"`, scope: "x" }]]],
      [`Basic realm="r", Bearer resource_metadata="https://x/y", error="invalid_token"`, [
        ["basic", { realm: "r" }],
        ["bearer", { resource_metadata: "https://x/y", error: "invalid_token" }]
      ]],
      [`Negotiate abcd==, bearer SCOPE = "a b" , Scope="c"`, [["negotiate", {}], ["bearer", { scope: "a b" }]]],
      [`Negotiate, Bearer a=1`, [["negotiate", {}], ["bearer", { a: "1" }]]],
      [`,, Bearer ,a=1,, b="2"`, [["bearer", { a: "1", b: "2" }]]],
      [`Bearer realm="never closed, scope=x`, [["bearer", {}]]],
      [`"Bearer scope=x", Bearer scope=y`, [["bearer", { scope: "y" }]]],
      [`Bearer scope="fake=\\"Bearer error=x\\""`, [["bearer", { scope: `fake="Bearer error=x"` }]]],
      [`Bearer __proto__="a", constructor="b"`, [["bearer", { ["__proto__"]: "a", constructor: "b" }]]]
    ]
  for (const [header, expected] of table) {
    it(`reads ${JSON.stringify(header)}`, () => {
      const found = Challenge.parse(header)
      assert.deepStrictEqual(
        found.map((_) => [_.scheme, [..._.params]]),
        expected.map(([scheme, params]) => [scheme, Object.entries(params)])
      )
    })
  }

  it("is total, bounded and linear for any text", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.constantFrom("Bearer", " ", ",", "=", "\"", "\\", "a", "é", "\t", "b=c", "x=\"y\"")),
        (parts) => {
          const found = Challenge.parse(parts.join(""))
          assert.isAtMost(found.length, 16)
        }
      ),
      { numRuns: 500 }
    )
    for (
      const bad of [
        "Bearer a=\"\\",
        "\"".repeat(200_000),
        "a=\"".repeat(100_000),
        ", ".repeat(100_000),
        "a ".repeat(90_000)
      ]
    ) {
      const began = processorMillis()
      Challenge.parse(bad)
      assert.isBelow(processorMillis() - began, 1000)
    }
  })
})

describe("what the browser brings back", () => {
  const about = (params: { readonly [name: string]: string }) => new URLSearchParams(params).toString()
  const good = { code: "c", state: "the-state", iss: "https://as.example" }
  const of = (callback: string, sendsIssuer = true) =>
    Callback.read(callback, { ...pending, authority: { ...authority, sendsIssuer } }, ["hunter2-canary"])

  it("iss-supported: the right iss, as a URL, a query, or a query with its mark", () => {
    for (
      const text of [`http://127.0.0.1:1/callback?${about(good)}`, about(good), `?${about(good)}`, ` ${about(good)}\n`]
    ) {
      assert.deepStrictEqual(of(text), Either.right("c"))
    }
  })
  it("iss-not-advertised: none, and none is expected", () => {
    assert.deepStrictEqual(of(about({ code: "c", state: "the-state" }), false), Either.right("c"))
  })
  const { iss: _, ...without } = good
  const refused: ReadonlyArray<readonly [string, string, boolean, boolean]> = [
    ["iss-supported-missing", about(without), true, true],
    ["iss-wrong-issuer", about({ ...good, iss: "https://evil.example" }), true, true],
    ["iss-unexpected: wrong, and not advertised", about({ ...good, iss: "https://evil.example" }), false, true],
    ["iss-normalized", about({ ...good, iss: "https://as.example/" }), true, true],
    ["iss twice", `${about(good)}&iss=https%3A%2F%2Fevil.example`, true, true],
    ["iss empty", about({ ...good, iss: "" }), true, true],
    ["another state", about({ ...good, state: "x" }), true, false],
    ["no state", about({ code: "c", iss: "https://as.example" }), true, false],
    ["state twice", `${about(good)}&state=the-state`, true, false],
    ["no code", about({ state: "the-state", iss: "https://as.example" }), true, true],
    ["code twice", `${about(good)}&code=d`, true, true],
    [
      "refused by the person",
      about({ error: "access_denied", state: "the-state", iss: "https://as.example" }),
      true,
      true
    ],
    ["an error of somebody else", about({ error: "x", state: "the-state", iss: "https://evil.example" }), true, true],
    ["nothing", "", true, false],
    ["anything", "lorem ipsum", true, false],
    ["too long", `${about(good)}&x=${"y".repeat(20_000)}`, true, false]
  ]
  for (const [name, text, sendsIssuer, own] of refused) {
    it(`refuses: ${name}`, () => {
      const read = of(text, sendsIssuer)
      assert.isTrue(Either.isLeft(read) && read.left.own === own, JSON.stringify(read))
    })
  }
})

describe("which URLs are used", () => {
  const remote = new URL("https://mcp.example/mcp")
  const local = new URL("http://127.0.0.1:1/mcp")
  const table: ReadonlyArray<readonly [unknown, boolean, boolean]> = [
    ["https://as.example/x", true, true],
    ["http://as.example/x", false, false],
    ["http://127.0.0.1:9/x", false, true],
    ["http://localhost:9/x", false, true],
    ["http://[::1]:9/x", false, true],
    ["https://localhost/x", false, true],
    ["https://localhost./x", false, true],
    ["https://127.1/x", false, true],
    ["https://2130706433/x", false, true],
    ["http://0.0.0.0/x", false, true],
    ["https://[::ffff:127.0.0.1]/x", false, true],
    ["http://169.254.169.254/latest", false, false],
    ["https://169.254.169.254/latest", false, true],
    ["https://10.1.2.3/x", false, true],
    ["https://172.20.0.1/x", false, true],
    ["https://192.168.1.1:8443/x", false, true],
    ["https://100.64.0.1/x", false, true],
    ["https://3232235777/x", false, true],
    ["https://[fe80::1]/x", false, true],
    ["https://[fd00:ec2::254]/x", false, true],
    ["https://[::ffff:10.0.0.1]/x", false, true],
    ["https://[::ffff:169.254.169.254]/x", false, true],
    ["https://[::7f00:1]/x", false, true],
    ["https://[::a00:1]/x", false, true],
    ["https://[64:ff9b::169.254.169.254]/x", false, true],
    ["https://[64:ff9b::7f00:1]/x", false, true],
    ["https://[64:ff9b:1::a00:1]/x", false, true],
    ["https://[64:ff9b:1:a00:0:100::]/x", false, true],
    ["https://[2002:7f00:1::]/x", false, true],
    ["https://[2002:a00:1::1]/x", false, true],
    ["https://[2002:a9fe:a9fe::]/x", false, true],
    ["https://[fec0::1]/x", false, true],
    ["https://[ff02::1]/x", false, true],
    ["https://[fdff:ffff::1]/x", false, true],
    ["https://198.18.0.1/x", false, true],
    ["https://198.19.255.255/x", false, true],
    ["https://224.0.0.1/x", false, true],
    ["https://240.0.0.1/x", false, true],
    ["https://255.255.255.255/x", false, true],
    ["https://192.0.0.192/x", false, true],
    ["https://[::ffff:192.0.0.192]/x", false, true],
    ["https://[::ffff:0:a00:1]/x", false, true],
    ["https://[::ffff:0:7f00:1]/x", false, true],
    ["https://anything.localhost/x", false, true],
    ["http://anything.localhost/x", false, false],
    ["https://169.254.169.254./x", false, true],
    ["https://[64:ff9b::8.8.8.8]/x", true, true],
    ["https://[2002:808:808::]/x", true, true],
    ["https://[::ffff:7.240.0.1]/x", true, true],
    ["https://[::ffff:8.8.8.8]/x", true, true],
    ["https://[64:ff9b:2::a00:1]/x", true, true],
    ["https://[fbff::1]/x", true, true],
    ["https://[::ffff:0:808:808]/x", true, true],
    ["https://192.0.1.1/x", true, true],
    ["https://198.17.0.1/x", true, true],
    ["https://198.20.0.1/x", true, true],
    ["https://223.255.255.255/x", true, true],
    ["https://8.8.8.8/x", true, true],
    ["https://172.32.0.1/x", true, true],
    ["https://[2001:db8::1]/x", true, true],
    ["https://10.0.0.1.example/x", true, true],
    ["http://127.0.0.1.evil.example/x", false, false],
    ["https://user:password@as.example/x", false, false],
    ["file:///etc/passwd", false, false],
    ["javascript:alert(1)", false, false],
    ["https://as.example/#x", false, false],
    [`https://as.example/${"x".repeat(5000)}`, false, false],
    [7, false, false],
    [undefined, false, false]
  ]
  for (const [url, fromRemote, fromLocal] of table) {
    it(`${String(url).slice(0, 60)}`, () => {
      assert.strictEqual(Urls.allowed(url, remote) !== undefined, fromRemote)
      assert.strictEqual(Urls.allowed(url, local) !== undefined, fromLocal)
    })
  }

  it("a server at a private address may name others at such", () => {
    const inside = new URL("https://10.0.0.7/mcp")
    assert.isDefined(Urls.allowed("https://192.168.1.1/x", inside))
    assert.isUndefined(Urls.allowed("http://192.168.1.1/x", inside))
    assert.isUndefined(Urls.allowed("https://127.0.0.1/x", inside))
  })

  it("resource-mismatch: a resource covers its own URL and those below, and nothing else", () => {
    const server = new URL("https://mcp.example/a/mcp")
    for (
      const good of [
        "https://mcp.example/a/mcp",
        "https://mcp.example/a/mcp/",
        "https://mcp.example/a",
        "https://mcp.example",
        "https://MCP.example:443/"
      ]
    ) {
      assert.isTrue(Urls.covers(good, server), good)
    }
    for (
      const bad of [
        "https://evil.example/a/mcp",
        "http://mcp.example/a/mcp",
        "https://mcp.example/a/mc",
        "https://mcp.example/a/mcp/x",
        "https://mcp.example:444/",
        "https://mcp.example/a/b/../mcp",
        "https://mcp.example/a/victim/../..",
        "https://mcp.example/./a",
        "https://mcp.example/%2e/a",
        "https://mcp.example/a\\mcp",
        "https:mcp.example/a",
        "https://mcp.example/a/mcp ",
        " https://mcp.example/a/mcp",
        "https://mcp.example/a/m\tcp",
        "https://mcp.example/a/mcp?tenant=other",
        "https://mcp.example/a?x",
        "https://mcp.example/a/mcp#x",
        "https://u@mcp.example/a",
        "x",
        ""
      ]
    ) {
      assert.isFalse(Urls.covers(bad, server), bad)
    }
  })

  it("a resource is the server itself, or wider; a query is part of it", () => {
    const server = new URL("https://mcp.example/a/mcp?tenant=1")
    const rows = [
      ["https://mcp.example/a/mcp?tenant=1", "same"],
      ["https://mcp.example/a/mcp/?tenant=1", "same"],
      ["https://mcp.example/a/mcp", "wider"],
      ["https://mcp.example/a", "wider"],
      ["https://mcp.example", "wider"],
      ["https://mcp.example/a/mcp?tenant=2", undefined],
      ["https://mcp.example/a?tenant=1", undefined],
      ["https://mcp.example/a/mcp?tenant=1&x", undefined]
    ] as const
    for (const [resource, reach] of rows) assert.strictEqual(Urls.reachOf(resource, server), reach, resource)
    assert.strictEqual(Urls.reachOf("https://mcp.example/?a", new URL("https://mcp.example?a")), "same")
    assert.strictEqual(Urls.reachOf("https://mcp.example?a", new URL("https://mcp.example?a")), "same")
  })
})

describe("scopes", () => {
  const none = {
    configured: undefined,
    challenge: undefined,
    resource: undefined,
    before: undefined,
    supported: undefined
  }
  it("scope-*: challenge, then resource, then none; configured before all", () => {
    assert.deepStrictEqual(Scopes.choose({ ...none, challenge: ["a"], resource: ["b"] }), ["a"])
    assert.deepStrictEqual(Scopes.choose({ ...none, resource: ["b", "c"] }), ["b", "c"])
    assert.deepStrictEqual(Scopes.choose(none), [])
    assert.deepStrictEqual(Scopes.choose({ ...none, configured: ["z"], challenge: ["a"] }), ["z"])
  })
  it("scope-step-up: the union", () => {
    assert.deepStrictEqual(Scopes.choose({ ...none, before: ["a"], challenge: ["b"], resource: ["c"] }), ["a", "b"])
  })
  it("offline-access: only where it is listed, and never alone", () => {
    const supported = ["offline_access"]
    assert.deepStrictEqual(Scopes.choose({ ...none, resource: ["a"], supported }), ["a", "offline_access"])
    assert.deepStrictEqual(Scopes.choose({ ...none, supported }), [])
    assert.deepStrictEqual(Scopes.choose({ ...none, challenge: ["a", "offline_access"] }), ["a"])
  })
  it("hostile lists are bounded and clean", () => {
    assert.deepStrictEqual(Scopes.ofText("a \"b a\u0000 é c a"), ["a", "c"])
    assert.strictEqual(Scopes.ofText(Array.from({ length: 1000 }, (_, i) => `s${i}`).join(" "))!.length, 64)
    assert.deepStrictEqual(Scopes.ofList([1, null, "a b", "x"]), ["x"])
    assert.strictEqual(Scopes.ofList({ length: 3 }), undefined)
  })
})

describe("how a client shows who it is", () => {
  const table: ReadonlyArray<readonly [string, ReadonlyArray<string> | undefined, Partial<Records.Client>, string]> = [
    ["token-endpoint-auth-basic", ["client_secret_basic"], {}, "client_secret_basic"],
    ["token-endpoint-auth-post", ["client_secret_post"], {}, "client_secret_post"],
    ["token-endpoint-auth-none", ["none"], { clientSecret: undefined }, "none"],
    ["none alone is listed, and there is a secret", ["none"], {}, "none"],
    ["nothing is listed", undefined, {}, "client_secret_basic"],
    [
      "as registered",
      ["client_secret_basic", "client_secret_post"],
      { method: "client_secret_post" },
      "client_secret_post"
    ],
    [
      "registered with what is not supported",
      ["client_secret_basic"],
      { method: "client_secret_post" },
      "client_secret_basic"
    ],
    ["no secret", ["client_secret_basic"], { clientSecret: undefined }, "none"]
  ]
  for (const [name, methods, change, expected] of table) {
    it(name, () => {
      assert.strictEqual(Clients.methodOf({ ...client, ...change }, { ...authority, methods }), expected)
    })
  }
  it("Basic credentials are encoded as forms are", () => {
    const odd = { ...client, clientId: "a:b c", clientSecret: Redacted.make("p%+é") }
    const { headers } = Clients.authenticated(odd, authority)
    assert.strictEqual(atob(headers.authorization!.slice(6)), "a%3Ab+c:p%25%2B%C3%A9")
  })
})

describe("what is kept", () => {
  const record: Records.Record = {
    clients: [client],
    tokens: {
      access: Redacted.make("access"),
      refresh: Redacted.make("refresh"),
      expiresAt: 5,
      skew: 1,
      scopes: ["a"],
      authority,
      client,
      resource: "https://mcp.example",
      key: { x: "x".repeat(43), y: "y".repeat(43), d: Redacted.make("d".repeat(43)) },
      proof: { salt: "s".repeat(43), hash: "h".repeat(43) }
    },
    pending
  }
  it("comes back as it was, and is shown nowhere", () => {
    const encoded = Records.encode(record)
    const decoded = Records.decode(encoded)
    assert.strictEqual(Redacted.value(Records.encode(decoded)), Redacted.value(encoded))
    assert.strictEqual(Redacted.value(decoded.tokens!.refresh!), "refresh")
    assert.deepStrictEqual(decoded.tokens!.proof, record.tokens!.proof)
    assert.strictEqual(Redacted.value(decoded.tokens!.key!.d), "d".repeat(43))
    assert.notInclude(JSON.stringify(decoded), "refresh\":\"refresh")
    assert.notInclude(JSON.stringify(decoded), "d".repeat(43))
  })
  it("a token whose key can't be read is none: it would be sent as if it needed no key", () => {
    const text = Redacted.value(Records.encode(record))
    for (const key of ["7", "null", "{}", JSON.stringify({ x: "x".repeat(43), y: "y".repeat(43), d: "short" })]) {
      const changed = text.replace(/"key":\{[^}]*\}/, `"key":${key}`)
      assert.notStrictEqual(changed, text)
      assert.isUndefined(Records.decode(Redacted.make(changed)).tokens, key)
    }
  })
  it("anything else is as if nothing were kept", () => {
    const texts = [
      "",
      "{",
      "[]",
      "null",
      "{\"version\":2}",
      "{\"version\":1,\"tokens\":7,\"clients\":{}}",
      "x".repeat(2_000_000)
    ]
    for (const text of texts) assert.deepStrictEqual(Records.decode(Redacted.make(text)), Records.empty)
    FastCheck.assert(
      FastCheck.property(
        FastCheck.json(),
        (text) =>
          void Records.decode(Redacted.make(`{"version":1,"tokens":${text},"pending":${text},"clients":[${text}]}`))
      ),
      { numRuns: 200 }
    )
  })
})
