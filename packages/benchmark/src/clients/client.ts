/**
 * What every client that is measured can do.
 *
 * Owns: the contract between rows and clients. May not touch: any one client.
 */

/** Who is measured: the raw SDK, this library, or code written by hand for nothing but this. */
export type Contender = "sdk" | "ours" | "limit"

/** Our own ways: a bare session; a connection; a connection while a tracer listens. */
export type Way = "session" | "connection" | "traced"

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
  readonly close: () => Promise<void>
}

export type Open = (wire: Wire) => Promise<Session>

/** The arguments of each call. */
export const callArguments = { text: "hello" }

/** Stops the benchmark when a client gave something else than the one text it was asked for. */
export const checkResult = (result: object): void => {
  const { content } = result as { readonly content?: unknown }
  if (!Array.isArray(content) || content.length !== 1) throw new Error("a call did not give one text")
}

/** The plain loops of a client whose call is a promise. */
export const promiseLoops = (call: (tool: string) => Promise<object>): Pick<Session, "sequential" | "concurrent"> => {
  const sequential = async (tool: string, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) checkResult(await call(tool))
  }
  return {
    sequential,
    concurrent: async (tool, count, inFlight) => {
      let left = count
      const worker = async (): Promise<void> => {
        while (left-- > 0) checkResult(await call(tool))
      }
      await Promise.all(Array.from({ length: inFlight }, worker))
    }
  }
}
