/**
 * Texts from outside on their way to a person: errors, logs.
 *
 * Holds: bounded, without control characters, and without what is secret: user, password, query and fragment of a URL, and
 * what a server was given and says again, as it is or as programs write it.
 */
import { McpError } from "@mcp-runtime/core"
import { FastCheck } from "effect"
import { freeze } from "../../src/internal/protocol/json.js"
import * as Secrets from "../../src/internal/secrets.js"
import { holds } from "./kit/holds.js"
import { edited, edits, texts } from "./kit/hostile.js"
import { part } from "./kit/part.js"

const secret = FastCheck.oneof(
  FastCheck.constantFrom(
    "s3cr3t-abcdef",
    "a b c d e f g",
    "\"quoted\"-secret",
    "pässwörd-ü",
    "back\\slash\\es",
    "%41%42%43%44"
  ),
  FastCheck.string({ minLength: 6, maxLength: 20 }).filter((_) => _.trim().length >= 6),
  FastCheck.string({ unit: "binary", minLength: 6, maxLength: 12 }).filter((_) => _.trim().length >= 6)
)

/** The ways in which a program may write it. */
const written = (secret: string): ReadonlyArray<string> => {
  const trimmed = secret.trim()
  const all = [secret, trimmed, JSON.stringify(trimmed).slice(1, -1)]
  try {
    all.push(encodeURI(trimmed), encodeURIComponent(trimmed))
  } catch {
    // Half of a character.
  }
  return all
}

const inUrl = "zQ7canary"

const url = FastCheck.record({
  scheme: FastCheck.constantFrom("https", "http", "HTTPS", "postgres", "wss", "x-y+z.1", "file"),
  user: FastCheck.constantFrom("", `${inUrl}@`, `u:${inUrl}@`, `${inUrl}:@`, `a:b@${inUrl}@`),
  host: FastCheck.constantFrom("h.example", "[::1]", "1.2.3.4:80", "h", "ä.example", ""),
  path: FastCheck.constantFrom("", "/", "/a/b", "//x"),
  query: FastCheck.constantFrom("", `?t=${inUrl}`, `?${inUrl}`),
  fragment: FastCheck.constantFrom("", `#${inUrl}`)
}).map((_) => `${_.scheme}://${_.user}${_.host}${_.path}${_.query}${_.fragment}`)

// eslint-disable-next-line no-control-regex -- it is control characters that are looked for
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

const unseen = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\u2800\ufff9-\ufffb]/u

const showing = (unit: string) => (size: number) => {
  const text = unit.repeat(Math.ceil(size / unit.length))
  return () => McpError.displayText(text, text.length)
}

export const displaysPart = part({
  name: "displays",
  about: "what is shown is bounded, clean, and without secrets",
  inputs: 1500,
  share: 1.5,
  input: FastCheck.record({
    secret,
    spelling: FastCheck.nat({ max: 4 }),
    url,
    around: FastCheck.array(
      FastCheck.oneof(texts, FastCheck.constantFrom(" ", "\"", "<", "(", "a", ":", "/", "=", "secret", "url")),
      { maxLength: 8 }
    ),
    max: FastCheck.constantFrom(0, 5, 20, 60, 300, 10_000),
    changes: edits(2)
  }),
  check: ({ around, changes, max, secret, spelling, url }) => {
    const ways = written(secret)
    const spelled = ways[spelling % ways.length]!
    const secrets = Secrets.spellingsOf([secret])
    const without = around.filter((_) => !ways.some((way) => _.includes(way) || way.includes(_)) || _.length < 2)
    const text = without.map((_) => _ === "secret" ? spelled : _ === "url" ? url : _).join("")
    const urls = without.map((_) => _ === "url" ? ` ${url} ` : "").join("x")

    const plain = McpError.displayText(urls, max)
    holds(!plain.includes(inUrl), `a URL shows its secret: ${plain}`)
    holds(!McpError.displayUrl(url).includes(inUrl), "a URL shows its secret")
    for (const shown of [McpError.displayText(text, max), Secrets.shown(text, secrets, max)]) {
      holds(!control.test(shown), `a control character is shown: ${JSON.stringify(shown)}`)
      holds(shown.length <= 4 * max + 100, `${shown.length} characters of ${max}`)
    }
    const named = McpError.displayName(text, max)
    holds(!/\p{Cc}/u.test(named) && !unseen.test(named), `a mark is not seen: ${JSON.stringify(named)}`)
    holds(named.length <= 4 * max + 100, `${named.length} characters of ${max}`)
    // What stands in place of a secret is not taken for one; nor is what is left of it by the bound.
    if (spelled.length >= 6 && !ways.some((_) => "mcp-redacted-value<redacted><cut URL><not a URL>".includes(_))) {
      const mentioned = `x ${spelled} y`
      holds(
        !Secrets.without(mentioned, secrets).includes(spelled),
        `the secret is shown: ${Secrets.without(mentioned, secrets)}`
      )
      holds(!Secrets.shown(mentioned, secrets, 10_000).includes(spelled), "the secret is shown")
      const value = edited({ a: [spelled, { [spelled]: `-${spelled}-` }], b: 1 }, changes)
      // What is too deep comes no further than the door.
      const json = freeze(value) ? JSON.stringify(Secrets.withoutInValue(value, secrets)) ?? "" : ""
      holds(!json.includes(JSON.stringify(spelled).slice(1, -1)), `the secret is shown in ${json.slice(0, 300)}`)
    }
  },
  growths: ["a", "a.", "http://", "a://b ", "a://u:p@", "\u0000", "1.", "@", " ", "a:/", "\u200d", "é\ufe0f"].map((
    unit
  ) => ({
    name: `a text of ${JSON.stringify(unit)}`,
    from: 4000,
    most: 1 << 20,
    run: showing(unit)
  }))
})
