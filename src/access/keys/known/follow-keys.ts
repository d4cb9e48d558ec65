import { ServiceError } from "../../../core/service-error.ts";
import type { Database } from "../../../db/database.ts";
import { shareRuns } from "../../../lib/concurrency.ts";
import { causeOf, type Log } from "../../../lib/log.ts";
import type { ApiKey } from "./api-key.ts";
import { KeyCache } from "./key-cache.ts";
import { readKeyChanges } from "./read-key-changes.ts";

/** If the last check is older than this, a key unknown here may be known elsewhere. */
const FRESH_MS = 2_000;
/** Unknown keys cause at most one check in this time. */
const LOOK_PAUSE_MS = 100;
/**
 * The number of callers with an unknown key who may wait for such a check at once. Further ones are judged by the keys
 * in memory.
 */
const WAITING_MAX = 1_000;

interface FollowedKeys {
  /**
   * Works as `ApiKeys.find` does.
   *
   * @param now in Unix milliseconds.
   */
  readonly find: (keyHash: string, now: number) => ApiKey | undefined | Promise<ApiKey | undefined>;
  /** The key of this id as it is in memory now. */
  readonly get: (id: string) => ApiKey | undefined;
  /** Reads the committed changes. Never rejects. */
  readonly look: () => Promise<void>;
}

interface FollowOptions {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  readonly log: Log;
}

/** Loads all keys into memory. Changes are read whenever `look` is called. */
export async function followKeys({ database, log }: FollowOptions): Promise<FollowedKeys> {
  let cache = new KeyCache();
  let upTo = (await readKeyChanges((work) => work(database.db), cache, 0)) ?? 0;
  let lookedAt = performance.now();
  let confirmedAt = lookedAt;
  let isAway = false;
  let waiting = 0;
  let soon: Promise<void> | undefined;

  const readChanges = async (): Promise<void> => {
    const reached = await readKeyChanges(database.askOwn, cache, upTo);
    if (reached !== undefined) {
      upTo = reached;
      return;
    }
    const anew = new KeyCache();
    upTo = (await readKeyChanges(database.askOwn, anew, 0)) ?? 0;
    cache = anew;
  };
  // Only one check runs at a time: of two, the one that began earlier could apply an older state last.
  const look = shareRuns(async () => {
    lookedAt = performance.now();
    const startedAt = lookedAt;
    try {
      await readChanges();
      confirmedAt = startedAt;
      if (isAway) log.info("API keys are read from the database again");
      isAway = false;
    } catch (thrown) {
      if (!isAway)
        log.warn(
          { cause: causeOf(thrown) },
          "API keys cannot be read from the database; those last read stay in use",
        );
      isAway = true;
    }
  });
  const lookSoon = (): Promise<void> => {
    soon ??= pause(lookedAt + LOOK_PAUSE_MS - performance.now()).then(() => {
      soon = undefined;
      return look();
    });
    return soon;
  };

  // Only this process writes to the embedded database.
  const isSoleWriter = database.kind === "embedded";
  const judge = (keyHash: string, now: number) => {
    const key = cache.find(keyHash, now);
    const isFresh = isSoleWriter || performance.now() - confirmedAt < FRESH_MS;
    if (key === undefined && !isFresh) throw unknownWhileAway();
    return key;
  };
  const lookThenJudge = async (keyHash: string, now: number) => {
    waiting += 1;
    await lookSoon();
    waiting -= 1;
    return judge(keyHash, now);
  };
  return {
    look,
    get: (id) => cache.get(id),
    find(keyHash, now) {
      const key = cache.find(keyHash, now);
      if (key !== undefined) return key;
      const isToLook = !isSoleWriter && !isAway && waiting < WAITING_MAX;
      return isToLook ? lookThenJudge(keyHash, now) : judge(keyHash, now);
    },
  };
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, durationMs)));
}

function unknownWhileAway(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "This API key cannot be checked now, the database is not reachable.",
    { retryAfterSeconds: 1 },
  );
}
