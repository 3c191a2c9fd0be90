/**
 * Milliseconds of the processor that this process has had. A busy machine makes work last longer, but not cost more: so a bound
 * on the difference of two readings is about the code.
 */
export const processorMillis = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}
