/** A turn: nobody else uses the database until `end`. */
export interface Turn {
  readonly end: () => void;
}

/** Waits beyond this number are refused. */
const WAITING_MAX = 500;

export class TurnRefusal extends Error {
  override readonly name = "TurnRefusal";
}

interface Waiting {
  readonly begin: (turn: Turn) => void;
}

/**
 * Gives out turns on the one session of the copy. The feeding goes first; the others go round by key, so that one with
 * ten clients waits as long as one with a single client.
 */
export class TurnQueue {
  readonly #feeds: Waiting[] = [];
  /** By key, in the order of their turns. */
  readonly #byKey = new Map<string, Waiting[]>();
  #count = 0;
  #isTaken = false;

  get waiting(): number {
    return this.#count + this.#feeds.length;
  }

  /**
   * Waits for a turn of this key, or of the feeding. Rejects with a TurnRefusal when too many wait, and with the
   * signal's reason.
   * @param key null for the feeding.
   */
  take(key: string | null, signal?: AbortSignal): Promise<Turn> {
    if (!this.#isTaken) return Promise.resolve(this.#begin());
    if (key !== null && this.#count >= WAITING_MAX) {
      return Promise.reject(new TurnRefusal("Too many statements wait for the embedded copy."));
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#remove(key, waiting);
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        begin: (turn) => {
          signal?.removeEventListener("abort", onAbort);
          resolve(turn);
        },
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", onAbort);
      this.#add(key, waiting);
    });
  }

  #begin(): Turn {
    this.#isTaken = true;
    let isOver = false;
    return {
      end: () => {
        if (isOver) return;
        isOver = true;
        this.#isTaken = false;
        this.#next()?.begin(this.#begin());
      },
    };
  }

  #add(key: string | null, waiting: Waiting): void {
    if (key === null) {
      this.#feeds.push(waiting);
      return;
    }
    this.#count += 1;
    const known = this.#byKey.get(key);
    if (known === undefined) this.#byKey.set(key, [waiting]);
    else known.push(waiting);
  }

  #next(): Waiting | undefined {
    const feed = this.#feeds.shift();
    if (feed !== undefined) return feed;
    const [key, list] = this.#byKey.entries().next().value ?? [];
    if (key === undefined || list === undefined) return undefined;
    const next = list.shift();
    this.#count -= 1;
    // A key that had its turn goes behind the others.
    this.#byKey.delete(key);
    if (list.length > 0) this.#byKey.set(key, list);
    return next;
  }

  #remove(key: string | null, waiting: Waiting): void {
    const list = key === null ? this.#feeds : this.#byKey.get(key);
    const at = list?.indexOf(waiting) ?? -1;
    if (list === undefined || at === -1) return;
    list.splice(at, 1);
    if (key === null) return;
    this.#count -= 1;
    if (list.length === 0) this.#byKey.delete(key);
  }
}
