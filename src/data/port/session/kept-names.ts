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
 * Whether a text makes its session give up all locks: it does, it may because it runs another one by its name (EXECUTE,
 * FETCH), or it does not.
 */
export type UnlocksSession = "yes" | "by name" | "no";

/** What is known of a text that has passed the gate. */
export interface KnownText {
  readonly text: string;
  readonly unlocks: UnlocksSession;
}

type KeptPortal = Portal & KnownText;

/** It may be anything. */
const UNKNOWN: KnownText = { text: UNKNOWN_TEXT, unlocks: "yes" };

/**
 * Remembers which text a prepared statement or a portal has, for the statement log, the caps and the session's place. The oldest names are
 * dropped at a limit: a statement without its text still runs, and its line says that it is not known.
 */
export class KeptNames {
  readonly #statements = new Map<string, KnownText>();
  readonly #portals = new Map<string, KeptPortal>();
  #characters = 0;

  parsed(statement: string, known: KnownText): void {
    this.#forget(statement);
    this.#statements.set(statement, known);
    this.#characters += known.text.length;
    for (const oldest of this.#statements.keys()) {
      const isFull =
        this.#statements.size > MAX_KEPT_NAMES || this.#characters > MAX_KEPT_CHARACTERS;
      if (!isFull) break;
      this.#forget(oldest);
    }
  }

  statement(name: string): KnownText {
    return this.#statements.get(name) ?? UNKNOWN;
  }

  bound(portal: string, statement: string): void {
    this.#portals.delete(portal);
    this.#portals.set(portal, { ...this.statement(statement), rows: 0, bytes: 0 });
    const [oldest] = this.#portals.keys();
    if (this.#portals.size > MAX_KEPT_NAMES && oldest !== undefined) this.#portals.delete(oldest);
  }

  /** One that SQL declared is a new one at each call. */
  portal(name: string): KeptPortal {
    return this.#portals.get(name) ?? { ...UNKNOWN, rows: 0, bytes: 0 };
  }

  /** @param kind `S` for a statement, `P` for a portal. */
  closed(kind: string, name: string): void {
    if (kind === "S") this.#forget(name);
    else this.#portals.delete(name);
  }

  #forget(statement: string): void {
    this.#characters -= this.#statements.get(statement)?.text.length ?? 0;
    this.#statements.delete(statement);
  }
}
