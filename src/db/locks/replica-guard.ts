import { setTimeout as sleep } from "node:timers/promises";
import type { Settings } from "../../config/settings.ts";
import { StartRefusal } from "../../lib/folders/start-refusal.ts";
import type { Log } from "../../lib/log.ts";
import { openReplicaLock, type ReplicaLock } from "./advisory-locks.ts";

/** The time that a start waits for a stopping replica; a killed one releases its lock immediately. */
const LEAVE_WAIT_MS = 5_000;
const LEAVE_PAUSE_MS = 250;
/** The pause between two attempts to take a lost lock again. */
const RETRY_PAUSE_MS = 1_000;

/** Ensures that replicas which share a database also share the counters of the limits. */
export interface ReplicaGuard {
  /** Returns false while another replica with counters of its own works on the same database. */
  readonly isSafe: () => boolean;
  /**
   * Sets the callback for a lost lock that is held again, because another replica may have counted meanwhile. A replica
   * that was seen counts as present until the callback resolves; if it rejects, it is called again.
   */
  readonly onHeldAgain: (catchUp: () => Promise<void>) => void;
  /** Releases the lock, so that others can start. */
  readonly close: () => Promise<void>;
}

/** The embedded database is guarded by the lock of its folder. */
const UNGUARDED: ReplicaGuard = {
  isSafe: () => true,
  onHeldAgain: () => undefined,
  close: () => Promise.resolve(),
};

/**
 * Takes the database for this replica: exclusively without REDIS_URL, and shared with replicas that have it too. Throws
 * a StartRefusal when another replica is present and the two could not share their limits. A lock that is lost with its
 * connection is taken again in the background.
 */
export async function openReplicaGuard(
  settings: Pick<Settings, "DATABASE_URL" | "REDIS_URL">,
  log: Log,
): Promise<ReplicaGuard> {
  const { DATABASE_URL: url } = settings;
  if (url === undefined) return UNGUARDED;
  const isShared = settings.REDIS_URL !== undefined;
  const guard = new HeldGuard({ url, isShared, log });
  await guard.take();
  return guard;
}

interface Parts {
  readonly url: string;
  readonly isShared: boolean;
  readonly log: Log;
}

class HeldGuard implements ReplicaGuard {
  readonly #parts: Parts;
  readonly #closing = new AbortController();
  #lock: ReplicaLock | undefined;
  #isTaken = false;
  #catchUp: () => Promise<void> = () => Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  isSafe(): boolean {
    return !this.#isTaken;
  }

  onHeldAgain(catchUp: () => Promise<void>): void {
    this.#catchUp = catchUp;
  }

  async take(): Promise<void> {
    const { isShared, log } = this.#parts;
    const deadline = performance.now() + LEAVE_WAIT_MS;
    for (let attempt = 0; ; attempt += 1) {
      this.#lock = await this.#tryLock();
      if (this.#lock !== undefined) return;
      if (performance.now() > deadline) throw new StartRefusal(refusalText(isShared));
      if (attempt === 0) log.warn("another replica uses the database; waiting until it stops");
      await sleep(LEAVE_PAUSE_MS);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#lock?.close();
  }

  #tryLock(): Promise<ReplicaLock | undefined> {
    const { url, isShared } = this.#parts;
    return openReplicaLock({ url, isShared, onLost: () => void this.#takeAgain() });
  }

  /** Never rejects. */
  async #takeAgain(): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    this.#lock = undefined;
    this.#parts.log.warn("the connection that holds the lock on the database was lost");
    while (!signal.aborted) {
      // An unreachable database gives no new information: limits continue from memory.
      const answer = await this.#tryLock().catch(() => "away" as const);
      if (answer === undefined) this.#noteTaken();
      else if (answer !== "away") {
        await this.#goOn(answer);
        return;
      }
      await sleep(RETRY_PAUSE_MS, undefined, { ref: false });
    }
  }

  #noteTaken(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.#parts.log.error(
      `keys with limits are refused until the other replica is stopped: ${refusalText(this.#parts.isShared)}`,
    );
  }

  /** Also ends when the lock is lost again, because another run then takes it. */
  async #goOn(lock: ReplicaLock): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) {
      await lock.close();
      return;
    }
    this.#lock = lock;
    while (this.#lock === lock && !signal.aborted) {
      const isCaughtUp = await this.#catchUp().then(
        () => true,
        () => false,
      );
      if (isCaughtUp && this.#lock === lock) {
        this.#isTaken = false;
        this.#parts.log.info("the lock on the database is held again");
        return;
      }
      await sleep(RETRY_PAUSE_MS, undefined, { ref: false });
    }
  }
}

function refusalText(isShared: boolean): string {
  return isShared
    ? "A replica without REDIS_URL uses this database, and replicas share the limits of keys only through Redis. " +
        "Stop it, and start every replica with the same REDIS_URL."
    : "Another replica of the gateway uses this database, and replicas share the limits of keys only through Redis. " +
        "Stop the other one, or set REDIS_URL to the same Redis or Valkey on every replica.";
}
