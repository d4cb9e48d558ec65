/** A turn to use the database, until `end`. */
export interface Turn {
  readonly end: () => void;
}

export interface TurnLimits {
  /** Turns at the same time. */
  readonly turns: number;
  /** Of these, turns of one key. */
  readonly ofOneKey: number;
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
 * Gives out turns on a database. The feeding of the embedded copy goes first; the others go round by key, so that one with
 * ten clients waits as long as one with a single client.
 */
export class TurnQueue {
  readonly #limits: TurnLimits;
  readonly #feeds: Waiting[] = [];
  /** By key, in the order of their turns. */
  readonly #byKey = new Map<string, Waiting[]>();
  /** Turns in progress, by key. */
  readonly #taken = new Map<string | null, number>();
  #count = 0;
  #takenCount = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#count + this.#feeds.length;
  }

  /** Takes a turn that is free for this key; undefined where it has to wait for one. */
  takeFree(key: string | null): Turn | undefined {
    return this.#isFree(key) ? this.#begin(key) : undefined;
  }

  /**
   * Waits for a turn of this key, or of the feeding. Rejects with a TurnRefusal when too many wait, and with the
   * signal's reason.
   * @param key null for the feeding.
   */
  take(key: string | null, signal?: AbortSignal): Promise<Turn> {
    const free = this.takeFree(key);
    if (free !== undefined) return Promise.resolve(free);
    if (key !== null && this.#count >= WAITING_MAX) {
      return Promise.reject(new TurnRefusal("Too many statements wait for the database."));
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

  #isFree(key: string | null): boolean {
    if (this.#takenCount >= this.#limits.turns) return false;
    return key === null || (this.#taken.get(key) ?? 0) < this.#limits.ofOneKey;
  }

  #begin(key: string | null): Turn {
    this.#note(key, 1);
    let isOver = false;
    return {
      end: () => {
        if (isOver) return;
        isOver = true;
        this.#note(key, -1);
        this.#beginNext();
      },
    };
  }

  #note(key: string | null, change: 1 | -1): void {
    const left = (this.#taken.get(key) ?? 0) + change;
    if (left === 0) this.#taken.delete(key);
    else this.#taken.set(key, left);
    this.#takenCount += change;
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

  #beginNext(): void {
    if (this.#takenCount >= this.#limits.turns) return;
    const feed = this.#feeds.shift();
    if (feed !== undefined) {
      feed.begin(this.#begin(null));
      return;
    }
    const [key, list] = [...this.#byKey].find(([of]) => this.#isFree(of)) ?? [];
    const next = list?.shift();
    if (key === undefined || list === undefined || next === undefined) return;
    this.#count -= 1;
    // A key that had its turn goes behind the others.
    this.#byKey.delete(key);
    if (list.length > 0) this.#byKey.set(key, list);
    next.begin(this.#begin(key));
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
