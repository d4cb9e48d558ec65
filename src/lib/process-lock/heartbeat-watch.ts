/** An owner whose process cannot be looked up counts as dead after this time without a heartbeat. */
export const SILENCE_MS = 15_000;
/** Locks that were not checked for this long are forgotten, because they no longer exist. */
const FORGET_MS = 10 * SILENCE_MS;

export type Heart = "beats" | "is silent" | "is not known";

interface Sighting {
  readonly heartbeat: string;
  /** When this heartbeat was first seen. */
  readonly since: number;
  readonly hasMoved: boolean;
  readonly lookedAt: number;
}

/**
 * Determines by repeated looks whether a lock's owner is alive. It uses only this process's monotonic clock: the
 * heartbeat is a timestamp of another machine, whose clock may be wrong by any amount.
 */
export class HeartbeatWatch {
  readonly #now: () => number;
  readonly #sightings = new Map<string, Sighting>();

  /** @param now returns milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @param heartbeat a value that the owner changes while it is alive. */
  look(lock: string, heartbeat: string): Heart {
    const now = this.#now();
    const seen = this.#sightings.get(lock);
    if (seen?.heartbeat === heartbeat) {
      this.#sightings.set(lock, { ...seen, lookedAt: now });
      if (now - seen.since >= SILENCE_MS) return "is silent";
      return seen.hasMoved ? "beats" : "is not known";
    }
    this.#forgetOld(now);
    const hasMoved = seen !== undefined;
    this.#sightings.set(lock, { heartbeat, since: now, hasMoved, lookedAt: now });
    return hasMoved ? "beats" : "is not known";
  }

  #forgetOld(now: number): void {
    for (const [lock, { lookedAt }] of this.#sightings) {
      if (now - lookedAt > FORGET_MS) this.#sightings.delete(lock);
    }
  }
}
