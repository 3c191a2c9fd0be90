/**
 * What a configuration says about sockets, made ready once per channel.
 *
 * Owns: reading `tls` and `proxy`, the TLS context, and the words for what is wrong with them.
 * May not touch: sockets. No value of a key, passphrase or proxy password leaves this file in a message.
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Tls from "node:tls"

/** @internal */
export interface Proxy {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  readonly authorization: string | undefined
  readonly context: Tls.SecureContext | undefined
}

/** @internal */
export interface SocketSettings {
  /** Asked for when the first socket needs it. */
  readonly context: () => Tls.SecureContext
  readonly verify: boolean
  readonly proxy: Proxy | undefined
}

type TlsConfig = NonNullable<McpConfig.AnyHttpConfig["tls"]>

const codeOf = (error: unknown): string => {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined
  return typeof code === "string" ? ` (${code})` : ""
}

const problemOf = (field: string, problem: string, options: Tls.SecureContextOptions) => {
  try {
    Tls.createSecureContext(options)
    return undefined
  } catch (error) {
    return { field, problem: `${problem}${codeOf(error)}` }
  }
}

const isCertificate = /-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/

/** Finds the field to blame by trying each alone; only when each is good alone, the pair does not match. */
const problemsOf = (tls: TlsConfig, options: Tls.SecureContextOptions): ReadonlyArray<McpError.ConfigProblem> => {
  const { ca, cert, key, passphrase } = options
  const found = [
    ca === undefined ? undefined : problemOf("tls.ca", "is not a certificate in PEM", { ca }),
    cert === undefined ? undefined : problemOf("tls.cert", "is not a certificate in PEM", { cert }),
    key === undefined ? undefined : problemOf(
      "tls.key",
      passphrase === undefined
        ? "is not a private key in PEM, or needs tls.passphrase"
        : "is not a private key in PEM, or tls.passphrase is not its passphrase",
      passphrase === undefined ? { key } : { key, passphrase }
    )
  ].filter((_) => _ !== undefined)
  if (found.length > 0) return found
  return [{ field: tls.key === undefined ? "tls" : "tls.key", problem: "does not belong to tls.cert" }]
}

const authoritiesOf = (tls: TlsConfig | undefined): ReadonlyArray<string> =>
  tls?.ca === undefined ? [] : (Redacted.isRedacted(tls.ca) ? [tls.ca] : tls.ca).map((_) => Redacted.value(_))

let usual: Tls.SecureContext | undefined

/** What says nothing of its own shares one context: each has some hundred certificates, of no use to plain HTTP. */
const usualContext = (): Tls.SecureContext => usual ??= Tls.createSecureContext()

const contextOf = (
  server: string,
  tls: TlsConfig | undefined
): Effect.Effect<() => Tls.SecureContext, McpError.ConfigInvalid> =>
  Effect.suspend(() => {
    if ((tls?.ca ?? tls?.cert ?? tls?.key ?? tls?.passphrase) === undefined) return Effect.succeed(usualContext)
    const invalid = (problems: ReadonlyArray<McpError.ConfigProblem>) =>
      Effect.fail(
        new McpError.ConfigInvalid({ server, operation: "configure", executed: "no", problems: [...problems] })
      )
    const authorities = authoritiesOf(tls)
    if (authorities.some((_) => !isCertificate.test(_))) {
      return invalid([{ field: "tls.ca", problem: "is not a certificate in PEM" }])
    }
    const options: Tls.SecureContextOptions = {
      ...(tls?.ca === undefined ? undefined : { ca: [...authorities] }),
      ...(tls?.cert === undefined ? undefined : { cert: Redacted.value(tls.cert) }),
      ...(tls?.key === undefined ? undefined : { key: Redacted.value(tls.key) }),
      ...(tls?.passphrase === undefined ? undefined : { passphrase: Redacted.value(tls.passphrase) })
    }
    try {
      const context = Tls.createSecureContext(options)
      return Effect.succeed(() => context)
    } catch {
      return invalid(problemsOf(tls ?? {}, options))
    }
  })

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * The header for a user name and password as they stand in a URL.
 *
 * @internal
 */
export const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${decoded(user)}:${decoded(password)}`).toString("base64")}`

/**
 * Host names of URLs have IPv6 addresses in brackets; sockets want them without.
 *
 * @internal
 */
export const bareHost = (hostname: string): string => hostname.startsWith("[") ? hostname.slice(1, -1) : hostname

const proxyOf = (config: McpConfig.AnyHttpConfig): Proxy | undefined => {
  if (config.proxy === undefined) return undefined
  const url = new URL(typeof config.proxy === "string" ? config.proxy : Redacted.value(config.proxy))
  const secure = url.protocol === "https:"
  const authorities = authoritiesOf(config.tls)
  return {
    secure,
    host: bareHost(url.hostname),
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    authorization: url.username === "" && url.password === ""
      ? undefined
      : basic(url.username, url.password),
    context: secure
      ? Tls.createSecureContext(authorities.length === 0 ? {} : { ca: [...Tls.rootCertificates, ...authorities] })
      : undefined
  }
}

/** @internal */
export const make = (config: McpConfig.AnyHttpConfig): Effect.Effect<SocketSettings, McpError.ConfigInvalid> =>
  Effect.map(contextOf(config.name, config.tls), (context) => ({
    context,
    verify: config.tls?.verify !== false,
    proxy: proxyOf(config)
  }))
