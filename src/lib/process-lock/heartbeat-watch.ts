/** An owner whose process cannot be looked up counts as dead after so long without a heartbeat. */
export const SILENCE_MS = 15_000;
/** Locks that nobody has asked about for so long are forgotten: they are gone. */
const FORGET_MS = 10 * SILENCE_MS;

export type Heart = "beats" | "is silent" | "is not known";

interface Sighting {
  readonly heartbeat: string;
  /** When it was first seen. */
  readonly since: number;
  readonly hasMoved: boolean;
  readonly lookedAt: number;
}

/**
 * Tells by looking again and again whether a lock's owner lives. Only this process's own steady clock counts: the
 * owner's heartbeat is a time by the clock of another machine, which may be off by any amount.
 */
export class HeartbeatWatch {
  readonly #now: () => number;
  readonly #sightings = new Map<string, Sighting>();

  /** @param now milliseconds of a clock that nobody sets. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @param heartbeat what the owner changes while it lives. */
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
