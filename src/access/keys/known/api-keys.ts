import type { KeyCaller } from "../../../core/callers/caller.ts";
import type { Database } from "../../../db/database.ts";
import { causeOf, type Log } from "../../../lib/log.ts";
import { repeat } from "../../../lib/time/repeat.ts";
import type { HashCredential } from "../../hash-credential.ts";
import { type ApiKey, isUsable } from "./api-key.ts";
import { followKeys } from "./follow-keys.ts";
import { KeyUses } from "./key-uses.ts";
import { pruneDeletedKeys } from "./prune-deleted-keys.ts";

/** The pause between two checks for changes by other replicas. */
const POLL_PAUSE_MS = 500;
const WRITE_USES_PAUSE_MS = 10_000;
const PRUNE_PAUSE_MS = 60 * 60 * 1_000;

/** The keys in memory, so that finding one needs no query. */
export interface ApiKeys {
  /**
   * Returns the key with this text, active or not; undefined for an unknown text. A known key is found synchronously.
   * For an unknown one, which another replica may just have created, the database is queried first. Throws or rejects
   * with `storage_unavailable` when the database is unreachable and the key is not known.
   *
   * @param now in Unix milliseconds.
   */
  readonly find: (keyText: string, now: number) => ApiKey | undefined | Promise<ApiKey | undefined>;
  /**
   * Returns the caller that a key makes now; undefined once the key is revoked, disabled or expired. Does not wait.
   *
   * @param now in Unix milliseconds.
   */
  readonly current: (keyId: string, now: number) => KeyCaller | undefined;
  /** Notes that a call with a key was accepted; it is written later. */
  readonly noteUse: (keyId: string, now: number) => void;
  /** Reads the committed changes, so that a change made by this process holds for the next call. Never rejects. */
  readonly catchUp: () => Promise<void>;
  /** Writes the noted uses and closes. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface OpenApiKeysOptions {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  readonly hashApiKey: HashCredential;
  readonly log: Log;
}

/**
 * Loads all keys and follows their changes until closed. Keys in memory remain valid while the database is unreachable.
 */
export async function openApiKeys(options: OpenApiKeysOptions): Promise<ApiKeys> {
  const { database, hashApiKey, log } = options;
  const followed = await followKeys(options);
  const uses = new KeyUses();
  const unlessAway = (what: string, work: () => Promise<void>) => () =>
    work().catch((thrown: unknown) => log.warn({ cause: causeOf(thrown) }, what));
  const writeUses = unlessAway("the last uses of API keys are written later", () =>
    uses.write(database.askOwn),
  );
  const prune = unlessAway("deleted API keys are forgotten later", () =>
    database.askOwn(pruneDeletedKeys),
  );
  const jobs = [
    repeat(POLL_PAUSE_MS, followed.look),
    repeat(WRITE_USES_PAUSE_MS, writeUses),
    repeat(PRUNE_PAUSE_MS, prune),
  ];
  return {
    find: (keyText, now) => followed.find(hashApiKey(keyText), now),
    current(keyId, now) {
      const key = followed.get(keyId);
      return key !== undefined && isUsable(key, now) ? key.caller : undefined;
    },
    noteUse: (keyId, now) => uses.note(keyId, now),
    catchUp: followed.look,
    async close() {
      for (const job of jobs) job.stop();
      await writeUses();
    },
  };
}
