import type { FunctionCatalog } from "../../../lib/sql-gate/postgres/function-catalog.ts";
import type { GateOptions, GateVerdict } from "./statement-gate.ts";

/** Bytes that all remembered texts may take, by an estimate. */
const MAX_BYTES = 8 * 1024 * 1024;
/** A longer text is one of many by a program, and hardly comes again. */
const TEXT_MAX_LENGTH = 32 * 1024;
/** Of an entry besides its texts. */
const ENTRY_BYTES = 500;

interface Entry {
  readonly verdict: GateVerdict;
  readonly bytes: number;
}

/** The verdicts of texts that came last, by the catalog and the options that they were checked with. */
export class VerdictCache {
  readonly #entries = new Map<string, Entry>();
  readonly #catalogs = new WeakMap<FunctionCatalog, number>();
  #catalogCount = 0;
  #bytes = 0;

  get(sql: string, catalog: FunctionCatalog, options: GateOptions): GateVerdict | undefined {
    if (sql.length > TEXT_MAX_LENGTH) return undefined;
    const key = this.#key(sql, catalog, options);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // The last one used is the last one to go.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.verdict;
  }

  add(sql: string, catalog: FunctionCatalog, options: GateOptions, verdict: GateVerdict): void {
    if (sql.length > TEXT_MAX_LENGTH) return;
    const key = this.#key(sql, catalog, options);
    this.#remove(key);
    // The names of relations are no longer than the text.
    const bytes = 2 * (2 * key.length + verdict.normalized.length) + ENTRY_BYTES;
    this.#entries.set(key, { verdict, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= MAX_BYTES) break;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }

  #key(sql: string, catalog: FunctionCatalog, options: GateOptions): string {
    let number = this.#catalogs.get(catalog);
    if (number === undefined) {
      this.#catalogCount += 1;
      number = this.#catalogCount;
      this.#catalogs.set(catalog, number);
    }
    return `${number} ${options.timeoutSeconds ?? 0} ${options.isOneQuery ?? false} ${sql}`;
  }
}
