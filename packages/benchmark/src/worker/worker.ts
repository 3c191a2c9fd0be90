/**
 * A worker as its owner sees it: a process that is asked, one thing at a time, and each time within a deadline.
 *
 * Owns: the process. May not touch: what is measured in it.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import type { Who } from "../who.js"
import { within } from "../within.js"
import type { Answer, Given, Gives, Op } from "./orders.js"

export interface Worker {
  readonly who: Who
  /** Rejects when the worker fails, ends, or is late; then it is ended. */
  readonly ask: <O extends Op>(op: O, given: Given<O>) => Promise<Gives<O>>
  readonly end: () => Promise<void>
}

const program = fileURLToPath(new URL(`./main${extname(fileURLToPath(import.meta.url))}`, import.meta.url))

const endMillis = 3000
const mostStderr = 2000

/** Nothing of the user's: some peers look for configuration. */
const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: tmpdir(),
  XDG_CONFIG_HOME: tmpdir(),
  XDG_CACHE_HOME: tmpdir()
})

export const startWorker = async (who: Who, orderMillis: number): Promise<Worker> => {
  const child = fork(program, [who], { stdio: ["ignore", "ignore", "pipe", "ipc"], env: environment() })
  const exit = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>
  let stderr = ""
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-mostStderr)
  })
  const ended = exit.then(([code, signal]): never => {
    throw new Error(`its process ended with ${signal ?? code}: ${stderr.trim().split("\n").slice(-4).join(" | ")}`)
  })
  ended.catch(() => {})
  child.on("error", () => {})

  const answer = async (what: string): Promise<unknown> => {
    const answered = once(child, "message").then(([answer]) => answer as Answer)
    const given = await within(orderMillis, what, Promise.race([answered, ended]))
    if ("error" in given) throw new Error(given.error)
    return given.value
  }
  const end = async (): Promise<void> => {
    if (child.connected) child.disconnect()
    const killed = setTimeout(() => child.kill("SIGKILL"), endMillis)
    await exit
    clearTimeout(killed)
    child.stderr!.destroy()
  }
  const orEnd = async <A>(work: Promise<A>): Promise<A> => {
    try {
      return await work
    } catch (error) {
      await end()
      throw error
    }
  }

  await orEnd(answer("its start"))
  return {
    who,
    ask: <O extends Op>(op: O, given: Given<O>) => {
      if (!child.connected) return ended
      child.send({ op, given }, () => {})
      return orEnd(answer(op)) as Promise<Gives<O>>
    },
    end
  }
}
