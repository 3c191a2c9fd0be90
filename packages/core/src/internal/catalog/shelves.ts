/**
 * The lists of one server, together: what whoever lists, and whoever hears the server, tells them.
 */
import type * as McpProtocol from "../../McpProtocol.js"
import { type Kind, kindsOf, Shelf } from "./shelf.js"

export class Shelves {
  readonly tools: Shelf<"tools">
  readonly prompts: Shelf<"prompts">
  readonly resources: Shelf<"resources">
  readonly templates: Shelf<"templates">

  constructor(ttl: number, observer?: () => void) {
    this.tools = new Shelf("tools", ttl, observer)
    this.prompts = new Shelf("prompts", ttl, observer)
    this.resources = new Shelf("resources", ttl, observer)
    this.templates = new Shelf("templates", ttl, observer)
  }

  get all(): ReadonlyArray<Shelf<Kind>> {
    return [this.tools, this.prompts, this.resources, this.templates] as never
  }

  of<K extends Kind>(kind: K): Shelf<K> {
    return this[kind] as never
  }

  /** What was listed, and is to be listed again in a new session. */
  get listed(): ReadonlyArray<Kind> {
    return this.all.filter((_) => _.isListed).map((_) => _.kind)
  }

  /** The server has said so, or may have said so while it could not be heard. */
  outdate(kinds: Iterable<Kind>): void {
    for (const kind of kinds) this.of(kind).outdate()
  }

  /** Which lists are out of date by what the server says. */
  hear(notification: McpProtocol.Notification): ReadonlyArray<Kind> {
    const kinds = kindsOf.get(notification.method) ?? none
    this.outdate(kinds)
    return kinds
  }
}

const none: ReadonlyArray<Kind> = []
