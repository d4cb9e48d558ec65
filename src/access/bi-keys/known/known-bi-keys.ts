import { eq } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { biKeys } from "../../../db/tables/bi-keys.ts";
import { users } from "../../../db/tables/users.ts";
import type { HashCredential } from "../../hash-credential.ts";
import {
  type KnownCredentials,
  type KnownCredentialsOptions,
  openKnownCredentials,
} from "../../known-credentials.ts";
import { type KnownBiKey, toKnownBiKey } from "./known-bi-key.ts";

/** The ids of keys. */
export type BiKeyListener = (ids: readonly string[]) => void;

export interface KnownBiKeys extends KnownCredentials<KnownBiKey> {
  /** Returns the key as it is now, usable or not; the same object until it changes. Undefined once it is deleted. */
  readonly byId: (id: string) => KnownBiKey | undefined;
  /** Every key, usable or not. */
  readonly all: () => readonly KnownBiKey[];
  /**
   * Calls the listener with keys that were deleted, or changed in what they open, by any replica: their connections
   * must end. Expiry is no change. Called after admissions that were decided before have been passed on.
   */
  readonly onChange: (listener: BiKeyListener) => void;
}

export interface OpenBiKeysOptions
  extends Pick<KnownCredentialsOptions<KnownBiKey>, "database" | "log"> {
  readonly hashBiKey: HashCredential;
}

/** Loads all BI keys and follows their changes until closed. */
export async function openBiKeys({
  database,
  hashBiKey,
  log,
}: OpenBiKeysOptions): Promise<KnownBiKeys> {
  const listeners: BiKeyListener[] = [];
  let byId: ReadonlyMap<string, KnownBiKey> = new Map();
  const follow = (read: ReadonlyMap<string, KnownBiKey>) => {
    const before = byId;
    byId = new Map([...read.values()].map((key) => [key.id, key]));
    const changed = [...before.values()].filter(({ id, mark }) => byId.get(id)?.mark !== mark);
    if (changed.length === 0) return;
    const ids = changed.map(({ id }) => id);
    setImmediate(() => {
      for (const listener of listeners) listener(ids);
    });
  };
  const readAll = async (db: Db) => {
    const rows = await db
      .select({ key: biKeys, role: users.role, state: users.state })
      .from(biKeys)
      .innerJoin(users, eq(users.id, biKeys.ownerId));
    return new Map(
      rows.map((row) => {
        const key = toKnownBiKey(row);
        const held = byId.get(key.id);
        return [row.key.keyHash, held?.mark === key.mark && held.name === key.name ? held : key];
      }),
    );
  };
  const known = await openKnownCredentials({
    database,
    log,
    counter: "bi_keys",
    name: "BI key",
    hash: hashBiKey,
    table: biKeys,
    readAll,
    onRead: follow,
  });
  return {
    ...known,
    byId: (id) => byId.get(id),
    all: () => [...byId.values()],
    onChange: (listener) => void listeners.push(listener),
  };
}
