/**
 * Installs the peers into their folder, and nowhere else, when they are missing or the lock file has changed.
 */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { readFile, writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { folder } from "./folder.js"

const stamp = new URL("node_modules/.installed", folder)

const installMillis = 180_000

const wanted = async (): Promise<string> =>
  createHash("sha256")
    .update(await readFile(new URL("package-lock.json", folder)))
    .update(`${process.platform} ${process.arch}`)
    .digest("hex")

const npm = async (): Promise<void> => {
  const child = spawn(
    "npm",
    ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--workspaces=false", "--loglevel=error"],
    {
      cwd: fileURLToPath(folder),
      stdio: ["ignore", 2, 2],
      shell: process.platform === "win32",
      timeout: installMillis,
      killSignal: "SIGKILL"
    }
  )
  const [code, signal] = await once(child, "exit") as [number | null, NodeJS.Signals | null]
  if (code !== 0) throw new Error(`npm ci ended with ${signal ?? code}`)
}

/** Gives why it could not be done, if so. */
export const install = async (): Promise<string | undefined> => {
  try {
    const hash = await wanted()
    if (await readFile(stamp, "utf8").catch(() => "") === hash) return undefined
    process.stderr.write("Installing the other clients into packages/benchmark/peers ...\n")
    await npm()
    await writeFile(stamp, hash)
    return undefined
  } catch (error) {
    return `The other clients could not be installed: ${error instanceof Error ? error.message : String(error)}`
  }
}
