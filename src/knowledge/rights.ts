import { eq, or, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { AnyCaller, Caller } from "../core/callers/caller.ts";
import { ServiceError } from "../core/service-error.ts";

/** Who may use a record beside its owner and administrators. */
export type Visibility = "private" | "everyone";

/** The part of a caller by which rights are decided. */
export type Person = Pick<AnyCaller, "role" | "ownerId">;

/** The part of an assistant, file or store by which rights are decided. */
export interface Owned {
  /** Null when the owner was deleted. */
  readonly ownerId: string | null;
  readonly visibility: Visibility;
}

/**
 * Whether a caller may read and use a record. A key acts as its owner. For all others the record does not exist: they
 * get a 404.
 */
export function mayUse(record: Owned, caller: Person): boolean {
  return record.visibility === "everyone" || mayChange(record, caller);
}

/** Whether a caller may change or delete a record: its owner, and administrators. */
export function mayChange({ ownerId }: Owned, { role, ownerId: callerId }: Person): boolean {
  return role === "admin" || ownerId === callerId;
}

/** The condition of `mayUse` for a list; undefined when the caller sees every record. */
export function visibleTo(
  { ownerId, visibility }: Record<"ownerId" | "visibility", PgColumn>,
  caller: Person,
): SQL | undefined {
  if (caller.role === "admin") return undefined;
  return or(eq(ownerId, caller.ownerId), eq(visibility, sql`'everyone'`));
}

/**
 * Throws `insufficient_permission` for a key that is bound to an assistant: it manages no assistants, files or stores,
 * because it could widen what it was bound to.
 */
export function refuseBoundKeyHere(caller: Caller): void {
  if (caller.kind !== "key" || caller.assistantId === null) return;
  throw new ServiceError(
    "insufficient_permission",
    "This API key is bound to an assistant and manages no assistants, files or vector stores. Use a key whose `assistant_id` is null.",
  );
}

/** The visibility of a new or changed record. Throws `insufficient_permission` unless an administrator shares it. */
export function refuseSharing(visibility: Visibility | undefined, { role }: Caller): void {
  if (visibility !== "everyone" || role === "admin") return;
  throw new ServiceError(
    "insufficient_permission",
    "Only an administrator may set `ext.visibility` to 'everyone'.",
    { param: "ext.visibility" },
  );
}
