import { MAX_KEPT_CHARACTERS, MAX_KEPT_NAMES } from "./session-limits.ts";

/**
 * What the statement log says instead of a text that is not known: of a name that was forgotten, or a cursor that SQL
 * has declared. So every read leaves a line.
 */
const UNKNOWN_TEXT = "-- a statement or cursor that was prepared before";

/** What a portal has brought over all its Executes. */
export interface Portal {
  readonly text: string;
  rows: number;
  bytes: number;
}

/**
 * Remembers which text a prepared statement or a portal has, for the statement log and the caps. The oldest names are
 * dropped at a limit: a statement without its text still runs, and its line says that it is not known.
 */
export class KeptNames {
  readonly #statements = new Map<string, string>();
  readonly #portals = new Map<string, Portal>();
  #characters = 0;

  parsed(statement: string, text: string): void {
    this.#forget(statement);
    this.#statements.set(statement, text);
    this.#characters += text.length;
    for (const oldest of this.#statements.keys()) {
      const isFull =
        this.#statements.size > MAX_KEPT_NAMES || this.#characters > MAX_KEPT_CHARACTERS;
      if (!isFull) break;
      this.#forget(oldest);
    }
  }

  textOf(statement: string): string {
    return this.#statements.get(statement) ?? UNKNOWN_TEXT;
  }

  bound(portal: string, statement: string): void {
    this.#portals.delete(portal);
    this.#portals.set(portal, { text: this.textOf(statement), rows: 0, bytes: 0 });
    const [oldest] = this.#portals.keys();
    if (this.#portals.size > MAX_KEPT_NAMES && oldest !== undefined) this.#portals.delete(oldest);
  }

  /** One that SQL declared is a new one at each call. */
  portal(name: string): Portal {
    return this.#portals.get(name) ?? { text: UNKNOWN_TEXT, rows: 0, bytes: 0 };
  }

  /** @param kind `S` for a statement, `P` for a portal. */
  closed(kind: string, name: string): void {
    if (kind === "S") this.#forget(name);
    else this.#portals.delete(name);
  }

  #forget(statement: string): void {
    this.#characters -= this.#statements.get(statement)?.length ?? 0;
    this.#statements.delete(statement);
  }
}
