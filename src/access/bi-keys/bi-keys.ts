import { count, desc, eq, getTableColumns, ilike, or, type SQL } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { escapeLike } from "../../db/escape-like.ts";
import { biKeys } from "../../db/tables/bi-keys.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { Access } from "../access.ts";
import type { AnyActor } from "../actor.ts";
import { auditDetails } from "../audit/record-audit.ts";
import { type ChangeFrame, change } from "../change.ts";

/** The readable columns of a BI key: all except the hash of its secret. */
const { keyHash: _, ...COLUMNS } = getTableColumns(biKeys);
export type BiKey = Omit<typeof biKeys.$inferSelect, "keyHash">;

/** The fields of a BI key that an administrator sets. */
export type BiKeyFields = Pick<BiKey, "name" | "state" | "datasets" | "ipAllow" | "expiresAt"> &
  BiKeyLimits;
/** What one reader may take at once. */
export type BiKeyLimits = Pick<BiKey, "rowLimit" | "timeoutSeconds" | "maxConnections">;
/** The fields to change. */
export type BiKeyPatch = { readonly [Name in keyof BiKeyFields]?: BiKeyFields[Name] | undefined };

/** A key with its secret, which is shown once. */
export interface IssuedBiKey {
  readonly key: BiKey;
  /** `bk-` and 43 base62 characters, 256 bits. */
  readonly text: string;
}

export interface BiKeyQuery {
  /** A part of the name in any case, a whole id, or the last four characters. */
  readonly search?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface BiKeyList {
  readonly keys: readonly BiKey[];
  /** The number of keys on all pages. */
  readonly total: number;
}

/** The limits of a key for which nobody set others. */
export const BI_KEY_LIMITS: BiKeyLimits = {
  rowLimit: 1_000_000,
  timeoutSeconds: 30,
  maxConnections: 10,
};

/** Every replica holds all of them in memory, and reads all after a change. */
const KEYS_MAX = 2_000;
const ID_LENGTH = 22;
const SECRET_LENGTH = 43;

const newSecret = () => `bk-${randomBase62(SECRET_LENGTH)}`;

/** Lists BI keys, newest first. */
export function listBiKeys(
  { database }: Pick<Access, "database">,
  { search, limit, offset }: BiKeyQuery,
): Promise<BiKeyList> {
  const isFound =
    search === undefined
      ? undefined
      : or(
          ilike(biKeys.name, `%${escapeLike(search)}%`),
          eq(biKeys.id, search),
          eq(biKeys.lastFour, search),
        );
  return database.ask(async (db) => {
    const keys = await db
      .select(COLUMNS)
      .from(biKeys)
      .where(isFound)
      .orderBy(desc(biKeys.createdAt), desc(biKeys.id))
      .limit(limit)
      .offset(offset);
    return { keys, total: await countBiKeys(db, isFound) };
  });
}

/** Rejects with `not_found`. */
export async function findBiKey(
  { database }: Pick<Access, "database">,
  id: string,
): Promise<BiKey> {
  return known(
    await database.ask((db) => db.select(COLUMNS).from(biKeys).where(eq(biKeys.id, id))),
  );
}

/** Creates an active BI key that the actor owns. Rejects with `invalid_value` when there are too many. */
export function createBiKey(
  access: Access,
  actor: AnyActor,
  fields: Omit<BiKeyFields, "state">,
): Promise<IssuedBiKey> {
  const text = newSecret();
  const row = {
    ...fields,
    id: `bik_${randomBase62(ID_LENGTH)}`,
    keyHash: access.hashBiKey(text),
    lastFour: text.slice(-4),
    ownerId: actor.caller.ownerId,
    createdAt: new Date(access.clock.now()),
  };
  return change(access, actor, frame(access, "create", row.id), async (transaction) => {
    // Keys are created one after the other, so that two at once cannot both find room.
    if ((await countBiKeys(transaction)) >= KEYS_MAX) throw tooMany();
    const key = known(await transaction.insert(biKeys).values(row).returning(COLUMNS));
    return { result: { key, text }, details: auditDetails(fields) };
  });
}

/** Sets the given fields; without fields nothing changes. Rejects with `not_found`. */
export async function updateBiKey(
  access: Access,
  actor: AnyActor,
  { id, fields }: { readonly id: string; readonly fields: BiKeyPatch },
): Promise<BiKey> {
  const details = auditDetails(fields);
  if (Object.keys(details).length === 0) return findBiKey(access, id);
  return change(access, actor, frame(access, "update", id), async (transaction) => {
    const set = transaction.update(biKeys).set(fields);
    return { result: known(await set.where(eq(biKeys.id, id)).returning(COLUMNS)), details };
  });
}

/** Gives a BI key a new secret; the old one stops working immediately. Rejects with `not_found`. */
export function rotateBiKey(access: Access, actor: AnyActor, id: string): Promise<IssuedBiKey> {
  const text = newSecret();
  const secret = { keyHash: access.hashBiKey(text), lastFour: text.slice(-4) };
  return change(access, actor, frame(access, "rotate", id), async (transaction) => {
    const set = transaction.update(biKeys).set(secret);
    const key = known(await set.where(eq(biKeys.id, id)).returning(COLUMNS));
    return { result: { key, text }, details: { name: key.name } };
  });
}

/** Rejects with `not_found`. */
export function deleteBiKey(access: Access, actor: AnyActor, id: string): Promise<void> {
  return change(access, actor, frame(access, "delete", id), async (transaction) => {
    const deletion = transaction.delete(biKeys).where(eq(biKeys.id, id));
    const { name } = known(await deletion.returning(COLUMNS));
    return { result: undefined, details: { name } };
  });
}

function frame(
  { keys }: Access,
  verb: "create" | "update" | "rotate" | "delete",
  id: string,
): ChangeFrame {
  return {
    action: `bi_key.${verb}`,
    targetKind: "bi_key",
    targetId: id,
    counter: { name: "bi_keys", catchUp: keys.catchUp },
  };
}

async function countBiKeys(db: Db, condition?: SQL): Promise<number> {
  const [counted] = await db.select({ total: count() }).from(biKeys).where(condition);
  return counted?.total ?? 0;
}

function tooMany(): ServiceError {
  return new ServiceError(
    "invalid_value",
    `There are ${KEYS_MAX} BI keys, which is the maximum; delete some that are no longer used.`,
  );
}

function known([key]: readonly BiKey[]): BiKey {
  if (key !== undefined) return key;
  throw new ServiceError("not_found", "There is no BI key of this id; see GET /v1/bi-keys.");
}
