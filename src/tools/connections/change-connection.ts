import { asc, count, eq } from "drizzle-orm";
import type { AnyActor } from "../../access/actor.ts";
import { auditDetails } from "../../access/audit/record-audit.ts";
import { type ChangeFrame, change } from "../../access/change.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { connections } from "../../db/tables/connections.ts";
import { nameKey } from "../../knowledge/assistants/name-key.ts";
import type { FileConnections } from "../../knowledge/file-connections.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { SecretBox } from "../../lib/secret-box.ts";
import type { Clock } from "../../lib/time/clock.ts";
import {
  type ConnectionFields,
  type ConnectionPatch,
  checkFields,
  completed,
  type NewConnection,
  refuseMovedPassword,
} from "./connection-fields.ts";
import type { Target } from "./drivers/session.ts";
import { type ConnectionRow, toConnection } from "./known-connections.ts";

/** What the verbs of saved connections stand on. */
export interface ConnectionDesk {
  readonly database: Pick<Database, "ask">;
  readonly clock: Clock;
  readonly secretBox: SecretBox;
  readonly fileConnections: Pick<FileConnections, "find">;
  /** Makes a change effective for the next call to this replica. Never rejects. */
  readonly catchUp: () => Promise<void>;
}

export interface ConnectionList {
  readonly rows: readonly ConnectionRow[];
  /** The number of saved connections on all pages. */
  readonly total: number;
}

const ID_LENGTH = 22;
/** Every replica holds all of them in memory. */
const CONNECTIONS_MAX = 200;

/** Lists saved connections by name. */
export function listConnections(
  { database }: Pick<ConnectionDesk, "database">,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<ConnectionList> {
  return database.ask(async (db) => {
    const rows = await db
      .select()
      .from(connections)
      .orderBy(asc(connections.nameKey))
      .limit(limit)
      .offset(offset);
    return { rows, total: await countAll(db) };
  });
}

/** Rejects with `not_found`. */
export function findConnection(
  { database }: Pick<ConnectionDesk, "database">,
  id: string,
): Promise<ConnectionRow> {
  return database.ask((db) => readRow(db, id));
}

/** Checks the fields of a connection that is to be tried before it is saved. Throws `invalid_value`. */
export function trialTarget(desk: ConnectionDesk, given: NewConnection): Target {
  const { password, ...fields } = given;
  const connection = { ...completed(fields), id: "" };
  checkFields(desk, connection, password);
  return { connection, password: password ?? null };
}

/** Saves a connection. Rejects with `invalid_value` for a name that is taken or a field of another kind. */
export function createConnection(
  desk: ConnectionDesk,
  actor: AnyActor,
  { password, ...given }: NewConnection,
): Promise<ConnectionRow> {
  const fields = completed(given);
  checkFields(desk, fields, password);
  const id = `conn_${randomBase62(ID_LENGTH)}`;
  return change(desk, actor, frame(desk, "create", id), async (transaction, changeSeq) => {
    if ((await countAll(transaction)) >= CONNECTIONS_MAX) throw tooMany();
    await refuseTakenName(transaction, fields.name, id);
    const row = {
      ...fields,
      id,
      nameKey: nameKey(fields.name),
      sealedPassword: password == null ? null : desk.secretBox.seal(password, id),
      createdBy: actor.caller.ownerId,
      createdAt: new Date(desk.clock.now()),
      changeSeq,
    };
    const result = known(await transaction.insert(connections).values(row).returning());
    return { result, details: detailsOf(fields, password) };
  });
}

/**
 * Sets the given fields; the kind stays. Rejects with `not_found`, as `createConnection` does, and with `invalid_value`
 * for a change that would send the stored password to another server.
 */
export function updateConnection(
  desk: ConnectionDesk,
  actor: AnyActor,
  { id, given }: { readonly id: string; readonly given: ConnectionPatch },
): Promise<ConnectionRow> {
  return change(desk, actor, frame(desk, "update", id), async (transaction, changeSeq) => {
    const before = await readRow(transaction, id);
    const { password, ...fields } = given;
    const after = { ...toConnection(before), ...withoutUndefined(fields) };
    checkFields(desk, after, password);
    refuseMovedPassword(before, after, password);
    const changed = changedFields(before, fields);
    if (Object.keys(changed).length === 0 && password === undefined) {
      return { result: before, details: null };
    }
    await refuseTakenName(transaction, after.name, id);
    const sealed = password == null ? null : desk.secretBox.seal(password, id);
    const set = {
      ...changed,
      nameKey: nameKey(after.name),
      ...(password !== undefined && { sealedPassword: sealed }),
      changeSeq,
    };
    const setting = transaction.update(connections).set(set).where(eq(connections.id, id));
    return { result: known(await setting.returning()), details: detailsOf(changed, password) };
  });
}

/** Assistants and keys that name it keep the name. Rejects with `not_found`. */
export function deleteConnection(desk: ConnectionDesk, actor: AnyActor, id: string): Promise<void> {
  return change(desk, actor, frame(desk, "delete", id), async (transaction) => {
    const { name, kind } = await readRow(transaction, id);
    await transaction.delete(connections).where(eq(connections.id, id));
    return { result: undefined, details: { name, kind } };
  });
}

function frame(
  { catchUp }: ConnectionDesk,
  verb: "create" | "update" | "delete",
  id: string,
): ChangeFrame {
  return {
    action: `connection.${verb}`,
    targetKind: "connection",
    targetId: id,
    counter: { name: "connections", catchUp },
  };
}

async function readRow(db: Db, id: string): Promise<ConnectionRow> {
  return known(await db.select().from(connections).where(eq(connections.id, id)));
}

async function countAll(db: Db): Promise<number> {
  const [counted] = await db.select({ total: count() }).from(connections);
  return counted?.total ?? 0;
}

async function refuseTakenName(db: Db, name: string, ownId: string): Promise<void> {
  const [found] = await db
    .select({ id: connections.id })
    .from(connections)
    .where(eq(connections.nameKey, nameKey(name)));
  if (found === undefined || found.id === ownId) return;
  throw new ServiceError("invalid_value", "Another saved connection has this name.", {
    param: "name",
  });
}

function withoutUndefined(fields: Omit<ConnectionPatch, "password">): Partial<ConnectionFields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

function changedFields(
  before: ConnectionRow,
  fields: Omit<ConnectionPatch, "password">,
): Partial<ConnectionFields> {
  const entries = Object.entries(withoutUndefined(fields)).filter(
    ([name, value]) => value !== before[name as keyof ConnectionFields],
  );
  return Object.fromEntries(entries);
}

/** The password itself is not recorded, only what happened to it. */
function detailsOf(fields: Partial<ConnectionFields>, password: string | null | undefined) {
  return {
    ...auditDetails(fields),
    ...(password !== undefined && { password: password === null ? "removed" : "set" }),
  };
}

function tooMany(): ServiceError {
  return new ServiceError(
    "invalid_value",
    `There are ${CONNECTIONS_MAX} saved connections, which is the most; delete one that is no longer used.`,
  );
}

function known([row]: readonly ConnectionRow[]): ConnectionRow {
  if (row !== undefined) return row;
  throw new ServiceError(
    "not_found",
    "There is no saved connection with this id; see GET /api/connections.",
  );
}
