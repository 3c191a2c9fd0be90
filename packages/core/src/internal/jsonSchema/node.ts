/**
 * One compiled schema: the checks of its keywords, sorted by the kind of value that they look at.
 *
 * Owns: the order of checks, and what surrounds them.
 * May not touch: what keywords mean; they are given to it.
 */
import { Evaluated } from "./evaluated.js"
import type { Resource } from "./resource.js"
import type { Run } from "./run.js"
import { anyType, typesOf, wordsOf } from "./types.js"
import { both, Invalid, Unknown, Valid, type Verdict } from "./verdict.js"

export type Check<V> = (value: V, run: Run) => Verdict

export type JsonRecord = { readonly [key: string]: unknown }

export class Node {
  types = anyType
  readonly any: Array<Check<unknown>> = []
  readonly numbers: Array<Check<number>> = []
  readonly strings: Array<Check<string>> = []
  readonly arrays: Array<Check<ReadonlyArray<unknown>>> = []
  readonly objects: Array<Check<JsonRecord>> = []
  /** Looks at what all others have left over. */
  last: Check<unknown> | undefined
  /** Where it belongs, if the schema asks at run time which way led to it. */
  resource: Resource | undefined

  apply(value: unknown, run: Run): Verdict {
    if (!run.enter()) return Unknown
    const scope = run.scope
    if (this.resource !== undefined && scope?.resource !== this.resource) {
      run.scope = { resource: this.resource, outer: scope }
    }
    const verdict = this.last === undefined ? this.check(value, run) : this.checkWithLast(value, run, this.last)
    run.scope = scope
    run.leave()
    return verdict
  }

  private checkWithLast(value: unknown, run: Run, last: Check<unknown>): Verdict {
    const outer = run.evaluated
    const inner = new Evaluated()
    run.evaluated = inner
    let verdict = this.check(value, run)
    if (!run.isSettled(verdict)) verdict = both(verdict, last(value, run))
    run.evaluated = outer
    if (outer !== undefined) run.steps -= outer.add(inner, verdict)
    return verdict
  }

  private check(value: unknown, run: Run): Verdict {
    if (this.types !== anyType && (typesOf(value) & this.types) === 0) return run.fail(wordsOf(this.types))
    const verdict = this.checkKind(value, run)
    if (this.any.length === 0 || run.isSettled(verdict)) return run.steps < 0 && verdict === Valid ? Unknown : verdict
    return both(verdict, all(this.any, value, run))
  }

  private checkKind(value: unknown, run: Run): Verdict {
    switch (typeof value) {
      case "string":
        return all(this.strings, value, run)
      case "number":
        return all(this.numbers, value, run)
      case "object":
        if (value === null) return Valid
        return Array.isArray(value) ? all(this.arrays, value, run) : all(this.objects, value as JsonRecord, run)
      default:
        return Valid
    }
  }
}

const all = <V>(checks: ReadonlyArray<Check<V>>, value: V, run: Run): Verdict => {
  let verdict: Verdict = Valid
  for (let i = 0; i < checks.length; i++) {
    verdict = both(verdict, checks[i]!(value, run))
    if (run.isSettled(verdict)) return verdict === Invalid ? Invalid : Unknown
  }
  return verdict
}
