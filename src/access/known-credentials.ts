import { type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { ServiceError } from "../core/service-error.ts";
import type { Db } from "../db/context.ts";
import type { Ask, Database } from "../db/database.ts";
import { keepCaughtUp } from "../db/keep-caught-up.ts";
import { type ChangeCounter, readChange } from "../db/next-change.ts";
import { causeOf, type Log } from "../lib/log.ts";
import { repeat } from "../lib/time/repeat.ts";
import type { HashCredential } from "./hash-credential.ts";

/** If the last check is older than this, a credential unknown here may be known elsewhere. */
const FRESH_MS = 2_000;
/** Unknown credentials cause at most one check in this time. */
const LOOK_PAUSE_MS = 100;
/** The number of callers with an unknown credential who may wait for such a check at once. */
const WAITING_MAX = 1_000;
const WRITE_USES_PAUSE_MS = 30_000;

/** Credentials of one kind in memory, so that finding one needs no query. */
export interface KnownCredentials<Known> {
  /**
   * Returns the credential with this text, usable or not; undefined for an unknown text. For an unknown one, which
   * another replica may just have created, the database is queried first. Rejects with `storage_unavailable` when that
   * fails.
   */
  readonly find: (text: string) => Known | undefined | Promise<Known | undefined>;
  /** Notes that a call with a credential was accepted; it is written later. */
  readonly noteUse: (id: string, now: number) => void;
  /** Reads the committed changes, so that a change made by this process holds for the next call. Never rejects. */
  readonly catchUp: () => Promise<void>;
  /** Writes the noted uses and closes. Never rejects. */
  readonly close: () => Promise<void>;
}

/** A kind of credentials that are so few that any change reads all of them again. */
export interface KnownCredentialsOptions<Known> {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  readonly log: Log;
  readonly counter: ChangeCounter;
  /** One of them, as messages name it; with an `s` it is the plural. */
  readonly name: string;
  readonly hash: HashCredential;
  /** Has the columns `id` and `last_used_at`. */
  readonly table: PgTable;
  /** Reads all, by the hash of their text. */
  readonly readAll: (db: Db) => Promise<ReadonlyMap<string, Known>>;
  /** Called with what was read, once it holds. */
  readonly onRead?: (known: ReadonlyMap<string, Known>) => void;
}

/**
 * Loads all credentials of a kind and follows their changes until closed. Those in memory remain valid while the
 * database is unreachable.
 */
export async function openKnownCredentials<Known>({
  database,
  log,
  counter,
  name,
  hash,
  table,
  readAll,
  onRead = () => undefined,
}: KnownCredentialsOptions<Known>): Promise<KnownCredentials<Known>> {
  const isSoleWriter = database.kind === "embedded";
  let known: ReadonlyMap<string, Known> = new Map();
  let upTo = -1;
  let confirmedAt = 0;
  let lookedAt = 0;
  let waiting = 0;

  const readChanges = async (ask: Ask): Promise<void> => {
    const startedAt = performance.now();
    const reached = await ask((db) => readChange(db, counter));
    const isChanged = reached !== upTo;
    if (isChanged) known = await ask(readAll);
    upTo = reached;
    confirmedAt = startedAt;
    if (isChanged) onRead(known);
  };
  await readChanges((work) => work(database.db));
  const { catchUp, close } = keepCaughtUp({
    ...{ database, log, name: `${name}s` },
    async read(ask) {
      lookedAt = performance.now();
      await readChanges(ask);
    },
  });
  const lookThenFind = async (hashed: string): Promise<Known | undefined> => {
    waiting += 1;
    const arrivedAt = performance.now();
    const pauseMs = Math.max(0, lookedAt + LOOK_PAUSE_MS - arrivedAt);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    // A check that began before the call may have missed the credential.
    if (confirmedAt < arrivedAt) await catchUp();
    waiting -= 1;
    const found = known.get(hashed);
    if (found === undefined && performance.now() - confirmedAt > FRESH_MS) {
      throw unknownWhileAway(name);
    }
    return found;
  };

  const uses = openUses({ database, log, name, table });
  return {
    find(text) {
      const hashed = hash(text);
      const found = known.get(hashed);
      // Only this process writes to the embedded database.
      if (found !== undefined || isSoleWriter || waiting >= WAITING_MAX) return found;
      return lookThenFind(hashed);
    },
    noteUse: uses.note,
    catchUp,
    async close() {
      close();
      await uses.close();
    },
  };
}

/** Collects when credentials were last used, and writes it every 30 seconds. */
function openUses({
  database,
  log,
  name,
  table,
}: Pick<KnownCredentialsOptions<unknown>, "database" | "log" | "name" | "table">) {
  const uses = new Map<string, number>();
  const write = async () => {
    const noted = [...uses];
    uses.clear();
    await database.askOwn(writeLastUses(table, noted)).catch((thrown: unknown) => {
      for (const [id, at] of noted) uses.set(id, Math.max(at, uses.get(id) ?? 0));
      log.warn({ cause: causeOf(thrown) }, `the last uses of ${name}s are written later`);
    });
  };
  const writing = repeat(WRITE_USES_PAUSE_MS, write);
  return {
    note: (id: string, now: number) => void uses.set(id, now),
    async close() {
      writing.stop();
      await write();
    },
  };
}

/** Raises the times and touches no change counter. */
function writeLastUses(table: PgTable, noted: readonly (readonly [string, number])[]) {
  return async (db: Db): Promise<void> => {
    for (const [id, at] of noted) {
      const time: SQL = sql`${new Date(at).toISOString()}::timestamptz`;
      await db.execute(
        sql`update ${table} set last_used_at = greatest(last_used_at, ${time}) where id = ${id}`,
      );
    }
  };
}

function unknownWhileAway(name: string): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    `This ${name} cannot be checked now, the database is not reachable.`,
    { retryAfterSeconds: 1 },
  );
}
