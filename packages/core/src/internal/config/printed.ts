/**
 * How a decoded configuration is printed, by `console.log`, loggers and as JSON.
 *
 * Owns: that nothing is shown that may be a secret: user, query and fragment of its URL, secrets that people write into arguments,
 * and whatever it calls a secret itself. Other secrets are `Redacted`, and show themselves as such.
 * May not touch: what the configuration is.
 */
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Redacted from "effect/Redacted"
import type { ServerConfig } from "../../McpConfig.js"
import { displayUrl } from "../errors/display.js"
import * as Secrets from "../secrets.js"
import { describeTarget, secretsIn } from "./accessors.js"
import { argumentsAsShown } from "./writtenSecrets.js"

/**
 * With what it is printed as in its prototype: whoever decodes it again finds nothing in it that it does not know. A copy of it shows
 * all that it has.
 */
export const withoutSecrets = <C extends ServerConfig>(config: C): C => Object.assign(Object.create(shownAs), config)

/** The secrets that it has itself, in all their spellings. What references stand for is not among them. */
export const spellingsIn = (config: ServerConfig): ReadonlyArray<string> =>
  Secrets.spellingsOf([...secretsIn(config), ...(config.secrets ?? [])].map(Redacted.value))

const value = function(this: ServerConfig): object {
  const secrets = Secrets.spellingsOf((this.secrets ?? []).map(Redacted.value))
  const shown = (text: unknown) => Secrets.withoutInValue(text, secrets)
  switch (this.transport) {
    case "inMemory":
      return { ...this }
    case "stdio": {
      const { args, command, cwd } = this
      return {
        ...this,
        command: shown(command),
        ...(args && { args: shown(argumentsAsShown(args)) }),
        ...(cwd !== undefined && { cwd: shown(cwd) })
      }
    }
    default:
      return { ...this, url: shown(describeTarget(this)), ...(this.auth && { auth: withShown(this.auth, shown) }) }
  }
}

/** It has URLs, too: those of authorization servers. */
const withShown = (value: unknown, shown: (text: unknown) => unknown): unknown => {
  if (typeof value === "string") return shown(value.includes("://") ? displayUrl(value) : value)
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([field, inside]) => [field, withShown(inside, shown)]))
}

const shownAs: object = Object.create(Object.prototype, { toJSON: { value }, [NodeInspectSymbol]: { value } })
