import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../lib/log.ts";
import type { Flusher } from "./flusher.ts";
import {
  createJournalFolder,
  type JournalFolder,
  journalName,
  removeJournalFolder,
} from "./journal-folder.ts";
import type { JournalWriter } from "./journal-writer.ts";

const RETRY_INTERVAL_MS = 1_000;

export interface JournalHomeOptions {
  /** The folder of all journals. */
  readonly root: string;
  readonly instance: string;
  readonly writer: JournalWriter;
  readonly flusher: Flusher;
  readonly log: Log;
}

/**
 * The place where this process writes its journal: a folder of its own, and a new one when another process takes that.
 * While the disk has no room for a folder, the writer refuses, so records go directly to the database.
 */
export class JournalHome {
  readonly #options: JournalHomeOptions;
  readonly #stopped = new AbortController();
  #folder: JournalFolder | undefined;
  #moving: Promise<void> = Promise.resolve();

  constructor(options: JournalHomeOptions) {
    this.#options = options;
  }

  get folder(): JournalFolder | undefined {
    return this.#folder;
  }

  /** The journal's name. While there is no folder, a name that no folder has. */
  get name(): string {
    return this.#folder?.name ?? journalName(this.#options.instance);
  }

  /**
   * Creates and enters the folder; retries later when the disk is full. Rejects when the disk cannot be used for
   * another reason.
   */
  async open(): Promise<void> {
    try {
      await this.#enter();
    } catch (thrown) {
      if (!isFull(thrown)) throw thrown;
      this.#options.log.error({ err: thrown }, "no folder could be created for the usage journal");
      this.#moving = this.#keepTrying();
    }
  }

  /** Creates no further folder. Never rejects. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#moving;
  }

  async #enter(): Promise<void> {
    const { root, instance, writer } = this.#options;
    const folder = await createJournalFolder(root, instance, () => this.#lose(folder));
    try {
      writer.enter(folder);
    } catch (thrown) {
      await removeJournalFolder(folder);
      throw thrown;
    }
    this.#folder = folder;
  }

  /** The process that took the folder has stored the open calls as cut, so nothing remains to be done for them. */
  #lose({ name }: JournalFolder): void {
    const { writer, flusher, log } = this.#options;
    log.error(
      { journal: name },
      "another process adopted the usage journal of this one; a new journal is started",
    );
    writer.leave();
    this.#folder = undefined;
    flusher.wake();
    this.#moving = this.#keepTrying();
  }

  /** Never rejects. */
  async #keepTrying(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await this.#enter();
        this.#options.log.info("the usage journal has a folder again");
        return;
      } catch {
        // The failure was logged when the folder was lost, or at the start.
        await sleep(RETRY_INTERVAL_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

function isFull(thrown: unknown): boolean {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT";
}
