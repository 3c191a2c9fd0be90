/**
 * How many moments of a course are tried where something is to be interrupted at each: of the thousands of turns of fibers,
 * which take minutes, only some in the normal run. `npm run sweep` tries all of them.
 */
const all = process.env["MCP_RUNTIME_SWEEP"] === "all"

/** Every how manieth moment is tried, of which `sparse` is enough in the normal run. */
export const strideOf = (sparse: number): number => all ? 1 : sparse

/** How long all moments of one course may take, in milliseconds. */
export const sweepTime = all ? 7_200_000 : 120_000
