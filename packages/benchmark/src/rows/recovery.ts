/**
 * Rows about a session that the server has forgotten: how long a call takes that meets it, beside a handshake, which is the
 * least that has to be done about it.
 */
import { load } from "../clients/all.js"
import type { Wire } from "../clients/client.js"
import { interleave, type Sample, timed, type Turn } from "../measure.js"
import type { Row } from "../row.js"
import { withHttpServer } from "../servers.js"

const perTurn = 20

const handshakes = (wire: Wire, who: "sdk" | "session" | "limit"): Turn => async () => {
  const open = await load(who)
  return repeated(async () => {
    let close = async (): Promise<void> => {}
    const sample = await timed(1, async () => {
      close = (await open(wire)).close
    })
    await close()
    return sample
  })
}

const repeated = async (once: () => Promise<Sample>): Promise<Sample> => {
  let wall = 0
  let cpu = 0
  for (let i = 0; i < perTurn; i++) {
    const sample = await once()
    wall += sample.wall
    cpu += sample.cpu
  }
  return { wall: wall / perTurn, cpu: cpu / perTurn }
}

export const recoveryRow: Row = {
  name: "recovery",
  run: (options) =>
    withHttpServer(async (origin) => {
      const json: Wire = { type: "http", url: `${origin}/json` }
      const session = await (await load("connection"))({ type: "http", url: `${origin}/forgetful` })
      try {
        const recovery: Turn = () =>
          repeated(async () => {
            await session.sequential("forget", 1)
            return timed(1, () => session.sequential("echo", 1))
          })
        const opening = {
          sdk: handshakes(json, "sdk"),
          ours: handshakes(json, "session"),
          limit: handshakes(json, "limit")
        }
        for (const turn of [recovery, ...Object.values(opening)]) await turn()
        const opened = await interleave("handshake", opening, options)
        const recovered = await interleave("recovery", { ...opening, ours: recovery }, options)
        return [
          { title: "HTTP, open a session", unit: "ms", shows: "cost", targets: [], ...opened },
          {
            title: "HTTP, a call that meets a forgotten session, beside opening one",
            unit: "ms",
            shows: "cost",
            targets: [],
            ...recovered
          }
        ]
      } finally {
        await session.close()
      }
    })
}
