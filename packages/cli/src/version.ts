/** The version of this package, wherever it is run from. */
import { readFileSync } from "node:fs"

export const version = (): string => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    readonly version: string
  }
  return version
}
