import { and, asc, count, eq, sql } from "drizzle-orm";
import type { AnyActor } from "../access/actor.ts";
import { change } from "../access/change.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Db } from "../db/context.ts";
import type { Database } from "../db/database.ts";
import { workflowSecrets } from "../db/tables/workflows.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../lib/time/clock.ts";

/** Secrets of users, sealed in the database; never shown again. */
export interface WorkflowSecrets {
  /** The secret of this name of a workflow's owner; undefined when there is none, or it cannot be opened. */
  readonly read: (ownerId: string, name: string) => Promise<string | undefined>;
  readonly exists: (ownerId: string, name: string) => Promise<boolean>;
}

export interface SecretParts {
  readonly database: Database;
  readonly secretBox: SecretBox;
}

/** What the verbs of secrets work with. */
export interface SecretStore extends SecretParts {
  readonly clock: Clock;
}

/** A secret as it is listed: without what it says. */
export interface SecretEntry {
  readonly name: string;
  readonly updatedAt: Date;
}

/** Secrets that one user may have. */
const MAX_SECRETS = 200;
const table = workflowSecrets;

export function createWorkflowSecrets({ database, secretBox }: SecretParts): WorkflowSecrets {
  const find = async (ownerId: string, name: string): Promise<string | undefined> => {
    const [row] = await database.askOwn((db) =>
      db.select({ sealed: table.sealed }).from(table).where(isSecret(ownerId, name)),
    );
    return row?.sealed;
  };
  return {
    async read(ownerId, name) {
      const sealed = await find(ownerId, name);
      return sealed === undefined ? undefined : secretBox.open(sealed, placeOf(ownerId, name));
    },
    exists: async (ownerId, name) => (await find(ownerId, name)) !== undefined,
  };
}

/** Lists the names of the caller's own secrets. */
export function listSecrets(
  { database }: Pick<SecretStore, "database">,
  ownerId: string,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly data: readonly SecretEntry[]; readonly total: number }> {
  return database.ask(async (db) => {
    const isOwn = eq(table.ownerId, ownerId);
    const data = await db
      .select({ name: table.name, updatedAt: table.updatedAt })
      .from(table)
      .where(isOwn)
      .orderBy(asc(table.name))
      .limit(limit)
      .offset(offset);
    const [counted] = await db.select({ total: count() }).from(table).where(isOwn);
    return { data, total: counted?.total ?? 0 };
  });
}

/** Stores a secret of the actor, in the place of one of the same name. Rejects with `invalid_value` when there are too many. */
export function putSecret(
  store: SecretStore,
  actor: AnyActor,
  { name, value }: { readonly name: string; readonly value: string },
): Promise<SecretEntry> {
  const { ownerId } = actor.caller;
  const sealed = store.secretBox.seal(value, placeOf(ownerId, name));
  const updatedAt = new Date(store.clock.now());
  const frame = {
    action: "workflow_secret.put",
    ...target(name),
    // One after another for each user, so that no two at once both find room.
    lock: async (transaction: Db) => {
      await transaction.execute(sql`select 1 from users where id = ${ownerId} for no key update`);
    },
  } as const;
  return change(store, actor, frame, async (transaction) => {
    await transaction
      .insert(table)
      .values({ ownerId, name, sealed, updatedAt })
      .onConflictDoUpdate({ target: [table.ownerId, table.name], set: { sealed, updatedAt } });
    const [counted] = await transaction
      .select({ total: count() })
      .from(table)
      .where(eq(table.ownerId, ownerId));
    if ((counted?.total ?? 0) > MAX_SECRETS) {
      throw new ServiceError(
        "invalid_value",
        `A user has at most ${MAX_SECRETS} secrets. Delete one that no workflow names.`,
        { param: "name" },
      );
    }
    return { result: { name, updatedAt }, details: {} };
  });
}

/** Deletes a secret of the actor. Rejects with `not_found`. */
export function deleteSecret(store: SecretStore, actor: AnyActor, name: string): Promise<void> {
  const frame = { action: "workflow_secret.delete", ...target(name) } as const;
  return change(store, actor, frame, async (transaction) => {
    const gone = await transaction
      .delete(table)
      .where(isSecret(actor.caller.ownerId, name))
      .returning({ name: table.name });
    if (gone.length > 0) return { result: undefined, details: {} };
    throw new ServiceError(
      "not_found",
      "You have no secret of this name; see GET /api/pipeline/secrets.",
    );
  });
}

function target(name: string) {
  return { targetKind: "workflow_secret", targetId: name } as const;
}

function isSecret(ownerId: string, name: string) {
  return and(eq(table.ownerId, ownerId), eq(table.name, name));
}

/** A sealed secret opens for its owner and under its name only. */
function placeOf(ownerId: string, name: string): string {
  return `${ownerId}/${name}`;
}
