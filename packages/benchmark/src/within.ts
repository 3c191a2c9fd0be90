/**
 * A bound in time.
 */

/** Settles as `work` does, or rejects after so long. The work itself is not ended. */
export const within = async <A>(millis: number, what: string, work: Promise<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${millis} ms`)), millis)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
