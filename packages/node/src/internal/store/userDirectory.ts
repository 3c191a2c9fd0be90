/**
 * Where a user's programs keep things, by the custom of each system.
 */
import * as Option from "effect/Option"
import { posix, win32 } from "node:path"

export interface Environment {
  readonly [name: string]: string | undefined
}

/** What they can make again. */
export const cacheOf = (platform: NodeJS.Platform, env: Environment, home: string): Option.Option<string> => {
  const under = underOf(platform)
  switch (platform) {
    case "win32":
      return Option.orElse(
        under(env.LOCALAPPDATA, "mcp-runtime", "Cache"),
        () => under(home, "AppData", "Local", "mcp-runtime", "Cache")
      )
    case "darwin":
      return under(home, "Library", "Caches", "mcp-runtime")
    default:
      return Option.orElse(under(env.XDG_CACHE_HOME, "mcp-runtime"), () => under(home, ".cache", "mcp-runtime"))
  }
}

/** What they can't, for this machine alone. */
export const dataOf = (platform: NodeJS.Platform, env: Environment, home: string): Option.Option<string> => {
  const under = underOf(platform)
  switch (platform) {
    case "win32":
      return Option.orElse(
        under(env.LOCALAPPDATA, "mcp-runtime", "Data"),
        () => under(home, "AppData", "Local", "mcp-runtime", "Data")
      )
    case "darwin":
      return under(home, "Library", "Application Support", "mcp-runtime")
    default:
      return Option.orElse(
        under(env.XDG_DATA_HOME, "mcp-runtime"),
        () => under(home, ".local", "share", "mcp-runtime")
      )
  }
}

/** What is relative would be another place for each working directory; the XDG specification says to ignore it. */
const underOf = (platform: NodeJS.Platform) => {
  const { isAbsolute, join } = platform === "win32" ? win32 : posix
  return (base: string | undefined, ...rest: ReadonlyArray<string>): Option.Option<string> =>
    base !== undefined && isAbsolute(base) ? Option.some(join(base, ...rest)) : Option.none()
}
