import { createHash } from "node:crypto";
import postgres from "postgres";
import { within } from "../../lib/time/within.ts";
import { toDatabaseError } from "../database-error.ts";

/** Every advisory lock of this program, in one place, so that no two are equal. The values are arbitrary. */
export const ADVISORY_LOCK = {
  migration: 4_823_116_093,
  firstStart: 4_823_116_094,
  /** Serialises changes to users. */
  users: 4_823_116_095,
  /** Held by a replica during its whole life. */
  replica: 4_823_116_096,
  /** One lock per watched folder. The second number is the hash of its name; in such a pair each number has 32 bits. */
  watchedFolder: 482_311_609,
  /** Allows one reconciliation of usage at a time; also a pair. */
  reconciliation: 482_311_610,
  /** One lock for the order keys of the queue that share a bucket; also a pair. */
  orderKey: 482_311_611,
  /** One lock per content of an uploaded file; also a pair. */
  original: 482_311_612,
  /** One lock for each connection that may read data at a time, over all replicas; also a pair. */
  readerPlace: 482_311_613,
  /** Lets one replica at a time create, drop and fold the days of usage. */
  usageUpkeep: 4_823_116_097,
  /** Lets one replica at a time build and drop the indexes of large vector stores. */
  vectorIndexes: 4_823_116_098,
  /** Lets one replica at a time create and drop the days of workflow runs. */
  workflowUpkeep: 4_823_116_099,
  /** Serialises changes of the views in the schema `data` and of the roles that read them. */
  dataViews: 4_823_116_100,
  /** Lets one replica at a time create and drop the days of the statements of BI keys. */
  statementUpkeep: 4_823_116_101,
  /** Serialises what takes a dataset's name. */
  datasetNames: 4_823_116_102,
  /** Shared by backups: the table of a dataset is only dropped by whoever has it alone. */
  datasetTables: 4_823_116_103,
} as const;

const ANSWER_TIMEOUT_MS = 5_000;
const CHECK_INTERVAL_MS = 2_000;
/**
 * The interval of the server's keepalive probes, in seconds. After three failed probes the server drops the connection
 * of a vanished host.
 */
const KEEPALIVE_SECONDS = "10";
const CLOSE_TIMEOUT_SECONDS = 1;

/** Named locks that one of several processes holds, until it releases them or ends. */
export interface SessionLocks {
  /**
   * Takes a lock or confirms that it is still held. Resolves with a number that stays the same while the lock is held
   * without interruption. Resolves with undefined while another process holds it. Rejects with a DatabaseError; then
   * the lock is not held.
   */
  readonly hold: (name: string) => Promise<number | undefined>;
  /** Releases the lock for others. Never rejects. */
  readonly release: (name: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface SessionLocksOptions {
  /** DATABASE_URL; undefined for the embedded database, whose only process holds every lock. */
  readonly url: string | undefined;
  /** One of ADVISORY_LOCK: the kind of object that the names belong to. */
  readonly space: number;
}

/** Opens the named locks of this process, on one separate connection that opens with the first lock. */
export function openSessionLocks({ url, space }: SessionLocksOptions): SessionLocks {
  if (url === undefined) {
    return {
      hold: () => Promise.resolve(0),
      release: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }
  return new LockKeeper({
    url,
    lock: "pg_try_advisory_lock",
    keyOf: (sql, name) => sql`${space}::int, ${hashOf(name)}::int`,
  });
}

export interface ReplicaLock {
  readonly close: () => Promise<void>;
}

export interface ReplicaLockOptions {
  readonly url: string;
  /** True to share the lock with others; otherwise it is exclusive. */
  readonly isShared: boolean;
  /** Called once when the connection, and the lock with it, is lost, unless the lock was closed before. */
  readonly onLost: () => void;
}

/**
 * Takes this program's lock on a database and watches it. Resolves with undefined when another process holds a lock
 * that excludes this one. Rejects with a DatabaseError.
 */
export async function openReplicaLock({
  url,
  isShared,
  onLost,
}: ReplicaLockOptions): Promise<ReplicaLock | undefined> {
  const name = "replica";
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const close = async () => {
    isOver = true;
    clearTimeout(timer);
    await keeper.close();
  };
  const lose = () => {
    if (isOver) return;
    void close();
    onLost();
  };
  const keeper = new LockKeeper({
    url,
    lock: isShared ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock",
    keyOf: (sql) => sql`${ADVISORY_LOCK.replica}::bigint`,
    onConnectionLost: lose,
  });
  const term = await keeper.hold(name).catch(async (thrown: unknown) => {
    await close();
    throw thrown;
  });
  if (term === undefined) {
    await close();
    return undefined;
  }
  const check = async () => {
    if (!(await keeper.isHeld(name))) lose();
    else if (!isOver) watch();
  };
  const watch = () => {
    timer = setTimeout(check, CHECK_INTERVAL_MS).unref();
  };
  watch();
  return { close };
}

interface KeeperOptions {
  readonly url: string;
  readonly lock: "pg_try_advisory_lock" | "pg_try_advisory_lock_shared";
  /** Builds the arguments of the lock's function. */
  readonly keyOf: (sql: postgres.Sql, name: string) => postgres.Fragment;
  /** Called when a connection closes on which a lock was held. */
  readonly onConnectionLost?: () => void;
}

interface Hold {
  readonly term: number;
  /** The server process of our connection. A reconnected driver has another process, and no lock. */
  readonly pid: number;
}

/**
 * Advisory locks on one separate connection: the server releases them with the connection, so that no lock outlives its
 * process.
 */
class LockKeeper implements SessionLocks {
  readonly #options: KeeperOptions;
  readonly #held = new Map<string, Hold>();
  #sql: postgres.Sql | undefined;
  #terms = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  async hold(name: string): Promise<number | undefined> {
    try {
      return await answered(this.#hold(name));
    } catch (thrown) {
      await this.close();
      throw toDatabaseError(thrown);
    }
  }

  /** Returns whether a lock has been held without interruption since it was taken. Never rejects. */
  async isHeld(name: string): Promise<boolean> {
    const held = this.#held.get(name);
    if (held === undefined || this.#sql === undefined) return false;
    return answered(isOn(this.#sql, held)).catch(() => false);
  }

  async release(name: string): Promise<void> {
    const sql = this.#sql;
    if (sql === undefined || !this.#held.delete(name)) return;
    const key = this.#options.keyOf(sql, name);
    await answered(sql`select pg_advisory_unlock(${key})`).catch(() => this.close());
  }

  async close(): Promise<void> {
    const sql = this.#sql;
    this.#sql = undefined;
    this.#held.clear();
    await sql?.end({ timeout: CLOSE_TIMEOUT_SECONDS }).catch(() => undefined);
  }

  async #hold(name: string): Promise<number | undefined> {
    this.#sql ??= this.#connect();
    const sql = this.#sql;
    const held = this.#held.get(name);
    if (held !== undefined) {
      if (await isOn(sql, held)) return held.term;
      this.#held.clear();
    }
    const { lock, keyOf } = this.#options;
    await sql`
      select set_config('tcp_keepalives_idle', ${KEEPALIVE_SECONDS}, false),
        set_config('tcp_keepalives_interval', ${KEEPALIVE_SECONDS}, false),
        set_config('tcp_keepalives_count', '3', false), set_config('idle_session_timeout', '0', false)`;
    const [row] =
      await sql`select ${sql(lock)}(${keyOf(sql, name)}) as held, pg_backend_pid() as pid`;
    if (row?.["held"] !== true) return undefined;
    // The answer arrived after its timeout.
    if (this.#sql !== sql) throw new Error("the connection was closed meanwhile");
    this.#terms += 1;
    this.#held.set(name, { term: this.#terms, pid: row["pid"] as number });
    return this.#terms;
  }

  #connect(): postgres.Sql {
    return postgres(this.#options.url, {
      max: 1,
      max_lifetime: null,
      fetch_types: false,
      connect_timeout: ANSWER_TIMEOUT_MS / 1_000,
      connection: { application_name: "inference-gateway locks" },
      onnotice: () => undefined,
      onclose: () => {
        if (this.#held.size > 0) this.#options.onConnectionLost?.();
      },
    });
  }
}

async function isOn(sql: postgres.Sql, { pid }: Hold): Promise<boolean> {
  const [row] = await sql`select pg_backend_pid() as pid`;
  return row?.["pid"] === pid;
}

function answered<Result>(query: Promise<Result>): Promise<Result> {
  return within(query, ANSWER_TIMEOUT_MS, () => new Error("the database does not answer"));
}

/** Returns 32 bits of the name's hash. Two names with the same bits would only wait for each other. */
function hashOf(name: string): number {
  return createHash("sha256").update(name).digest().readInt32BE(0);
}
