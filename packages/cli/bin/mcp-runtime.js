#!/usr/bin/env node
// The command. It is not in dist, because npm links commands when it installs, and in a clone of the repository there is no
// dist by then.
import { existsSync } from "node:fs"

const main = new URL("../dist/main.js", import.meta.url)
if (existsSync(main)) {
  await import(main.href)
} else {
  process.stderr.write(`mcp-runtime is not built: run "npm run build" in the repository first\n`)
  process.exitCode = 2
}
