import { and, desc, eq, gte, like, lt, type SQL, sql } from "drizzle-orm";
import { escapeLike } from "../../db/escape-like.ts";
import { auditLog } from "../../db/tables/audit-log.ts";
import type { Access } from "../access.ts";

export type AuditEntry = typeof auditLog.$inferSelect;

export interface AuditQuery {
  /** A whole action, or a prefix that ends in a dot. */
  readonly action?: string | undefined;
  readonly actorId?: string | undefined;
  readonly targetId?: string | undefined;
  readonly targetKind?: string | undefined;
  /** The start of the range, included. */
  readonly from?: Date | undefined;
  /** The end of the range, excluded. */
  readonly to?: Date | undefined;
  /** The id of an entry; only earlier entries are returned. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** True when there are earlier entries. */
  readonly hasMore: boolean;
}

/** Returns the entries of the audit log that meet all conditions of a query, newest first. */
export async function listAudit(
  { database }: Pick<Access, "database">,
  query: AuditQuery,
): Promise<AuditPage> {
  const found = await database.ask((db) =>
    db
      .select()
      .from(auditLog)
      .where(and(...conditionsOf(query)))
      .orderBy(desc(auditLog.at), desc(auditLog.id))
      .limit(query.limit + 1),
  );
  return { entries: found.slice(0, query.limit), hasMore: found.length > query.limit };
}

function conditionsOf(query: AuditQuery): readonly (SQL | undefined)[] {
  const { action, actorId, targetId, targetKind, from, to, before } = query;
  return [
    action === undefined ? undefined : isAction(action),
    actorId === undefined ? undefined : eq(auditLog.actorId, actorId),
    targetId === undefined ? undefined : eq(auditLog.targetId, targetId),
    targetKind === undefined ? undefined : eq(auditLog.targetKind, targetKind),
    from && gte(auditLog.at, from),
    to && lt(auditLog.at, to),
    before === undefined ? undefined : isBefore(before),
  ];
}

function isAction(action: string): SQL {
  return action.endsWith(".")
    ? like(auditLog.action, `${escapeLike(action)}%`)
    : eq(auditLog.action, action);
}

/** Compares by time; entries of the same time are ordered by their ids. */
function isBefore(id: number): SQL {
  return sql`(${auditLog.at}, ${auditLog.id}) < (select at, id from ${auditLog} as seen where seen.id = ${id})`;
}
