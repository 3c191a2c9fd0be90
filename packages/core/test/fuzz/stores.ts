/**
 * What a store gives back: lists and tokens, as they were written and then damaged.
 *
 * Holds: what is not whole is as if it were not there; what is there is of the right form, and can be stored again.
 */
import type { Catalog } from "@mcp-runtime/core"
import { FastCheck, Redacted } from "effect"
import { inspect } from "node:util"
import * as Record from "../../src/internal/auth/record.js"
import * as Stored from "../../src/internal/catalog/stored.js"
import { holds, same } from "./kit/holds.js"
import { edited, edits } from "./kit/hostile.js"
import { part } from "./kit/part.js"
import { resultsOf } from "./traffic.js"

const kinds = [
  ["tools", "tools/list", "tools"],
  ["prompts", "prompts/list", "prompts"],
  ["resources", "resources/list", "resources"],
  ["templates", "resources/templates/list", "resourceTemplates"]
] as const

const now = 1_700_000_000_000

/** Pieces that are lost or changed on a disk. */
export const damage = FastCheck.array(
  FastCheck.record({
    at: FastCheck.nat({ max: 100_000 }),
    length: FastCheck.oneof(FastCheck.nat({ max: 20 }), FastCheck.constant(1_000_000)),
    by: FastCheck.oneof(
      {
        arbitrary: FastCheck.constantFrom(
          "",
          "\u0000",
          "}",
          "{",
          "]",
          "\"",
          "\\",
          ",",
          ":",
          "/*",
          "//",
          "null",
          "[[[["
        ),
        weight: 3
      },
      { arbitrary: FastCheck.constantFrom("x", "1e999", "\ud800", "\ufeff"), weight: 1 },
      { arbitrary: FastCheck.string({ maxLength: 5 }), weight: 1 }
    )
  }),
  { maxLength: 2 }
)

export const damaged = (
  text: string,
  places: ReadonlyArray<{ readonly at: number; readonly length: number; readonly by: string }>
): string =>
  places.reduce((text, { at, by, length }) => {
    const from = at % (text.length + 1)
    return text.slice(0, from) + by + text.slice(from + length)
  }, text)

const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    // Too deep to be written by this.
    return `${"[".repeat(20_000)}${"]".repeat(20_000)}`
  }
}

export const storedPart = part({
  name: "stored-lists",
  about: "a damaged list is none, or has whole items only",
  inputs: 600,
  share: 1,
  input: FastCheck.record({
    kind: FastCheck.nat({ max: kinds.length - 1 }),
    sample: FastCheck.nat({ max: 100 }),
    listedAt: FastCheck.constantFrom(now, now - 1000, 0, now + 10_000_000),
    changes: edits(3),
    damage
  }),
  check: ({ changes, damage, kind: which, listedAt, sample }) => {
    const [kind, method, field] = kinds[which]!
    const results = resultsOf(method) as ReadonlyArray<{ readonly [field: string]: ReadonlyArray<never> }>
    const items = results[sample % results.length]![field]!
    const key = Stored.entryKey("h", kind)
    const encoded = Stored.encode(key, kind, listedAt, items)
    if (!("text" in encoded)) return
    const expected = { key, now, maxAgeMillis: 86_400_000 }
    const whole = Stored.decode(encoded.text, kind, expected)
    if (listedAt > now - 10_000 && listedAt <= now && items.length > 0) {
      holds("stored" in whole, `what was just stored is not used: ${JSON.stringify(whole)}`)
      same(whole.stored.items, items, "the items")
    }
    const text = damaged(textOf(edited(JSON.parse(encoded.text), changes)), damage)
    const loaded = Stored.decode(text, kind, expected)
    if ("problem" in loaded) return
    for (const item of loaded.stored.items as ReadonlyArray<Catalog.Items["tools"]>) {
      const { inputSchema, name } = item
      holds(typeof name === "string" && name !== "", "an item without a name")
      holds(kind !== "tools" || (typeof inputSchema === "object" && inputSchema !== null), "a tool without a schema")
      holds(Object.isFrozen(item), "an item that can be changed")
    }
    const again = Stored.encode(key, kind, now, loaded.stored.items as never)
    const isExact = !inspect(loaded.stored.items, { depth: null, maxArrayLength: null }).includes("Infinity")
    if (!isExact && "problem" in again) return
    holds("text" in again, "what was loaded can't be stored")
    const reloaded = Stored.decode(again.text, kind, expected)
    same("stored" in reloaded ? reloaded.stored.items : undefined, loaded.stored.items, "stored and loaded again")
  }
})

const client = {
  issuer: "https://as.example",
  kind: "registered",
  clientId: "c",
  clientSecret: "client-secret",
  expiresAt: now,
  method: "none",
  redirectUri: "http://127.0.0.1:1/cb"
}

const authority = {
  issuer: "https://as.example",
  authorizationEndpoint: "https://as.example/authorize",
  tokenEndpoint: "https://as.example/token",
  registrationEndpoint: "https://as.example/register",
  methods: ["none"],
  scopes: ["a"],
  documents: true,
  sendsIssuer: true,
  pkce: true
}

const coordinate = (name: string): string => name.padEnd(43, "0")

/** Of no curve, which nobody finds out who only keeps it. */
const key = { x: coordinate("key-x"), y: coordinate("key-y"), d: coordinate("key-private") }

const record = {
  version: 1,
  clients: [client],
  tokens: {
    access: "access-token",
    refresh: "refresh-token",
    expiresAt: now,
    skew: 1,
    scopes: ["a"],
    authority,
    client,
    resource: "https://mcp.example",
    key,
    proof: { salt: "salt".padEnd(43, "0"), hash: "hash".padEnd(43, "0") }
  },
  pending: {
    url: "https://as.example/authorize?x=1",
    state: "state",
    verifier: "verifier",
    redirectUri: "http://127.0.0.1:1/cb",
    scopes: ["a"],
    authority,
    client,
    resource: "https://mcp.example",
    since: now
  }
}

const whole = JSON.stringify(record)

const inTheClear = new RegExp(`access-token|refresh-token|client-secret|${key.d}`)

const bearer = /^[\x21-\x7e]+$/

/** Who cuts out so much makes one text of a name and the secret behind it. */
const between = "\",\"refresh\":\"".length

export const recordPart = part({
  name: "stored-tokens",
  about: "a damaged record is none, or one that can be used",
  inputs: 1000,
  share: 1.5,
  input: FastCheck.record({ changes: edits(3), damage }),
  check: ({ changes, damage }) => {
    const text = damaged(textOf(edited(record, changes)), damage)
    const read = Record.decode(Redacted.make(text))
    holds(read.clients.length <= 8, "too many clients")
    if (read.tokens !== undefined) {
      holds(bearer.test(Redacted.value(read.tokens.access)), "a token that no header can carry")
      holds(URL.canParse(read.tokens.authority.tokenEndpoint), "an endpoint that is no URL")
      const d = read.tokens.key?.d
      holds(d === undefined || Redacted.value(d).length === key.d.length, "a key that can't sign")
    }
    // A secret that was put in the place of a name can't be known for one.
    const moved = changes.some((_) => _.by === "swap" || _.by === "rename" || _.by === "repeat") ||
      damage.reduce((cut, _) => cut + _.length, 0) >= between
    same(!moved && inTheClear.test(JSON.stringify(read)), false, "a secret in the clear")
    holds(text !== whole || read.tokens?.key !== undefined, "a whole record has lost its key")
    const stored = Record.encode(read)
    const again = Record.decode(stored)
    same(Redacted.value(Record.encode(again)), Redacted.value(stored), "stored and read again")
  }
})
