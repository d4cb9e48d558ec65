import type { Principal } from "../../principal.ts";
import { ConnectionRefusal } from "./connection-refusal.ts";

/** Connections that have not logged in, which hold little. They have a bound of their own, so that they lock out nobody. */
const STARTING_MAX = 2_048;
const STARTING_PER_NETWORK_MAX = 1_024;

/** Gives a place back. Once; further calls do nothing. */
export type Leave = () => void;

/**
 * Counts connections: those that start, by network, and those of principals. Each place is taken before anything is
 * awaited, so that the counts are exact.
 */
export class ConnectionPlaces {
  readonly #max: number;
  readonly #report: (open: number) => void;
  /** How to drop each connection that starts, the oldest first. */
  readonly #starting = new Map<string, Set<() => void>>();
  #startingCount = 0;
  readonly #ofPrincipals = new Map<string, number>();
  #open = 0;
  /** Connections whose key is being checked. */
  #checking = 0;

  /** @param report is called with the number of connections of principals when it changes. */
  constructor(max: number, report: (open: number) => void) {
    this.#max = max;
    this.#report = report;
  }

  /**
   * Takes the place of a connection that starts. When all are taken, the oldest one of the network with the most is
   * dropped, so that somebody who only opens connections does not keep others out. Throws a ConnectionRefusal when the
   * network has too many.
   */
  start(network: string, drop: () => void): Leave {
    const drops = this.#starting.get(network) ?? new Set();
    if (drops.size >= STARTING_PER_NETWORK_MAX) {
      throw new ConnectionRefusal(
        "53300",
        "Too many connections of this address are logging in. Try again in some seconds.",
      );
    }
    if (this.#startingCount >= STARTING_MAX) this.#dropOldest();
    // A wrapper, because the same function could be given twice.
    const own = (): void => drop();
    this.#starting.set(network, drops.add(own));
    this.#startingCount += 1;
    return once(() => {
      drops.delete(own);
      this.#startingCount -= 1;
      if (drops.size === 0) this.#starting.delete(network);
    });
  }

  /** Throws a ConnectionRefusal when no principal could get a place. */
  refuseWhenFull(): void {
    if (this.#open < this.#max) return;
    throw new ConnectionRefusal(
      "53300",
      `All ${this.#max} connections of this port are in use. Try again later.`,
      "An administrator can raise BIKEY_PG_MAX_CONNECTIONS.",
    );
  }

  /**
   * Counts a connection whose key is being checked. Throws a ConnectionRefusal when there are as many as could ever get a
   * place: who comes then would wait for nothing.
   */
  check(): Leave {
    this.refuseWhenFull();
    if (this.#checking >= this.#max) {
      throw new ConnectionRefusal(
        "53300",
        `${this.#max} connections are logging in, as many as this port serves. Try again in some seconds.`,
        "An administrator can raise BIKEY_PG_MAX_CONNECTIONS.",
      );
    }
    this.#checking += 1;
    return once(() => {
      this.#checking -= 1;
    });
  }

  /** Takes a place of a principal. Throws a ConnectionRefusal when there is none. */
  take({ id, maxConnections }: Principal): Leave {
    this.refuseWhenFull();
    const taken = this.#ofPrincipals.get(id) ?? 0;
    if (taken >= maxConnections) {
      throw new ConnectionRefusal(
        "53300",
        `All connections of this key are in use (max_connections is ${maxConnections}).`,
        "Close one, use a smaller connection pool, or raise the key's max_connections.",
      );
    }
    this.#change(id, 1);
    return once(() => this.#change(id, -1));
  }

  #change(id: string, by: 1 | -1): void {
    const taken = (this.#ofPrincipals.get(id) ?? 0) + by;
    if (taken === 0) this.#ofPrincipals.delete(id);
    else this.#ofPrincipals.set(id, taken);
    this.#open += by;
    this.#report(this.#open);
  }

  #dropOldest(): void {
    let most = new Set<() => void>();
    for (const drops of this.#starting.values()) if (drops.size > most.size) most = drops;
    const [oldest] = most;
    oldest?.();
  }
}

function once(work: () => void): Leave {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
