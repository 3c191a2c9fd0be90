/**
 * The catalogue of one server over a way to list: its four lists, together.
 *
 * Owns: what is told to all of them: notifications, the store, the end.
 * May not touch: what a list does then.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Catalog from "../../Catalog.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import { addFinalizer } from "../finalizers.js"
import * as Check from "../options.js"
import { shownAs } from "../shownAs.js"
import { together } from "../together.js"
import { forkIn } from "./flights.js"
import { KeptList, type Parts, type Source } from "./keptList.js"
import { noStorage } from "./noStorage.js"
import type { Kind } from "./shelf.js"
import { Shelves } from "./shelves.js"

export const make = (
  source: Source,
  options: Catalog.CatalogOptions = {},
  /** Called, synchronously, when a list has changed. Total. */
  observer?: () => void
): Effect.Effect<Internal, McpError.ConfigInvalid, Scope.Scope> =>
  Effect.uninterruptible(
    Effect.gen(function*() {
      const settings = yield* settingsOf(source.server, options)
      const fork = yield* forkIn(yield* Effect.scope)
      const clock = yield* Effect.clock
      const storage = options.storage === noStorage ? undefined : options.storage
      const catalog = new Internal({ source, storage, ...settings, fork, clock }, observer)
      yield* addFinalizer(() => Effect.sync(() => catalog.release()))
      if (source.notifications !== undefined) {
        fork(Stream.runForEach(source.notifications, (notification) => Effect.sync(() => catalog.hear(notification))))
      }
      return catalog
    })
  )

/** With what those who list need beside what applications see. */
export class Internal implements Catalog.Catalog {
  readonly server: string
  readonly shelves: Shelves
  readonly tools: KeptList<"tools">
  readonly prompts: KeptList<"prompts">
  readonly resources: KeptList<"resources">
  readonly templates: KeptList<"templates">

  constructor(private readonly parts: Parts, observer: (() => void) | undefined) {
    this.server = parts.source.server
    const shelves = this.shelves = new Shelves(parts.ttl, observer)
    this.tools = new KeptList(shelves.tools, parts)
    this.prompts = new KeptList(shelves.prompts, parts)
    this.resources = new KeptList(shelves.resources, parts)
    this.templates = new KeptList(shelves.templates, parts)
    shownAs(this, "Catalog", () => ({ server: this.server }))
  }

  private get all(): ReadonlyArray<KeptList<Kind>> {
    return [this.tools, this.prompts, this.resources, this.templates] as never
  }

  get invalidate(): Effect.Effect<void> {
    return Effect.sync(() => this.shelves.outdate(this.shelves.all.map((_) => _.kind)))
  }

  get restore(): Effect.Effect<void> {
    const { storage } = this.parts
    return storage === undefined ? Effect.void : Effect.asVoid(
      together(this.all, (list) => list.restoreFrom(storage))
    )
  }

  hear(notification: McpProtocol.Notification): void {
    for (const kind of this.shelves.hear(notification)) this[kind].heard()
  }

  /** What the server has said meanwhile was not heard: a list that is being read for the first time is to be read again. */
  unheard(): void {
    for (const list of this.all) list.unheard()
  }

  /** The tools, from the server, to connect it. Whoever waits for them at once shares one listing. */
  get readTools(): Effect.Effect<Catalog.Snapshot<McpProtocol.Tool>, McpError.McpError> {
    return this.tools.read(true)
  }

  /** What nobody waits for: a list from the server, unless it is fresh. */
  readUnattended(kind: Kind): Effect.Effect<unknown, McpError.McpError> {
    const list = this[kind] as unknown as KeptList<Kind>
    return Effect.flatMap(list.fresh, (fresh) => fresh !== undefined ? Effect.void : list.read(true))
  }

  /** The listing that began then is complete. */
  remember<K extends Kind>(kind: K, began: number, listing: McpProtocol.Listing<Catalog.Items[K]>): void {
    const list = this[kind] as unknown as KeptList<K>
    list.remember(began, listing)
  }

  release(): void {
    for (const list of this.all) list.release()
  }
}

type Settings = Pick<Parts, "ttl" | "debounce">

const settingsOf = (
  server: string,
  { cache = "session", debounce = 100 }: Catalog.CatalogOptions
): Either.Either<Settings, McpError.ConfigInvalid> => {
  const problems: Array<McpError.ConfigProblem> = []
  const value = (field: string, checked: Check.Checked<number>): number => {
    if (Either.isLeft(checked)) problems.push({ field, problem: checked.left })
    return Either.getOrElse(checked, () => 0)
  }
  const isTtl = typeof cache === "object" && cache !== null
  if (!isTtl && cache !== "off" && cache !== "session") {
    problems.push({ field: "catalog.cache", problem: `must be "off", "session" or { ttl: a duration }` })
  }
  const settings = {
    ttl: isTtl
      ? value("catalog.cache.ttl", Check.finiteBound(cache.ttl))
      : cache === "off"
      ? 0
      : Number.POSITIVE_INFINITY,
    debounce: value("catalog.debounce", Check.base(debounce))
  }
  return problems.length === 0
    ? Either.right(settings)
    : Either.left(new McpError.ConfigInvalid({ server, operation: "configure", executed: "no", problems }))
}
