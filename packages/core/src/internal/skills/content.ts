/**
 * What a server answered for a file of a skill, checked before anything of it is given out.
 *
 * Owns: its bytes, and whether they are those of the entry. What is too long is not even decoded.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import type * as McpProtocol from "../../McpProtocol.js"
import type { SkillContent, SkillFile } from "../../McpSkills.js"

/** The file, or in a few words why it is not the one of the entry. */
export const check = (file: SkillFile, result: McpProtocol.ReadResourceResult): Effect.Effect<SkillContent, string> =>
  Effect.suspend(() => {
    const [content, ...others] = result.contents
    if (content === undefined || others.length > 0) return Effect.fail("the answer is not one file")
    if (!isSame(content.uri, file.uri)) return Effect.fail("the answer is about another URI")
    const bytes = bytesOf(content, file.size)
    if (typeof bytes === "string") return Effect.fail(bytes)
    const checked: SkillContent = Object.freeze({
      uri: file.uri,
      path: file.path,
      mimeType: typeof content.mimeType === "string" ? content.mimeType : undefined,
      text: content.text,
      bytes
    })
    return Effect.flatMap(digestOf(bytes), (digest) =>
      digest === file.digest
        ? Effect.succeed(checked)
        : Effect.fail("its digest is another one than in the entry"))
  })

/** Servers write a URI in their own way once they have parsed it. */
const isSame = (answered: string, asked: string): boolean => {
  if (answered === asked) return true
  try {
    return new URL(answered).href === new URL(asked).href
  } catch {
    return false
  }
}

const bytesOf = ({ blob, text }: McpProtocol.ResourceContents, size: number): Uint8Array | string => {
  if ((text === undefined) === (blob === undefined)) return "the answer is not either a text or a blob"
  if (typeof text === "string") return bytesOfText(text, size)
  return typeof blob === "string" ? bytesOfBlob(blob, size) : "its contents are not a text"
}

const bytesOfText = (text: string, size: number): Uint8Array | string => {
  // Each character is at least one byte.
  if (text.length > size) return `it has more than the ${size} bytes of the entry`
  // It would be another text than its bytes.
  if (/[\ud800-\udfff]/u.test(text)) return "its text is not well-formed"
  return ofLength(new TextEncoder().encode(text), size)
}

const bytesOfBlob = (blob: string, size: number): Uint8Array | string => {
  if (blob.length !== 4 * Math.ceil(size / 3)) return `its blob is not that of the ${size} bytes of the entry`
  const decoded = Encoding.decodeBase64(blob)
  return Either.isRight(decoded) ? ofLength(decoded.right, size) : "its blob is not base64"
}

const ofLength = (bytes: Uint8Array, size: number): Uint8Array | string =>
  bytes.length === size ? bytes : `it has ${bytes.length} bytes, and not the ${size} of the entry`

const digestOf = (bytes: Uint8Array): Effect.Effect<string, string> =>
  Effect.tryPromise({
    try: () => crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>),
    catch: () => "this platform has no Web Crypto to compute its digest with"
  }).pipe(Effect.map((digest) => `sha256:${Encoding.encodeHex(new Uint8Array(digest))}`))
