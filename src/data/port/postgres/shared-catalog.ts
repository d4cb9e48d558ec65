import {
  FUNCTION_CATALOG_SQL,
  type FunctionCatalog,
  readFunctionCatalog,
} from "../../../lib/sql-gate/postgres/function-catalog.ts";
import type { RunStatement } from "./log-in.ts";

/** A function that is made meanwhile is refused as unknown until then. */
const KEPT_MS = 600_000;

/** The functions of one database, for all sessions of this process. */
export class SharedCatalog {
  readonly #now: () => number;
  #catalog: FunctionCatalog | undefined;
  #reading: Promise<void> | undefined;
  #readAt = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws before the first session has read it. */
  get current(): FunctionCatalog {
    if (this.#catalog === undefined) throw new Error("The functions of the database are unread.");
    return this.#catalog;
  }

  /** Reads it by a session that has just logged in, when there is none or it is old. */
  async read(run: RunStatement): Promise<void> {
    if (this.#catalog !== undefined && this.#now() - this.#readAt < KEPT_MS) return;
    if (this.#reading !== undefined) {
      // Whoever reads may fail with its connection; then this session reads by itself.
      await this.#reading.catch(() => undefined);
      return this.read(run);
    }
    this.#reading = this.#readNow(run).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(run: RunStatement): Promise<void> {
    const readAt = this.#now();
    this.#catalog = readFunctionCatalog(await run(FUNCTION_CATALOG_SQL));
    this.#readAt = readAt;
  }
}
