import { quoteText } from "../../copy/quote-sql.ts";
import { query } from "../protocol/frontend-messages.ts";
import { reportsOf } from "./answers.ts";
import { type CopyDatabase, CopyError } from "./copy-database.ts";

/** The texts of prepared statements that a session may keep. */
const PREPARED_MAX_BYTES = 8 * 1024 * 1024;
const CHANGING_TAG = /^(SET|RESET|DISCARD|DEALLOCATE|PREPARE)\b/;
const FORGETTING_TAG = /^(DISCARD|DEALLOCATE) ALL$/;
const SETTING_CALL = /\bset_config\b/i;
/** Settings that are made anew with each turn. */
const OWN_SETTINGS = [
  ...["role", "session_authorization", "data.as_of", "data.nothing"],
  // They never outlive a transaction, though the database lists them, and it takes them only before its first query.
  ...["transaction_isolation", "transaction_read_only", "transaction_deferrable"],
];

type Queried = Pick<CopyDatabase, "query" | "execute">;

/**
 * What a session has set and prepared. The database forgets it after the session's turn, and learns it again with the
 * next one: so sessions share no names, and none sees what another has prepared.
 */
export class SessionMemory {
  readonly #settings: Map<string, string>;
  /** What the client has set at its start. */
  readonly #start: ReadonlyMap<string, string>;
  /** Parse messages by the name of their statement; the unnamed one lives across turns too. */
  readonly #parsed = new Map<string, Buffer>();
  /** Statements that were prepared in SQL, by name. */
  readonly #prepared = new Map<string, string>();
  /** Names that the database knows now. */
  readonly #live = new Set<string>();
  #isChanged = false;
  #mayHold = false;
  /** It has called a function that sets, whose tag does not tell. */
  #setsByCall = false;

  constructor(settings: ReadonlyMap<string, string>) {
    this.#start = settings;
    this.#settings = new Map(settings);
  }

  /** Milliseconds; 0 for none. */
  get statementTimeout(): number {
    return Number(this.#settings.get("statement_timeout") ?? 0);
  }

  /**
   * The statements that give what was reset the values of the client's start, as a server would: the database knows nothing
   * of that start.
   */
  get restoring(): readonly string[] {
    if (this.#start.size === 0) return [];
    const values = Array.from(
      this.#start,
      ([name, value]) => `(${quoteText(name)}, ${quoteText(value)})`,
    );
    const sql = `
      select pg_catalog.set_config(start.name, start.value, false)
      from (values ${values.join(", ")}) as start (name, value)
      join pg_catalog.pg_settings as known on known.name = start.name
      where known.source <> 'session'`;
    return [sql];
  }

  /**
   * Sets the session up in a database that has forgotten all others. What SQL has prepared and cannot be prepared again,
   * because a table is gone since, is forgotten: the session is usable without it.
   */
  async setUp(database: Pick<CopyDatabase, "query">): Promise<void> {
    this.#live.clear();
    const settings = Array.from(
      this.#settings,
      ([name, value]) => `pg_catalog.set_config(${quoteText(name)}, ${quoteText(value)}, false)`,
    );
    if (settings.length > 0) await database.query(`select ${settings.join(", ")}`);
    for (const [name, statement] of this.#prepared) {
      try {
        await database.query(statement);
      } catch (thrown) {
        if (!(thrown instanceof CopyError)) throw thrown;
        this.#prepared.delete(name);
      }
    }
  }

  /** The message that makes the database know a statement again; undefined where it knows it, or nobody does. */
  lost(name: string): Buffer | undefined {
    return this.#live.has(name) ? undefined : this.#parsed.get(name);
  }

  /** The names of all statements that the database has forgotten. */
  lostNames(): string[] {
    return [...this.#parsed.keys()].filter((name) => name !== "" && !this.#live.has(name));
  }

  /** A text of ours took the place of the unnamed statement in the database. */
  loseUnnamed(): void {
    this.#live.delete("");
  }

  /** The database has accepted the message of `lost`. */
  recalled(name: string): void {
    this.#live.add(name);
  }

  /** Keeps a statement that the database has accepted. False when there are too many. */
  keep(name: string, parse: Buffer): boolean {
    this.#parsed.set(name, parse);
    this.#live.add(name);
    let bytes = 0;
    for (const { length } of this.#parsed.values()) bytes += length;
    return bytes <= PREPARED_MAX_BYTES;
  }

  forget(name: string): void {
    this.#parsed.delete(name);
    this.#live.delete(name);
  }

  /** Notes a statement by the tag of its end. */
  note(tag: string): void {
    if (CHANGING_TAG.test(tag)) this.#isChanged = true;
    if (FORGETTING_TAG.test(tag)) this.#forgetAll();
    if (tag === "DECLARE CURSOR") this.#mayHold = true;
  }

  /** Also those that the database has forgotten before. The unnamed statement stays, as it does on a server. */
  #forgetAll(): void {
    for (const name of this.#parsed.keys()) if (name !== "") this.forget(name);
    this.#prepared.clear();
  }

  /** Notes a text before it runs. */
  noteText(sql: string): void {
    if (SETTING_CALL.test(sql)) this.#setsByCall = true;
  }

  /**
   * Reads what the turn has changed, at the end of its transaction. `isHolding` while cursors are open that outlive it.
   */
  async read(
    database: Queried,
  ): Promise<{ readonly isHolding: boolean; readonly reports: Buffer }> {
    if (this.#isChanged || this.#setsByCall || this.#mayHold) this.loseUnnamed();
    const isToRead = this.#isChanged || this.#setsByCall;
    const reports = isToRead ? await this.#readChanges(database) : Buffer.alloc(0);
    this.#isChanged = false;
    if (this.#mayHold) {
      const [held] = await database.query("select 1 from pg_catalog.pg_cursors limit 1");
      this.#mayHold = held !== undefined;
    }
    return { isHolding: this.#mayHold, reports };
  }

  /** Returns what the client is told of parameters that have their value of its start again. */
  async #readChanges(database: Queried): Promise<Buffer> {
    // SET … TO DEFAULT has the tag of any SET.
    const restored = this.restoring.map((sql) => database.execute(query(sql)));
    const reports = (await Promise.all(restored)).map(reportsOf);
    const set = await database.query(
      `select name, setting from pg_catalog.pg_settings where source = 'session' and name not in (${OWN_SETTINGS.map(quoteText).join(", ")})`,
    );
    this.#settings.clear();
    for (const [name, value] of set) this.#settings.set(name ?? "", value ?? "");
    const prepared = await database.query(
      "select name, statement, from_sql from pg_catalog.pg_prepared_statements",
    );
    this.#prepared.clear();
    const there = new Set<string>();
    for (const [name, statement, fromSql] of prepared) {
      there.add(name ?? "");
      if (fromSql === "t") this.#prepared.set(name ?? "", statement ?? "");
    }
    for (const name of this.#live) {
      if (name !== "" && !there.has(name)) this.forget(name);
    }
    return Buffer.concat(reports);
  }
}
