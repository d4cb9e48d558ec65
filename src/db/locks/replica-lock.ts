import postgres from "postgres";
import { within } from "../../lib/within.ts";
import { toDatabaseError } from "../database-error.ts";
import { ADVISORY_LOCK } from "./advisory-lock.ts";

const ANSWER_TIMEOUT_MS = 5_000;
const CHECK_INTERVAL_MS = 2_000;
/** The server notices a host that vanished without a word after so many seconds, three times over. */
const KEEPALIVE_SECONDS = "10";
const CLOSE_TIMEOUT_SECONDS = 1;

export interface ReplicaLockOptions {
  readonly url: string;
  /** Held together with others that share it; else alone. */
  readonly isShared: boolean;
  /** Called once, unless the lock was closed: its connection is gone and the lock with it. */
  readonly onLost: () => void;
}

export interface ReplicaLock {
  readonly close: () => Promise<void>;
}

/**
 * Takes this program's lock on a database, on a connection of its own: the server gives it up with the connection,
 * so none outlives its process. Undefined when another holds it in a way that does not go with ours. Rejects with a
 * DatabaseError.
 */
export async function openReplicaLock(
  options: ReplicaLockOptions,
): Promise<ReplicaLock | undefined> {
  const { url, isShared, onLost } = options;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const end = async () => {
    isOver = true;
    clearInterval(timer);
    await sql.end({ timeout: CLOSE_TIMEOUT_SECONDS }).catch(() => undefined);
  };
  const lose = () => {
    if (isOver) return;
    void end();
    onLost();
  };
  let isHeld = false;
  const sql = postgres(url, {
    max: 1,
    max_lifetime: null,
    fetch_types: false,
    connect_timeout: ANSWER_TIMEOUT_MS / 1_000,
    connection: { application_name: "inference-gateway replica" },
    onnotice: () => undefined,
    onclose: () => {
      if (isHeld) lose();
    },
  });
  const answer = <Result>(query: Promise<Result>) =>
    within(query, ANSWER_TIMEOUT_MS, () => new Error("the database does not answer"));

  try {
    const backend = await answer(tryLock(sql, isShared));
    if (backend === undefined) {
      await end();
      return undefined;
    }
    isHeld = true;
    // A new connection of the driver's would have another backend, and no lock.
    timer = setInterval(() => {
      answer(sql`select pg_backend_pid() as pid`).then(([row]) => {
        if (row?.["pid"] !== backend) lose();
      }, lose);
    }, CHECK_INTERVAL_MS);
    timer.unref();
    return { close: end };
  } catch (thrown) {
    await end();
    throw toDatabaseError(thrown);
  }
}

/** The number of the server's process that holds the lock for us; undefined when another holds it. */
async function tryLock(sql: postgres.Sql, isShared: boolean): Promise<number | undefined> {
  await sql`
    select set_config('tcp_keepalives_idle', ${KEEPALIVE_SECONDS}, false),
      set_config('tcp_keepalives_interval', ${KEEPALIVE_SECONDS}, false),
      set_config('tcp_keepalives_count', '3', false),
      set_config('idle_session_timeout', '0', false)`;
  const [row] = isShared
    ? await sql`select pg_try_advisory_lock_shared(${ADVISORY_LOCK.replica}::bigint) as held, pg_backend_pid() as pid`
    : await sql`select pg_try_advisory_lock(${ADVISORY_LOCK.replica}::bigint) as held, pg_backend_pid() as pid`;
  return row?.["held"] === true ? (row["pid"] as number) : undefined;
}
