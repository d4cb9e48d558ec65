import { count, desc, eq, getTableColumns, ilike, or } from "drizzle-orm";
import type { ServiceScope } from "../../core/callers/service-scope.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { escapeLike } from "../../db/escape-like.ts";
import { serviceTokens } from "../../db/tables/service-tokens.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { Access } from "../access.ts";
import type { SessionActor } from "../actor.ts";
import { auditDetails } from "../audit/record-audit.ts";
import { type ChangeFrame, change } from "../change.ts";

/** The readable columns of a service token: all except the hash of its secret. */
const { tokenHash: _, ...COLUMNS } = getTableColumns(serviceTokens);
export type ServiceToken = Omit<typeof serviceTokens.$inferSelect, "tokenHash">;

/** The fields that an administrator sets. */
export interface ServiceTokenFields {
  readonly name: string;
  readonly scopes: readonly ServiceScope[];
  readonly ipAllow: readonly string[];
  readonly expiresAt: Date | null;
}
/** The fields to change. */
export type ServiceTokenPatch = {
  readonly [Name in keyof ServiceTokenFields]?: ServiceTokenFields[Name] | undefined;
};

/** A token with its secret, which is shown once. */
export interface IssuedServiceToken {
  readonly token: ServiceToken;
  /** `sv-` and 43 base62 characters, 256 bits. */
  readonly text: string;
}

export interface ServiceTokenQuery {
  /** A part of the name in any case, a whole id, or the last four characters. */
  readonly search?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

const ID_LENGTH = 22;
const SECRET_LENGTH = 43;
/** Every replica holds all of them in memory, and reads all after a change. */
const TOKENS_MAX = 500;

const newSecret = () => `sv-${randomBase62(SECRET_LENGTH)}`;

/** Lists service tokens, newest first, with the number of tokens on all pages. */
export function listServiceTokens(
  { database }: Pick<Access, "database">,
  { search, limit, offset }: ServiceTokenQuery,
): Promise<{ readonly tokens: readonly ServiceToken[]; readonly total: number }> {
  const isFound =
    search === undefined
      ? undefined
      : or(
          ilike(serviceTokens.name, `%${escapeLike(search)}%`),
          eq(serviceTokens.id, search),
          eq(serviceTokens.lastFour, search),
        );
  return database.ask(async (db) => {
    const tokens = await db
      .select(COLUMNS)
      .from(serviceTokens)
      .where(isFound)
      .orderBy(desc(serviceTokens.createdAt), desc(serviceTokens.id))
      .limit(limit)
      .offset(offset);
    return { tokens, total: await countTokens(db, isFound) };
  });
}

/** Rejects with `not_found`. */
export async function findServiceToken(
  { database }: Pick<Access, "database">,
  id: string,
): Promise<ServiceToken> {
  const rows = await database.ask((db) =>
    db.select(COLUMNS).from(serviceTokens).where(eq(serviceTokens.id, id)),
  );
  return known(rows);
}

/** Creates a service token. Rejects with `invalid_value` when there are too many. */
export function createServiceToken(
  access: Access,
  actor: SessionActor,
  { scopes, ipAllow, ...fields }: ServiceTokenFields,
): Promise<IssuedServiceToken> {
  const text = newSecret();
  const row = {
    ...fields,
    scopes: [...scopes],
    ipAllow: [...ipAllow],
    id: `svt_${randomBase62(ID_LENGTH)}`,
    tokenHash: access.hashServiceToken(text),
    lastFour: text.slice(-4),
    createdBy: actor.caller.ownerId,
    createdAt: new Date(access.clock.now()),
  };
  return change(access, actor, frame(access, "create", row.id), async (transaction) => {
    // Tokens are created one after the other, so that two at once cannot both find room.
    if ((await countTokens(transaction)) >= TOKENS_MAX) throw tooMany();
    const token = known(await transaction.insert(serviceTokens).values(row).returning(COLUMNS));
    return { result: { token, text }, details: auditDetails({ ...fields, scopes, ipAllow }) };
  });
}

/** Sets the given fields; without fields nothing changes. Rejects with `not_found`. */
export function updateServiceToken(
  access: Access,
  actor: SessionActor,
  { id, fields }: { readonly id: string; readonly fields: ServiceTokenPatch },
): Promise<ServiceToken> {
  const details = auditDetails(fields);
  if (Object.keys(details).length === 0) return findServiceToken(access, id);
  const { scopes, ipAllow, ...others } = fields;
  const row = {
    ...others,
    ...(scopes !== undefined && { scopes: [...scopes] }),
    ...(ipAllow !== undefined && { ipAllow: [...ipAllow] }),
  };
  return change(access, actor, frame(access, "update", id), async (transaction) => {
    const set = transaction.update(serviceTokens).set(row);
    return { result: known(await set.where(eq(serviceTokens.id, id)).returning(COLUMNS)), details };
  });
}

/** Gives a token a new secret; the old one stops working immediately. Rejects with `not_found`. */
export function rotateServiceToken(
  access: Access,
  actor: SessionActor,
  id: string,
): Promise<IssuedServiceToken> {
  const text = newSecret();
  const secret = { tokenHash: access.hashServiceToken(text), lastFour: text.slice(-4) };
  return change(access, actor, frame(access, "rotate", id), async (transaction) => {
    const set = transaction.update(serviceTokens).set(secret);
    const token = known(await set.where(eq(serviceTokens.id, id)).returning(COLUMNS));
    return { result: { token, text }, details: { name: token.name } };
  });
}

/** Rejects with `not_found`. */
export function deleteServiceToken(access: Access, actor: SessionActor, id: string): Promise<void> {
  return change(access, actor, frame(access, "delete", id), async (transaction) => {
    const deletion = transaction.delete(serviceTokens).where(eq(serviceTokens.id, id));
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
    action: `service_token.${verb}`,
    targetKind: "service_token",
    targetId: id,
    counter: { name: "service_tokens", catchUp: keys.catchUp },
  };
}

async function countTokens(db: Db, condition?: ReturnType<typeof or>): Promise<number> {
  const [counted] = await db.select({ total: count() }).from(serviceTokens).where(condition);
  return counted?.total ?? 0;
}

function known([token]: readonly ServiceToken[]): ServiceToken {
  if (token !== undefined) return token;
  throw new ServiceError(
    "not_found",
    "There is no service token of this id; see GET /api/service-tokens.",
  );
}

function tooMany(): ServiceError {
  return new ServiceError(
    "invalid_value",
    `There are ${TOKENS_MAX} service tokens, which is the maximum; delete some that are no longer used.`,
  );
}
