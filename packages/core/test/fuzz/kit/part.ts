/**
 * One part of the fuzz: inputs, and what must hold whatever the input is.
 *
 * Owns: running a part with a seed for a number of inputs, what it costs, and what is told of a counterexample.
 * May not touch: what is fuzzed.
 */
import { FastCheck } from "effect"
import { inspect } from "node:util"
import type { Growth } from "./growth.js"

export interface Part {
  readonly name: string
  /** What it is about, in a few words. */
  readonly about: string
  /** How many inputs the normal run of the tests has. */
  readonly inputs: number
  /** Of all the inputs of a long run, how many times the share of an equal division it gets. */
  readonly share: number
  readonly growths: ReadonlyArray<Growth>
  readonly run: (options: RunOptions) => Promise<Report>
}

export interface RunOptions {
  readonly seed: number
  readonly inputs: number
  /** A single input: the counterexample that was found here before. */
  readonly path?: string | undefined
  /** Called before each input, also where one is shrunk. */
  readonly onInput?: ((count: number) => void) | undefined
}

export interface Report {
  readonly name: string
  readonly seed: number
  /** How many inputs were looked at. */
  readonly inputs: number
  readonly seconds: number
  /** What a single input has cost the processor. */
  readonly worstMillis: number
  readonly failure: Failure | undefined
}

export interface Failure {
  /** Shrunk, as text. */
  readonly counterexample: string
  /** Runs the counterexample again: `--path`. */
  readonly path: string
  readonly error: string
  readonly shrinks: number
}

export interface PartOptions<A> extends Pick<Part, "name" | "about" | "inputs"> {
  readonly input: FastCheck.Arbitrary<A>
  /** Throws where something does not hold. */
  readonly check: (input: A) => void | Promise<void>
  readonly growths?: ReadonlyArray<Growth> | undefined
  readonly share?: number | undefined
}

export const part = <A>({ check, growths = [], input, share = 1, ...rest }: PartOptions<A>): Part => ({
  ...rest,
  growths,
  share,
  run: async ({ inputs, onInput, path, seed }) => {
    const started = performance.now()
    let count = 0
    let looks = 0
    let worstMillis = 0
    let failed = false
    const stray = new Strays()
    const property = FastCheck.asyncProperty(input, async (value) => {
      onInput?.(++looks)
      if (!failed) count++
      const before = process.cpuUsage()
      try {
        await check(value)
        nothingIsPolluted()
        stray.check()
        const millis = millisSince(before)
        if (millis > mostMillis) throw new Error(`it takes ${(millis / 1000).toFixed(1)} s of the processor`)
      } catch (error) {
        failed = true
        throw error
      } finally {
        if (!failed) worstMillis = Math.max(worstMillis, millisSince(before))
      }
    })
    const result = await FastCheck.check(property, {
      seed,
      numRuns: inputs,
      ...(path !== undefined && { path, numRuns: 1, endOnFailure: true })
    })
    await stray.settled()
    const { counterexample, counterexamplePath, errorInstance, numShrinks } = result
    return {
      name: rest.name,
      seed,
      inputs: count,
      seconds: (performance.now() - started) / 1000,
      worstMillis,
      failure: result.failed
        ? {
          counterexample: cut(
            inspect(counterexample?.[0], { depth: 30, maxStringLength: 1000, maxArrayLength: 50, breakLength: 120 }),
            4000
          ),
          path: counterexamplePath ?? "",
          error: cut(textOf(errorInstance), 4000),
          shrinks: numShrinks
        }
        : stray.failure()
    }
  }
})

/** More than any input may cost: what grows with its square does so sooner or later. */
const mostMillis = 10_000

const millisSince = (before: NodeJS.CpuUsage): number => {
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1000
}

/** Rejections that nobody handles. They belong to some input of the part, which can't be told. */
class Strays {
  private readonly found: Array<unknown> = []
  private readonly listener = (error: unknown) => void this.found.push(error)

  constructor() {
    process.on("unhandledRejection", this.listener)
  }

  check(): void {
    if (this.found.length > 0) throw new Error(`a rejection that nobody handles: ${textOf(this.found.splice(0)[0])}`)
  }

  async settled(): Promise<void> {
    await new Promise((resume) => setImmediate(resume))
    process.off("unhandledRejection", this.listener)
  }

  failure(): Failure | undefined {
    return this.found.length === 0
      ? undefined
      : { counterexample: "", path: "", shrinks: 0, error: `a rejection that nobody handles: ${textOf(this.found[0])}` }
  }
}

const prototypes = [Object.prototype, Array.prototype, String.prototype, Function.prototype]
const namesBefore = prototypes.map((_) => Object.getOwnPropertyNames(_).length)

const nothingIsPolluted = (): void => {
  for (let i = 0; i < prototypes.length; i++) {
    const names = Object.getOwnPropertyNames(prototypes[i])
    if (names.length !== namesBefore[i]) throw new Error(`a prototype was polluted: ${names.at(-1)}`)
  }
}

const textOf = (error: unknown): string => error instanceof Error ? error.stack ?? error.message : String(error)

const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max)}... (${text.length - max} more characters)` : text
