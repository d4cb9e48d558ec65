import { and, desc, eq, gte, like, lt, type SQL, sql } from "drizzle-orm";
import { escapeLike } from "../../db/escape-like.ts";
import { auditLog } from "../../db/tables/audit-log.ts";
import type { Access } from "../access.ts";

export type AuditEntry = typeof auditLog.$inferSelect;

export interface AuditQuery {
  /** A whole action, or the beginning of one that ends in a dot. */
  readonly action?: string | undefined;
  readonly actorId?: string | undefined;
  readonly targetId?: string | undefined;
  readonly targetKind?: string | undefined;
  /** The first moment. */
  readonly from?: Date | undefined;
  /** The first moment that is no longer meant. */
  readonly to?: Date | undefined;
  /** The id of an entry: those that came before it alone. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** There are earlier ones. */
  readonly hasMore: boolean;
}

/** Entries of the audit log that meet all of a query, the newest first. */
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

/** Two entries of one moment are in the order of their ids. */
function isBefore(id: number): SQL {
  return sql`(${auditLog.at}, ${auditLog.id}) < (select at, id from ${auditLog} as seen where seen.id = ${id})`;
}
