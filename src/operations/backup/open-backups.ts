import { toDatabaseError } from "../../db/database-error.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { WrittenArchive } from "./archive/write-archive.ts";
import { BackupError } from "./backup-format.ts";
import { type BackupSource, makeBackup } from "./make-backup.ts";

export interface BackupOptions extends Omit<BackupSource, "now"> {
  readonly clock: Clock;
  readonly log: Log;
}

/** A backup whose first bytes have been read: most of what prevents one has been found by then. */
export interface RunningBackup extends WrittenArchive {
  readonly bytes: AsyncGenerator<Buffer, void>;
}

export interface Backups {
  /**
   * Begins a backup of this installation, to be closed by the caller. Returns undefined while another one is in
   * progress: each holds a snapshot of the database open. Rejects with the reason when nothing can be read.
   */
  readonly begin: () => Promise<RunningBackup> | undefined;
  /** Aborts a backup in progress. Never rejects. */
  readonly close: () => Promise<void>;
}

/** Makes the backups that are requested of this process, one at a time, and logs how each ended. */
export function openBackups({ clock, log, ...source }: BackupOptions): Backups {
  let current: Run | undefined;
  return {
    begin() {
      if (current !== undefined) return undefined;
      current = new Run(makeBackup({ ...source, now: clock.now() }), log, () => {
        current = undefined;
      });
      return current.begin();
    },
    async close() {
      await current?.close();
    },
  };
}

class Run {
  readonly #archive: WrittenArchive;
  readonly #log: Log;
  readonly #onClosed: () => void;
  #outcome: "open" | "sent" | "failed" = "open";
  #closing: Promise<void> | undefined;

  constructor(archive: WrittenArchive, log: Log, onClosed: () => void) {
    this.#archive = archive;
    this.#log = log;
    this.#onClosed = onClosed;
  }

  async begin(): Promise<RunningBackup> {
    const bytes = this.#read();
    const first = await bytes.next().catch(async (thrown: unknown) => {
      await this.close();
      throw thrown;
    });
    const all = async function* () {
      if (first.done !== true) yield first.value;
      yield* bytes;
    };
    return { bytes: all(), close: () => this.close() };
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async *#read(): AsyncGenerator<Buffer, void> {
    try {
      yield* this.#archive.bytes;
      this.#outcome = "sent";
    } catch (thrown) {
      // What is closed early ends with an error too.
      if (this.#closing === undefined) {
        this.#outcome = "failed";
        this.#log.warn({ cause: backupFailure(thrown) }, "a backup failed");
      }
      throw thrown;
    }
  }

  async #end(): Promise<void> {
    await this.#archive.close();
    this.#onClosed();
    if (this.#outcome === "sent") this.#log.info("a backup was sent");
    if (this.#outcome === "open") this.#log.warn("a backup was cancelled: its reader has left");
  }
}

/** Returns why a backup failed, for the operator: without values of the database. */
export function backupFailure(thrown: unknown): string {
  return thrown instanceof BackupError ? thrown.message : toDatabaseError(thrown).message;
}
