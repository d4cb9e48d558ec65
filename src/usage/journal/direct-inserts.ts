import type { Database } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/time/within.ts";
import type { Quarantine } from "./quarantine.ts";
import { storageUnavailable } from "./storage-unavailable.ts";
import { storeRecords } from "./store-records.ts";

const BATCH_RECORDS = 500;
/** Records that may wait in memory while journal and database are both unavailable. */
const WAITING_MAX = 10_000;
const RETRY_INTERVAL_MS = 1_000;

interface Waiting {
  readonly record: string;
  readonly stored: () => void;
}

export interface DirectInsertsOptions {
  /** The name changes when the journal moves to a new folder. */
  readonly journal: string;
  readonly database: Database;
  readonly quarantine: Quarantine;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
  readonly log: Log;
}

/**
 * Bypass for a journal whose disk is full: records go directly to the database, those of the same moment in one batch.
 */
export class DirectInserts {
  readonly #options: DirectInsertsOptions;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #checking: Promise<void> | undefined;
  /** The database refused the waiting records and has not accepted any since. */
  #isRefused = false;

  constructor(options: DirectInsertsOptions) {
    this.#options = options;
  }

  /** Records that the database does not have yet. */
  get unflushedRecords(): number {
    return this.#waiting.length;
  }

  /**
   * Resolves when the database has the record. Rejects with `storage_unavailable` after DB_POOL_WAIT_MS; the record is
   * still retried until the database takes it. When too many records wait already, it is dropped immediately.
   * @param onSettled called once, when the database has the record or it is dropped.
   */
  insert(record: string, onSettled: () => void): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      this.#options.log.error(
        "a usage record was lost: neither the journal nor the database accepts it",
      );
      onSettled();
      return Promise.reject(storageUnavailable(undefined));
    }
    const done = new Promise<void>((resolve) => {
      const stored = () => {
        onSettled();
        resolve();
      };
      this.#waiting.push({ record, stored });
    });
    this.#start();
    return within(done, this.#options.waitMs, () => storageUnavailable(undefined));
  }

  /**
   * Resolves when the database takes writes; rejects with `storage_unavailable`. Concurrent callers share one check.
   * While refused records wait, those are written as the check: a full disk may still accept a write as small as a
   * checkpoint.
   */
  async checkWritable(): Promise<void> {
    const isFull = this.#waiting.length >= WAITING_MAX;
    if (isFull || this.#isRefused) throw storageUnavailable(undefined);
    this.#checking ??= this.#store([]).finally(() => {
      this.#checking = undefined;
    });
    try {
      await this.#checking;
    } catch (thrown) {
      throw storageUnavailable(thrown);
    }
  }

  /** Resolves when no record waits any more. */
  async settle(): Promise<void> {
    await this.#running;
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // A record may have arrived after the last check and before this callback.
      if (this.#waiting.length > 0) this.#start();
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH_RECORDS);
      try {
        await this.#store(batch.map(({ record }) => record));
        this.#isRefused = false;
        this.#waiting = this.#waiting.slice(batch.length);
        for (const { stored } of batch) stored();
      } catch {
        // The timeout has already answered the waiting callers; the records stay.
        this.#isRefused = true;
        await new Promise((resolve) => setTimeout(resolve, RETRY_INTERVAL_MS));
      }
    }
  }

  #store(records: readonly string[]): Promise<void> {
    const { database, quarantine, journal } = this.#options;
    // No segment has the number 0: writing its checkpoint has no meaning and proves that writing works.
    const checkpoint = { journal, segment: 0, byteOffset: 0 };
    return database.askOwn((db) => storeRecords({ db, quarantine }, records, checkpoint));
  }
}
