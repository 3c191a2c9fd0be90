/**
 * One open session per contender, for as long as a row needs them.
 */
import { load } from "../clients/all.js"
import type { Contender, Session, Way, Wire } from "../clients/client.js"
import { contenders } from "../measure.js"

export type PerContender<A> = { readonly [C in Contender]: A }

/** The same for each contender. */
export const forEach = async <A>(make: (contender: Contender) => Promise<A>): Promise<PerContender<A>> => {
  const made: Partial<Record<Contender, A>> = {}
  for (const contender of contenders) made[contender] = await make(contender)
  return made as PerContender<A>
}

export const withSessions = async <A>(
  wire: Wire,
  way: Way,
  use: (sessions: PerContender<Session>) => Promise<A>
): Promise<A> => {
  const opened: Array<Session> = []
  try {
    return await use(
      await forEach(async (contender) => {
        const session = await (await load(contender, way))(wire)
        opened.push(session)
        return session
      })
    )
  } finally {
    for (const session of opened) await session.close()
  }
}
