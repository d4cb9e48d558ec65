import fs from "node:fs";
import type { Settings } from "../../config/settings.ts";
import type { Log } from "../../lib/log.ts";
import { storageUnavailable } from "./storage-unavailable.ts";

const GROUP_INTERVAL_MS = 5;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (cause: Error) => void;
}

/** Syncs written files to stable storage: one sync covers many writes, and only one runs at a time. */
export class GroupSync {
  readonly #mode: Settings["JOURNAL_FSYNC"];
  readonly #log: Log;
  #written = new Set<number>();
  #retired: number[] = [];
  #waiters: Waiter[] = [];
  #isRunning = false;
  #isFailing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(mode: Settings["JOURNAL_FSYNC"], log: Log) {
    this.#mode = mode;
    this.#log = log;
  }

  /** True from a sync that the disk refuses until the next one that it does not. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Notes that the open file was written. */
  mark(file: number): void {
    if (this.#mode === "off") return;
    this.#written.add(file);
    if (this.#mode === "group") this.#runLater();
  }

  /** Closes a file that is no longer written, after its last sync. */
  retire(file: number): void {
    this.#retired.push(file);
    this.#runLater();
  }

  /** Resolves when everything marked so far is on stable storage. Rejects with `storage_unavailable` when the disk refuses. */
  settle(): Promise<void> {
    return new Promise((resolve, reject) => {
      // A sync in progress may have begun before the caller's write, so only the next one counts.
      if (this.#waiters.push({ resolve, reject }) === 1) setImmediate(() => void this.#run());
    });
  }

  #runLater(): void {
    if (this.#isRunning || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.#run(), GROUP_INTERVAL_MS);
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isRunning = true;
    const retired = this.#retired;
    const waiters = this.#waiters;
    this.#retired = [];
    this.#waiters = [];
    await this.#syncWritten(waiters);
    for (const file of retired) fs.closeSync(file);
    this.#isRunning = false;
    if (this.#waiters.length > 0) setImmediate(() => void this.#run());
    else if (this.#retired.length > 0 || this.#isDue()) this.#runLater();
  }

  async #syncWritten(waiters: readonly Waiter[]): Promise<void> {
    const files = [...this.#written];
    this.#written.clear();
    try {
      await Promise.all(files.map((file) => syncFile(file)));
      this.#isFailing = false;
      for (const waiter of waiters) waiter.resolve();
    } catch (thrown) {
      if (!this.#isFailing)
        this.#log.error({ err: thrown }, "the usage journal could not be synced to disk");
      this.#isFailing = true;
      for (const waiter of waiters) waiter.reject(storageUnavailable(thrown));
    }
  }

  #isDue(): boolean {
    return this.#mode === "group" && this.#written.size > 0;
  }
}

function syncFile(file: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.fdatasync(file, (fault) => (fault === null ? resolve() : reject(fault)));
  });
}
