import { MAX_KEPT_CHARACTERS, MAX_KEPT_NAMES } from "./session-limits.ts";

/** What a portal has brought over all its Executes. */
export interface Portal {
  readonly text: string;
  rows: number;
  bytes: number;
}

/**
 * Remembers which text a prepared statement or a portal has, for the statement log and the caps. The oldest names are
 * dropped at a limit: a statement without its text still runs.
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
    return this.#statements.get(statement) ?? "";
  }

  bound(portal: string, statement: string): void {
    this.#portals.delete(portal);
    this.#portals.set(portal, { text: this.textOf(statement), rows: 0, bytes: 0 });
    const [oldest] = this.#portals.keys();
    if (this.#portals.size > MAX_KEPT_NAMES && oldest !== undefined) this.#portals.delete(oldest);
  }

  /** One that SQL declared is a new one at each call. */
  portal(name: string): Portal {
    return this.#portals.get(name) ?? { text: "", rows: 0, bytes: 0 };
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
