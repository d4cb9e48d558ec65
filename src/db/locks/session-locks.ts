import { createHash } from "node:crypto";
import postgres from "postgres";
import { within } from "../../lib/within.ts";
import { toDatabaseError } from "../database-error.ts";

const ANSWER_TIMEOUT_MS = 5_000;
/** The server notices a host that vanished without a word after so many seconds, three times over. */
const KEEPALIVE_SECONDS = 10;
const CLOSE_TIMEOUT_SECONDS = 1;

export interface SessionLocksOptions {
  /** DATABASE_URL; undefined for the embedded database, whose one process holds every lock. */
  readonly url: string | undefined;
  /** One of ADVISORY_LOCK: what the names are of. */
  readonly space: number;
}

/** Locks by name that one process of several holds, until it lets go or is gone. */
export interface SessionLocks {
  /**
   * Takes a lock or makes sure that it is still held. Resolves with a number that stays the same for as long as it is
   * held without a break, with undefined while another process holds it. Rejects with a DatabaseError; then none is
   * held.
   */
  readonly hold: (name: string) => Promise<number | undefined>;
  /** Lets others have it. Never rejects. */
  readonly release: (name: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * The locks of this process, on one connection of their own that opens with the first: the server gives them up with
 * the connection, so none outlives its process.
 */
export function openSessionLocks({ url, space }: SessionLocksOptions): SessionLocks {
  if (url === undefined) {
    return {
      hold: () => Promise.resolve(0),
      release: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }
  return new HeldLocks(url, space);
}

interface Hold {
  readonly term: number;
  /** The number of the server's process: a new connection of the driver's has another, and no lock. */
  readonly pid: number;
}

class HeldLocks implements SessionLocks {
  readonly #url: string;
  readonly #space: number;
  readonly #held = new Map<string, Hold>();
  #sql: postgres.Sql | undefined;
  #terms = 0;

  constructor(url: string, space: number) {
    this.#url = url;
    this.#space = space;
  }

  async hold(name: string): Promise<number | undefined> {
    try {
      return await within(
        this.#hold(name),
        ANSWER_TIMEOUT_MS,
        () => new Error("it does not answer"),
      );
    } catch (thrown) {
      await this.close();
      throw toDatabaseError(thrown);
    }
  }

  async release(name: string): Promise<void> {
    const sql = this.#sql;
    if (sql === undefined || !this.#held.delete(name)) return;
    const released = sql`select pg_advisory_unlock(${this.#space}::int, ${keyOf(name)}::int)`;
    const tooLate = () => new Error("it does not answer");
    await within(released, ANSWER_TIMEOUT_MS, tooLate).catch(() => this.close());
  }

  async close(): Promise<void> {
    const sql = this.#sql;
    this.#sql = undefined;
    this.#held.clear();
    await sql?.end({ timeout: CLOSE_TIMEOUT_SECONDS }).catch(() => undefined);
  }

  async #hold(name: string): Promise<number | undefined> {
    this.#sql ??= connect(this.#url);
    const sql = this.#sql;
    const held = this.#held.get(name);
    if (held !== undefined) {
      const [row] = await sql`select pg_backend_pid() as pid`;
      if (row?.["pid"] === held.pid) return held.term;
      this.#held.clear();
    }
    const [row] = await sql`
      select pg_try_advisory_lock(${this.#space}::int, ${keyOf(name)}::int) as held, pg_backend_pid() as pid`;
    if (row?.["held"] !== true) return undefined;
    this.#terms += 1;
    this.#held.set(name, { term: this.#terms, pid: row["pid"] as number });
    return this.#terms;
  }
}

function connect(url: string): postgres.Sql {
  return postgres(url, {
    max: 1,
    max_lifetime: null,
    fetch_types: false,
    connect_timeout: ANSWER_TIMEOUT_MS / 1_000,
    connection: {
      application_name: "inference-gateway locks",
      tcp_keepalives_idle: KEEPALIVE_SECONDS,
      tcp_keepalives_interval: KEEPALIVE_SECONDS,
      tcp_keepalives_count: 3,
      idle_session_timeout: 0,
    },
    onnotice: () => undefined,
  });
}

/** 32 bits of the name: two names that share them would only wait for each other. */
function keyOf(name: string): number {
  return createHash("sha256").update(name).digest().readInt32BE(0);
}
