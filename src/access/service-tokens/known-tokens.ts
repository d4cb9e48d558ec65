import { eq, sql } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Ask, Database } from "../../db/database.ts";
import { readChange } from "../../db/next-change.ts";
import { serviceTokens } from "../../db/tables/service-tokens.ts";
import { users } from "../../db/tables/users.ts";
import { shareRuns } from "../../lib/concurrency.ts";
import { causeOf, type Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import type { HashCredential } from "../hash-credential.ts";
import { type KnownToken, toKnownToken } from "./known-token.ts";

/** The pause between two checks for changes by other replicas. */
const POLL_PAUSE_MS = 500;
/** If the last check is older than this, a token unknown here may be known elsewhere. */
const FRESH_MS = 2_000;
/** Unknown tokens cause at most one check in this time. */
const LOOK_PAUSE_MS = 100;
/** The number of callers with an unknown token who may wait for such a check at once. */
const WAITING_MAX = 1_000;
const WRITE_USES_PAUSE_MS = 30_000;

/** The service tokens in memory, so that finding one needs no query. */
export interface ServiceTokens {
  /**
   * Returns the token with this text, usable or not; undefined for an unknown text. For an unknown one, which another
   * replica may just have created, the database is queried first. Rejects with `storage_unavailable` when that fails.
   */
  readonly find: (text: string) => KnownToken | undefined | Promise<KnownToken | undefined>;
  /** Notes that a call with a token was accepted; it is written later. */
  readonly noteUse: (tokenId: string, now: number) => void;
  /** Reads the committed changes, so that a change made by this process holds for the next call. Never rejects. */
  readonly catchUp: () => Promise<void>;
  /** Writes the noted uses and closes. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface OpenServiceTokensOptions {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  readonly hashServiceToken: HashCredential;
  readonly log: Log;
}

/**
 * Loads all service tokens and follows their changes until closed. They are few, so that any change reads all of them
 * again. Those in memory remain valid while the database is unreachable.
 */
export async function openServiceTokens({
  database,
  hashServiceToken,
  log,
}: OpenServiceTokensOptions): Promise<ServiceTokens> {
  const isSoleWriter = database.kind === "embedded";
  let known = new Map<string, KnownToken>();
  let upTo = -1;
  let confirmedAt = 0;
  let lookedAt = 0;
  let isAway = false;
  let waiting = 0;

  const readChanges = async (ask: Ask): Promise<void> => {
    const startedAt = performance.now();
    const reached = await ask((db) => readChange(db, "service_tokens"));
    if (reached !== upTo) known = await readTokens(ask);
    upTo = reached;
    confirmedAt = startedAt;
  };
  await readChanges((work) => work(database.db));
  const catchUp = shareRuns(async () => {
    lookedAt = performance.now();
    try {
      await readChanges(database.askOwn);
      if (isAway) log.info("service tokens are read from the database again");
      isAway = false;
    } catch (thrown) {
      if (!isAway) {
        log.warn(
          { cause: causeOf(thrown) },
          "service tokens cannot be read from the database; those last read stay in use",
        );
      }
      isAway = true;
    }
  });
  const lookThenFind = async (hash: string): Promise<KnownToken | undefined> => {
    waiting += 1;
    const arrivedAt = performance.now();
    const pauseMs = Math.max(0, lookedAt + LOOK_PAUSE_MS - arrivedAt);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    // A check that began before the call may have missed the token.
    if (confirmedAt < arrivedAt) await catchUp();
    waiting -= 1;
    const found = known.get(hash);
    if (found === undefined && performance.now() - confirmedAt > FRESH_MS) throw unknownWhileAway();
    return found;
  };

  const uses = new Map<string, number>();
  const writeUses = async () => {
    const noted = [...uses];
    uses.clear();
    await database.askOwn(writeLastUses(noted)).catch((thrown: unknown) => {
      for (const [id, at] of noted) uses.set(id, Math.max(at, uses.get(id) ?? 0));
      log.warn({ cause: causeOf(thrown) }, "the last uses of service tokens are written later");
    });
  };
  const jobs = [
    repeat(WRITE_USES_PAUSE_MS, writeUses),
    ...(isSoleWriter ? [] : [repeat(POLL_PAUSE_MS, catchUp)]),
  ];
  return {
    find(text) {
      const hash = hashServiceToken(text);
      const found = known.get(hash);
      // Only this process writes to the embedded database.
      if (found !== undefined || isSoleWriter || waiting >= WAITING_MAX) return found;
      return lookThenFind(hash);
    },
    noteUse: (id, now) => void uses.set(id, now),
    catchUp,
    async close() {
      for (const job of jobs) job.stop();
      await writeUses();
    },
  };
}

async function readTokens(ask: Ask): Promise<Map<string, KnownToken>> {
  const rows = await ask((db) =>
    db
      .select({ token: serviceTokens, role: users.role, state: users.state })
      .from(serviceTokens)
      .innerJoin(users, eq(users.id, serviceTokens.createdBy)),
  );
  return new Map(rows.map((row) => [row.token.tokenHash, toKnownToken(row)]));
}

/** Raises the times and touches no change counter. */
function writeLastUses(noted: readonly (readonly [string, number])[]): Parameters<Ask>[0] {
  return async (db) => {
    for (const [id, at] of noted) {
      const time = sql`${new Date(at).toISOString()}::timestamptz`;
      await db
        .update(serviceTokens)
        .set({ lastUsedAt: sql`greatest(${serviceTokens.lastUsedAt}, ${time})` })
        .where(eq(serviceTokens.id, id));
    }
  };
}

function unknownWhileAway(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "This service token cannot be checked now, the database is not reachable.",
    { retryAfterSeconds: 1 },
  );
}
