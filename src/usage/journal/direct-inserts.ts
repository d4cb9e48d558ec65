import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/within.ts";
import type { Quarantine } from "./quarantine.ts";
import { storeRecords } from "./store-records.ts";

const BATCH_RECORDS = 500;
/** Records that may wait in memory when journal and database are both gone. */
const WAITING_MAX = 10_000;
const RETRY_INTERVAL_MS = 1_000;

interface Waiting {
  readonly record: string;
  readonly stored: () => void;
}

export interface DirectInsertsOptions {
  /** Another one after the journal has moved. */
  readonly journal: string;
  readonly database: Database;
  readonly quarantine: Quarantine;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
  readonly log: Log;
}

/** The way around a journal whose disk is full: records go to the database at once, those of the same moment together. */
export class DirectInserts {
  readonly #options: DirectInsertsOptions;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #checking: Promise<void> | undefined;
  /** The database refused the records that wait, and has taken none since. */
  #isRefused = false;

  constructor(options: DirectInsertsOptions) {
    this.#options = options;
  }

  /** Records that the database has not got. */
  get unflushedRecords(): number {
    return this.#waiting.length;
  }

  /**
   * Resolves when the database has the record. Rejects with `storage_unavailable` after DB_POOL_WAIT_MS; the
   * record is still tried until the database takes it. When too many wait already, it is given up at once.
   *
   * @param onSettled called once, when the database has the record or it is given up.
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
   * Resolves when the database takes writes; rejects with `storage_unavailable`. Shared by all who ask meanwhile. While
   * records wait that it refused, they are the proof: on a full disk it may still take as little as a checkpoint.
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

  /** Resolves when nothing waits any more. */
  async settle(): Promise<void> {
    await this.#running;
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // Something may have come after the last look and before this.
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
        // Whoever waits has been told by the limit; the records stay.
        this.#isRefused = true;
        await new Promise((resolve) => setTimeout(resolve, RETRY_INTERVAL_MS));
      }
    }
  }

  #store(records: readonly string[]): Promise<void> {
    const { database, quarantine, journal } = this.#options;
    // No segment has the number 0: writing its checkpoint says nothing and proves that writing works.
    const checkpoint = { journal, segment: 0, byteOffset: 0 };
    return database.askOwn((db) => storeRecords({ db, quarantine }, records, checkpoint));
  }
}

function storageUnavailable(cause: unknown): ServiceError {
  return new ServiceError("storage_unavailable", "The gateway cannot record this call now.", {
    retryAfterSeconds: 1,
    cause,
  });
}
