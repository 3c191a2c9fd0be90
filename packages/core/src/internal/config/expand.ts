/**
 * From a configuration with references to one with values.
 *
 * Owns: which fields may hold references, one problem per field that can't be resolved, and which of the values are kept
 * out of what is shown.
 * May not touch: where values come from. No value is part of a problem.
 */
import * as Cause from "effect/Cause"
import type * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import * as SecretResolver from "../../SecretResolver.js"
import { together } from "../together.js"
import { inTime } from "../within.js"
import * as Deferred from "./deferred.js"
import { withoutSecrets } from "./printed.js"
import * as References from "./references.js"
import * as Subject from "./subject.js"

/** A configuration with its values. */
export interface Resolved {
  readonly config: McpConfig.ServerConfig
  /**
   * All that was looked up, in the order of the fields: where it is the same, so is the configuration. What is looked up
   * again each time that it is needed is the same as long as it speaks of the same one.
   */
  readonly texts: ReadonlyArray<string>
}

/** A text that is to be looked up. */
interface Field {
  readonly path: string
  readonly source: Deferred.Deferred
  /** A command or a directory: an error that does not show it helps nobody. */
  readonly isPlace: boolean
  /** It is looked up again each time that it is needed. */
  readonly isRenewed?: boolean
  readonly set: (text: string) => void
}

/** By whom it was looked up, with what its references mean there. */
interface Looked {
  readonly resolver: Context.Tag.Service<SecretResolver.SecretResolver>
  readonly expand: McpConfig.Expand | undefined
}

/** How many are looked up at once. */
const concurrency = 16

/** A value that many references repeat can't fill the memory. In characters. */
const longest = 16 * 1024 * 1024

/** The values of now. Fails with one problem for each field that can't be resolved, or is wrong when it is. */
export const resolve = (
  config: McpConfig.ServerConfig,
  resolver: Context.Tag.Service<SecretResolver.SecretResolver>
): Effect.Effect<Resolved, McpError.ConfigInvalid> =>
  Effect.gen(function*() {
    const { draft, fields } = draftOf(config, resolver)
    const lookup = new Lookup(resolver, config.expand)
    const texts = new Map<string, string>()
    const problems: Array<McpError.ConfigProblem> = []
    const found = yield* together(fields, (field) => Effect.exit(lookup.find(field)), concurrency)
    for (const [i, { isRenewed, path, set }] of fields.entries()) {
      const exit = found[i]!
      if (Exit.isFailure(exit)) {
        if (Cause.isInterruptedOnly(exit.cause)) return yield* Effect.interrupt
        problems.push({ field: path, problem: problemOf(exit.cause) })
        continue
      }
      texts.set(path, isRenewed === true ? Subject.of(exit.value) : exit.value)
      set(exit.value)
    }
    if (problems.length > 0) return yield* Effect.fail(invalid(config.name, problems))
    const values = yield* McpConfig.decodeUnknown({ name: config.name, transport: config.transport, ...draft() })
    const { expand: _, ...rest } = config
    return {
      config: withoutSecrets({
        ...rest,
        ...values,
        ...(lookup.secrets.size > 0 && {
          secrets: [...(config.secrets ?? []), ...Array.from(lookup.secrets, Redacted.make<string>)]
        })
      } as McpConfig.ServerConfig),
      texts: [...texts.values()]
    }
  })

/**
 * The value of now, of a field that is looked up each time that it is needed: by whoever has looked it up before. Bounded,
 * whoever that is.
 */
export const renewed = (
  server: string,
  path: string,
  value: Redacted.Redacted<string>
): Effect.Effect<string, McpError.ConfigInvalid> =>
  Effect.suspend(() => {
    const source = Deferred.sourceOf<Looked>(value)
    if (source === undefined) return Effect.succeed(Redacted.value(value))
    const field = { path, source: source.deferred, isPlace: false, set: () => {} }
    const fail = (problem: string) => Effect.fail(invalid(server, [{ field: path, problem }]))
    const { expand, resolver } = source.lookup
    const found = Effect.sandbox(new Lookup(resolver, expand).find(field))
    return inTime(found, renewedWithin, () => Effect.fail("slow" as const)).pipe(
      Effect.catchAll((cause) => {
        if (cause === "slow") return fail(`could not be looked up within ${renewedWithin}`)
        return Cause.isInterruptedOnly(cause) ? Effect.interrupt : fail(problemOf(cause))
      })
    )
  })

const renewedWithin = "30 seconds"

const invalid = (server: string, problems: ReadonlyArray<McpError.ConfigProblem>): McpError.ConfigInvalid =>
  new McpError.ConfigInvalid({ server, operation: "configure", executed: "no", problems: [...problems] })

/** What an application has given may die; what it dies of may be a secret. */
const problemOf = (cause: Cause.Cause<SecretResolver.SecretUnavailable>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => "what looks it up has failed in an unexpected way",
    onSome: ({ problem }) => McpError.displayText(String(problem), 1024)
  })

// -------------------------------------------------------------------------------------------------
// Fields
// -------------------------------------------------------------------------------------------------

interface Draft {
  readonly fields: ReadonlyArray<Field>
  /** The fields that may hold references, with what was set. */
  readonly draft: () => object
}

const draftOf = (config: McpConfig.ServerConfig, resolver: Looked["resolver"]): Draft => {
  const fields: Array<Field> = []
  const expands = config.expand !== undefined
  const plain = (path: string, text: string, isPlace = false): () => string => {
    let value = text
    if (expands && References.isTemplate(text)) {
      fields.push({ path, source: { _tag: "Text", text }, isPlace, set: (found) => value = found })
    }
    return () => value
  }
  const secret = (
    path: string,
    given: Redacted.Redacted<string>,
    isRenewed = false
  ): () => Redacted.Redacted<string> => {
    let value = given
    const source = Deferred.of(given)
    if (source !== undefined) {
      const lookup: Looked = { resolver, expand: config.expand }
      fields.push({
        path,
        source,
        isPlace: false,
        isRenewed,
        set: (found) => value = isRenewed ? Deferred.found(found, { deferred: source, lookup }) : Redacted.make(found)
      })
    }
    return () => value
  }
  const secrets = (path: string, given: { readonly [name: string]: Redacted.Redacted<string> }) => {
    const values = Object.entries(given).map(([name, value]) =>
      [name, secret(`${path}.${McpError.displayText(name, 64)}`, value)] as const
    )
    return () => Object.fromEntries(values.map(([name, value]) => [name, value()]))
  }
  const listed = (path: string, given: ReadonlyArray<Redacted.Redacted<string>>) => {
    const values = given.map((value, i) => secret(`${path}.${i}`, value))
    return () => values.map((value) => value())
  }
  const client = (auth: McpConfig.Auth) => {
    if (auth === "none") return () => auth
    const { clientId, clientSecret } = auth
    const values = {
      ...(clientId !== undefined && { clientId: plain("auth.clientId", clientId) }),
      ...(clientSecret && { clientSecret: secret("auth.clientSecret", clientSecret) }),
      ...("privateKey" in auth && auth.privateKey && { privateKey: secret("auth.privateKey", auth.privateKey) }),
      ...("assertion" in auth && { assertion: secret("auth.assertion", auth.assertion, true) }),
      ...("idp" in auth && { idp: provider(auth.idp) })
    }
    return () => ({ ...auth, ...drafted(values) })
  }
  const provider = (idp: Extract<McpConfig.Auth, { readonly type: "enterprise" }>["idp"]) => {
    const { clientId, clientSecret, idToken } = idp
    const values = {
      clientId: plain("auth.idp.clientId", clientId),
      ...(clientSecret && { clientSecret: secret("auth.idp.clientSecret", clientSecret) }),
      idToken: secret("auth.idp.idToken", idToken, true)
    }
    return () => ({ ...idp, ...drafted(values) })
  }
  const certificates = (tls: NonNullable<McpConfig.AnyHttpConfig["tls"]>) => {
    const { ca, cert, key, passphrase } = tls
    const values = {
      ...(ca && { ca: Redacted.isRedacted(ca) ? secret("tls.ca", ca) : listed("tls.ca", ca) }),
      ...(cert && { cert: secret("tls.cert", cert) }),
      ...(key && { key: secret("tls.key", key) }),
      ...(passphrase && { passphrase: secret("tls.passphrase", passphrase) })
    }
    return () => ({ ...tls, ...drafted(values) })
  }
  switch (config.transport) {
    case "inMemory":
      return { fields, draft: () => ({ server: config.server }) }
    case "stdio": {
      const command = plain("command", config.command, true)
      const args = config.args?.map((arg, i) => plain(`args.${i}`, arg))
      const env = config.env && secrets("env", config.env)
      const cwd = config.cwd === undefined ? undefined : plain("cwd", config.cwd, true)
      return {
        fields,
        draft: () => ({
          command: command(),
          ...(args && { args: args.map((_) => _()) }),
          ...(env && { env: env() }),
          ...(cwd && { cwd: cwd() })
        })
      }
    }
    default: {
      const url = plain("url", config.url)
      const headers = config.headers && secrets("headers", config.headers)
      const proxy = config.proxy && secret("proxy", config.proxy)
      const tls = config.tls && certificates(config.tls)
      const auth = config.auth && client(config.auth)
      return {
        fields,
        draft: () => ({
          url: url(),
          ...(headers && { headers: headers() }),
          ...(proxy && { proxy: proxy() }),
          ...(tls && { tls: tls() }),
          ...(auth && { auth: auth() })
        })
      }
    }
  }
}

const drafted = (values: { readonly [field: string]: () => unknown }): object =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value()]))

// -------------------------------------------------------------------------------------------------
// Values
// -------------------------------------------------------------------------------------------------

type Found = Effect.Effect<string, SecretResolver.SecretUnavailable>

/** Variables that every process has and that are no secrets: to hide them would make an error harder to read. */
const publicVariables: ReadonlySet<string> = new Set([
  "HOME",
  "HOSTNAME",
  "LANG",
  "LOGNAME",
  "PATH",
  "PWD",
  "SHELL",
  "TEMP",
  "TERM",
  "TMP",
  "TMPDIR",
  "USER",
  "USERNAME",
  "USERPROFILE"
])

/** What is looked up for one session. The same thing is asked for once. */
class Lookup {
  readonly secrets = new Set<string>()
  private readonly asked = new Map<string, Found>()

  constructor(
    private readonly resolver: Context.Tag.Service<SecretResolver.SecretResolver>,
    private readonly expand: McpConfig.Expand | undefined
  ) {}

  find({ isPlace, source }: Field): Found {
    switch (source._tag) {
      case "Config":
        return this.hidden(ofConfig(source.config))
      case "Reference":
        return this.ofReference(source.reference)
      case "Text": {
        const parts = References.parse(source.text)
        return parts === undefined
          ? failed(`its references are nested more than ${References.mostNested} deep`)
          : this.ofTemplate(parts, isPlace)
      }
    }
  }

  private hidden(found: Found): Found {
    return Effect.tap(found, (value) => this.secrets.add(value))
  }

  private once(key: string, ask: () => Effect.Effect<unknown, SecretResolver.SecretUnavailable>): Found {
    return Effect.suspend(() => {
      const known = this.asked.get(key)
      if (known !== undefined) return known
      return Effect.flatMap(Effect.cached(Effect.flatMap(Effect.suspend(ask), textOf)), (asked) => {
        this.asked.set(key, asked)
        return asked
      })
    })
  }

  private ofReference(reference: Deferred.Reference): Found {
    const [kind, key] = Deferred.kindOf(reference)
    if (kind !== "command") return this.answer(kind, key, false)
    const timeout = "timeout" in reference && reference.timeout !== undefined
      ? Duration.decode(reference.timeout)
      : undefined
    return this.hidden(
      this.once(
        `command:${timeout === undefined ? "" : Duration.toMillis(timeout)}:${key}`,
        () => this.resolver.command(key, { timeout, ...this.directory })
      )
    )
  }

  private get directory(): { readonly directory?: string } {
    const directory = typeof this.expand === "object" ? this.expand.commandFolder : undefined
    return directory === undefined ? {} : { directory }
  }

  private answer(kind: "env" | "store" | "input", key: string, isPlace: boolean): Found {
    const found = this.once(`${kind}:${key}`, () => this.resolver[kind](key))
    return kind === "env" && (isPlace || publicVariables.has(key.toUpperCase())) ? found : this.hidden(found)
  }

  private ofTemplate(parts: References.Template, isPlace: boolean): Found {
    return Effect.gen(this, function*() {
      let text = ""
      for (const part of parts) {
        text += typeof part === "string" ? part : yield* this.ofVariable(part, isPlace)
        if (text.length > longest) return yield* failed(`is longer than ${longest} characters when it is resolved`)
      }
      return text
    })
  }

  private ofVariable(variable: References.Variable, isPlace: boolean): Found {
    const { otherwise } = variable
    const value = this.valueOf(variable, isPlace)
    return otherwise === undefined ? value : Effect.catchAll(
      value,
      (error) => error.reason === "Unset" ? this.ofTemplate(otherwise, isPlace) : Effect.fail(error)
    )
  }

  private valueOf({ kind, name }: References.Variable, isPlace: boolean): Found {
    switch (kind) {
      case "env":
      case "input":
        return this.answer(kind, name, isPlace)
      case "userHome":
        return this.once(kind, () => this.resolver.userHome)
      case "workspaceFolder":
      case "workspaceFolderBasename": {
        const { workspaceFolder } = typeof this.expand === "object" ? this.expand : {}
        if (workspaceFolder === undefined) {
          return unset(`"\${${kind}}" has no meaning here: give the directory, \`expand: { workspaceFolder }\``)
        }
        return Effect.succeed(kind === "workspaceFolder" ? workspaceFolder : baseOf(workspaceFolder))
      }
    }
  }
}

const baseOf = (path: string): string => path.split(/[\\/]/).filter((_) => _ !== "").at(-1) ?? ""

const failed = (problem: string): Effect.Effect<never, SecretResolver.SecretUnavailable> =>
  Effect.fail(new SecretResolver.SecretUnavailable({ reason: "Failed", problem }))

const unset = (problem: string): Effect.Effect<never, SecretResolver.SecretUnavailable> =>
  Effect.fail(new SecretResolver.SecretUnavailable({ reason: "Unset", problem }))

const textOf = (value: unknown): Found => {
  const text = Redacted.isRedacted(value) ? Redacted.value(value) : value
  return typeof text === "string"
    ? Effect.succeed(text)
    : failed("what looks it up has given something that is no text")
}

/** The messages of its errors may hold values, the names of what is missing don't. */
const ofConfig = (config: Config.Config<unknown>): Found =>
  Effect.matchCauseEffect(config, {
    onSuccess: textOf,
    onFailure: (cause) => {
      if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
      const error = Option.getOrUndefined(Cause.failureOption(cause))
      const names = error === undefined ? [] : namesOf(error)
      const about = names.length === 0 ? "its Config" : names.map((_) => `"${_}"`).join(" or ")
      return error !== undefined && ConfigError.isMissingDataOnly(error)
        ? unset(`${about} is not set; set it where the ConfigProvider of the application reads`)
        : failed(`the value of ${about} can't be used; what its Config asks for is not there`)
    }
  })

const namesOf = (error: ConfigError.ConfigError): ReadonlyArray<string> => {
  const names = new Set<string>()
  const left = [error]
  while (left.length > 0 && names.size < 8) {
    const next = left.pop()!
    if (next._op === "And" || next._op === "Or") left.push(next.right, next.left)
    else if (next.path.length > 0) names.add(McpError.displayText(next.path.join("."), 128))
  }
  return [...names]
}
