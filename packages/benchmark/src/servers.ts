/**
 * The servers that are talked to: where their scripts are, and how the one over HTTP is started and ended.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

const script = (name: string): string => fileURLToPath(new URL(`../servers/${name}`, import.meta.url))

export const stdioServer = script("stdio.mjs")

/** The same after a while, with a line in a journal for each of its starts. */
export const startingServer = script("starting.mjs")

interface Answers {
  readonly toolsResult: (count: number, every: number, first?: number) => string
  readonly resultFor: (message: object, tools: string) => string | undefined
  readonly response: (id: unknown, result: string) => string
}

/** What they answer, for servers in this process. */
export const loadAnswers = async (): Promise<Answers> =>
  await import(new URL("../servers/answers.mjs", import.meta.url).href) as Answers

/** Runs with an HTTP server in a process of its own, and gives `use` its origin. */
export const withHttpServer = async <A>(use: (origin: string) => Promise<A>): Promise<A> => {
  const child = spawn(process.execPath, [script("http.mjs")], { stdio: ["pipe", "pipe", "inherit"] })
  const exit = once(child, "exit")
  try {
    const started = once(child.stdout, "data") as Promise<[Buffer]>
    const port = await Promise.race([
      started.then(([line]) => Number(line.toString())),
      exit.then(() => Promise.reject(new Error("the HTTP server ended at its start")))
    ])
    return await use(`http://127.0.0.1:${port}`)
  } finally {
    child.kill("SIGTERM")
    await exit
  }
}
