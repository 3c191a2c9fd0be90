/**
 * Which sockets, pipes and timers were made and are not gone.
 *
 * Owns: an async hook that knows each of them by identity, with the place where it was made.
 * May not touch: the resources themselves.
 *
 * `process.getActiveResourcesInfo()` only counts, so that a timer of the test runner that ends hides one of ours that
 * stays, and it leaves out what is `unref`ed, for example every idle socket of an HTTP agent.
 */
import * as AsyncHooks from "node:async_hooks"

interface Resource {
  readonly type: string
  readonly resource: { readonly hasRef?: (() => boolean) | undefined }
  readonly made: Error
}

export interface LiveResource {
  readonly kind: "timer" | "handle"
  readonly detail: string
}

/** What holds something open until it is closed. TLS sockets stand on TCP handles. */
const handles: ReadonlySet<string> = new Set([
  "TCPWRAP",
  "TCPSERVERWRAP",
  "TCPSOCKETWRAP",
  "PIPEWRAP",
  "PIPESERVERWRAP",
  "PROCESSWRAP",
  "UDPWRAP",
  "FSEVENTWRAP",
  "STATWATCHER",
  "WORKER"
])

/** A test runner has timers and sockets of its own while a test runs. */
const testRunner = /[\\/]node_modules[\\/](?:vitest|@vitest[\\/][^\\/]+|tinypool|vite-node|birpc)[\\/]/

const library = /[\\/]node_modules[\\/]/

export class ResourceWatch {
  private readonly resources = new Map<number, Resource>()
  private readonly hook = AsyncHooks.createHook({
    init: (id, type, _trigger, resource) => {
      if (type === "Timeout" || handles.has(type)) {
        this.resources.set(id, { type, resource, made: new Error() })
      }
    },
    destroy: (id) => {
      this.resources.delete(id)
    }
  }).enable()

  stop(): void {
    this.hook.disable()
    this.resources.clear()
  }

  live(): ReadonlyArray<LiveResource> {
    const live: Array<LiveResource> = []
    for (const { made, resource, type } of this.resources.values()) {
      const frames = framesOf(made)
      const top = frames[0] ?? ""
      if (testRunner.test(top)) continue
      const kind = type === "Timeout" ? "timer" : "handle"
      if (kind === "timer" && resource.hasRef?.() === false && (top === "" || library.test(top))) continue
      live.push({ kind, detail: `${type} made ${frames.length === 0 ? "by Node" : frames.slice(0, 4).join(" < ")}` })
    }
    return live
  }
}

/** The frames outside of Node and of this file, innermost first. */
const framesOf = (made: Error): ReadonlyArray<string> =>
  (made.stack ?? "").split("\n").slice(1).map((line) => line.trim()).filter((line) =>
    line.startsWith("at ") && !/[( ](?:node:|native|<anonymous>)/.test(line) && !line.includes("AsyncHook.init") &&
    !/internal[\\/]resources\.[jt]s/.test(line)
  )
