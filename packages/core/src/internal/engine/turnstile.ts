/**
 * How many requests may be under way at once over all sessions that share it.
 *
 * Owns: the permits, and the round in which places get them when there are more requests than permits.
 * May not touch: requests, deadlines, the gate of a session. A session comes here only with a request that it could send at
 * once, so that nobody holds a permit while it waits for something else.
 *
 * The sessions over one channel (the shared one, those of isolated replays, one that drains) have one place in the round. A
 * place that has had a permit and wants another goes to the end. Whatever gives permits back may still be telling the
 * server, so that they are handed on right after it, not inside of it.
 */

/** A session at its place. */
export interface Waiter {
  /** There is a permit for one request: whether it was of use. Synchronous and total. */
  readonly proceed: () => boolean
}

export class Turnstile {
  private free: number
  /** Those who want a permit. Where there are free ones as well, `handOn` is due. */
  private readonly round = new Set<Place>()
  private readonly places = new WeakMap<object, Place>()
  private isHandOnDue = false

  constructor(readonly permits: number) {
    this.free = permits
  }

  placeOf(owner: object): Place {
    let place = this.places.get(owner)
    if (place === undefined) this.places.set(owner, place = new Place(this))
    return place
  }

  /** Takes a permit, unless there is none or others have come before. */
  take(): boolean {
    if (this.free === 0 || this.round.size > 0) return false
    this.free--
    return true
  }

  giveBack(): void {
    this.free++
    if (this.isHandOnDue || this.round.size === 0) return
    this.isHandOnDue = true
    queueMicrotask(this.handOn)
  }

  join(place: Place): void {
    this.round.add(place)
  }

  quit(place: Place): void {
    this.round.delete(place)
  }

  private readonly handOn = (): void => {
    this.isHandOnDue = false
    // Whoever joins meanwhile comes at the end of the same walk.
    for (const place of this.round) {
      if (this.free === 0) return
      this.round.delete(place)
      this.free--
      if (!place.proceed()) this.free++
    }
  }
}

/** Where the sessions over one channel wait. */
export class Place {
  private readonly waiters = new Set<Waiter>()

  constructor(private readonly turnstile: Turnstile) {}

  get permits(): number {
    return this.turnstile.permits
  }

  /** Takes a permit, or waits to be called with one. */
  enter(waiter: Waiter): boolean {
    if (this.turnstile.take()) return true
    this.waiters.add(waiter)
    this.turnstile.join(this)
    return false
  }

  /** One request that had a permit is settled. */
  leave(): void {
    this.turnstile.giveBack()
  }

  holdsUp(waiter: Waiter): boolean {
    return this.waiters.has(waiter)
  }

  /** It has nothing to send any more. */
  quit(waiter: Waiter): void {
    if (this.waiters.delete(waiter) && this.waiters.size === 0) this.turnstile.quit(this)
  }

  /** Gives a permit to the next session that has use for it. */
  proceed(): boolean {
    for (const waiter of this.waiters) {
      this.waiters.delete(waiter)
      // Before it goes, so that it can't overtake those who wait here as well.
      if (this.waiters.size > 0) this.turnstile.join(this)
      if (waiter.proceed()) return true
    }
    return false
  }
}
