/**
 * What every client that is measured can do.
 *
 * Owns: the contract between rows and clients. May not touch: any one client.
 */

export type Wire =
  | { readonly type: "stdio"; readonly script: string; readonly args: ReadonlyArray<string> }
  | { readonly type: "http"; readonly url: string }

/** One open conversation. Work is done in one go, so that a client pays once, not per call, for entering its world. */
export interface Session {
  /** Calls a tool again and again, the next after the answer to the last. */
  readonly sequential: (tool: string, count: number) => Promise<void>
  /** Calls a tool `count` times, at most `inFlight` at once. */
  readonly concurrent: (tool: string, count: number, inFlight: number) => Promise<void>
  /** Lists the tools and gives their number. */
  readonly list: () => Promise<number>
  /** Gets the list of `tools` tools so often, as an application does that has had it before. */
  readonly again: (tools: number, count: number) => Promise<void>
  readonly close: () => Promise<void>
}

export type Open = (wire: Wire) => Promise<Session>

/** The arguments of each call. */
export const callArguments = { text: "hello" }

const bigLength = 1_048_576

/** Stops the benchmark when a call did not give what its tool answers. */
export const checkText = (tool: string, text: unknown): void => {
  const right = tool === "big" ? typeof text === "string" && text.length === bigLength : text === "x"
  if (!right) throw new Error(`a call of ${tool} gave something else than its text`)
}

/** The same for a result with one content block. */
export const checkResult = (result: object, tool = "echo"): void => {
  const { content } = result as { readonly content?: ReadonlyArray<{ readonly text?: unknown }> }
  if (!Array.isArray(content) || content.length !== 1) {
    throw new Error(`a call of ${tool} did not give one content block`)
  }
  checkText(tool, content[0]?.text)
}

export const checkCount = (listed: number, tools: number): void => {
  if (listed !== tools) throw new Error(`a listing has ${listed} of ${tools} tools`)
}

/** The plain loops of a client whose operations are promises. `call` checks what it gives. */
export const promiseLoops = (
  call: (tool: string) => Promise<void>,
  again: () => Promise<number>
): Pick<Session, "sequential" | "concurrent" | "again"> => ({
  sequential: async (tool, count) => {
    for (let i = 0; i < count; i++) await call(tool)
  },
  concurrent: async (tool, count, inFlight) => {
    let left = count
    const worker = async (): Promise<void> => {
      while (left-- > 0) await call(tool)
    }
    await Promise.all(Array.from({ length: inFlight }, worker))
  },
  again: async (tools, count) => {
    for (let i = 0; i < count; i++) checkCount(await again(), tools)
  }
})
