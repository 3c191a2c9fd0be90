/**
 * Where a user's programs keep what they can make again, by the custom of each system.
 */
import * as Option from "effect/Option"
import { posix, win32 } from "node:path"

export const directoryOf = (
  platform: NodeJS.Platform,
  env: { readonly [name: string]: string | undefined },
  home: string
): Option.Option<string> => {
  const { isAbsolute, join } = platform === "win32" ? win32 : posix
  // What is relative would be another place for each working directory; the XDG specification says to ignore it.
  const under = (base: string | undefined, ...rest: ReadonlyArray<string>) =>
    base !== undefined && isAbsolute(base) ? Option.some(join(base, ...rest)) : Option.none()
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
