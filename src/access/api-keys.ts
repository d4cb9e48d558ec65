import { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../lib/log.ts";
import type { ApiKey, ApiKeyRow } from "./api-key.ts";
import type { HashApiKey } from "./hash-api-key.ts";
import { KeyCache } from "./key-cache.ts";
import { readKeyChanges } from "./read-key-changes.ts";

/** Pause between two looks for changes that other replicas made. */
const POLL_INTERVAL_MS = 500;
/** Without a look for this long, a key unknown here may be known elsewhere. */
const FRESH_MS = 2_000;

/** The keys, in memory: finding one waits for nothing. */
export interface ApiKeys {
  /**
   * The key of this text, active or not; undefined when there is none.
   * Throws `storage_unavailable` when it is unknown here and the database, being away, cannot tell more.
   */
  readonly find: (keyText: string) => ApiKey | undefined;
  /** Takes in a change made by this process, once it is committed. */
  readonly apply: (row: ApiKeyRow) => void;
  /** Takes in a deletion made by this process, once it is committed. */
  readonly remove: (id: string, changeSeq: number) => void;
  readonly close: () => void;
}

export interface OpenApiKeysOptions {
  readonly database: Pick<Database, "db" | "ask" | "kind">;
  readonly hashApiKey: HashApiKey;
  readonly log: Log;
}

/** Loads all keys and follows their changes until closed. Keys in memory go on while the database is away. */
export async function openApiKeys({
  database,
  hashApiKey,
  log,
}: OpenApiKeysOptions): Promise<ApiKeys> {
  const cache = new KeyCache();
  let upTo = await readKeyChanges(database.db, cache, 0);
  let lookedAt = performance.now();
  let isAway = false;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const look = async (): Promise<void> => {
    const startedAt = performance.now();
    try {
      upTo = await database.ask((db) => readKeyChanges(db, cache, upTo));
      cache.settle(upTo);
      lookedAt = startedAt;
      if (isAway) log.info("API keys follow the database again");
      isAway = false;
    } catch (thrown) {
      if (!isAway) log.warn({ cause: causeOf(thrown) }, "API keys go on as last read");
      isAway = true;
    }
    if (!isClosed) timer = schedule();
  };
  const schedule = () => setTimeout(() => void look(), POLL_INTERVAL_MS).unref();
  timer = schedule();

  // The embedded database has no other writer than this process.
  const isFresh = () => database.kind === "embedded" || performance.now() - lookedAt < FRESH_MS;
  return {
    find(keyText) {
      const key = cache.find(hashApiKey(keyText));
      if (key === undefined && !isFresh()) throw unknownWhileAway();
      return key;
    },
    apply: (row) => cache.apply(row),
    remove: (id, changeSeq) => cache.remove(id, changeSeq),
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

function unknownWhileAway(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "This API key cannot be checked now, the database is not reachable.",
    { retryAfterSeconds: 1 },
  );
}

function causeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause instanceof Error ? thrown.cause.message : thrown.message;
}
