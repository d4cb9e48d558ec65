import { and, desc, eq, gte, inArray, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/caller.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { workflowRuns, workflows } from "../../db/tables/workflows.ts";
import { mayUse } from "../../knowledge/rights.ts";
import type { RunStatus, RunTrigger } from "../runs/run.ts";
import { utcDay } from "../runs/run-id.ts";
import type { RunRow } from "./find-run.ts";

/** Shared workflows whose runs a user's list includes; the newest of them. */
const MAX_SHARED = 500;

/** A position in the list: runs after it were queued earlier, or have a lesser id. */
export interface RunPlace {
  /** Unix milliseconds. */
  readonly queuedAt: number;
  readonly id: string;
}

export interface RunQuery {
  readonly workflowId?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly triggerKind?: RunTrigger["kind"] | undefined;
  /** Unix milliseconds of the acceptance. */
  readonly from?: number | undefined;
  /** Exclusive end. */
  readonly to?: number | undefined;
  readonly before?: RunPlace | undefined;
  readonly limit: number;
}

export interface RunPage {
  /** The newest first. */
  readonly runs: readonly RunRow[];
  /** The position of the next page; null on the last one. */
  readonly next: RunPlace | null;
}

/** Lists the runs that the caller may see: all, or those of own and of shared workflows. */
export async function listRuns(
  { database }: { readonly database: Pick<Database, "ask"> },
  caller: AnyCaller,
  query: RunQuery,
): Promise<RunPage> {
  const filter = and(...conditionsOf(query));
  const wanted = query.limit + 1;
  const rows = await database.ask(async (db) => {
    if (caller.role === "admin") return selectRuns(db, filter, wanted);
    const isOwn = eq(workflowRuns.ownerId, caller.ownerId);
    const shared = await readShared(db, caller, query.workflowId);
    const own = await selectRuns(db, and(filter, isOwn), wanted);
    return shared.length === 0 ? own : merge(own, await selectShared(db, shared, filter, wanted));
  });
  const runs = rows.slice(0, query.limit);
  const last = runs.at(-1);
  const hasMore = rows.length > query.limit && last !== undefined;
  return { runs, next: hasMore ? { queuedAt: last.queuedAt.getTime(), id: last.id } : null };
}

function conditionsOf(query: RunQuery): readonly (SQL | undefined)[] {
  const { workflowId, status, triggerKind, from, to, before } = query;
  const { day, queuedAt, id } = workflowRuns;
  return [
    workflowId === undefined ? undefined : eq(workflowRuns.workflowId, workflowId),
    status === undefined ? undefined : eq(workflowRuns.status, status),
    triggerKind === undefined ? undefined : sql`${workflowRuns.trigger}->>'kind' = ${triggerKind}`,
    // The day of a run is that of its acceptance: the database reads only those partitions.
    from === undefined ? undefined : and(gte(day, utcDay(from)), gte(queuedAt, new Date(from))),
    to === undefined ? undefined : and(lte(day, utcDay(to)), lt(queuedAt, new Date(to))),
    before && and(lte(day, utcDay(before.queuedAt)), isBefore(before)),
  ].map((condition) => condition ?? undefined);

  function isBefore(place: RunPlace): SQL {
    const time = new Date(place.queuedAt).toISOString();
    return sql`(${day}, ${queuedAt}, ${id}) < (${utcDay(place.queuedAt)}::date, ${time}::timestamptz, ${place.id}::text)`;
  }
}

function selectRuns(db: Db, condition: SQL | undefined, limit: number): Promise<RunRow[]> {
  const { day, queuedAt, id } = workflowRuns;
  return db
    .select()
    .from(workflowRuns)
    .where(condition)
    .orderBy(desc(day), desc(queuedAt), desc(id))
    .limit(limit);
}

/** The ids of workflows that the caller sees although their runs may be of another owner. */
async function readShared(
  db: Db,
  caller: AnyCaller,
  workflowId: string | undefined,
): Promise<readonly string[]> {
  if (workflowId !== undefined) {
    const [row] = await db.select().from(workflows).where(eq(workflows.id, workflowId));
    return row !== undefined && mayUse(row, caller) ? [workflowId] : [];
  }
  const isShared = or(eq(workflows.visibility, "everyone"), eq(workflows.ownerId, caller.ownerId));
  const rows = await db
    .select({ id: workflows.id })
    .from(workflows)
    .where(isShared)
    .orderBy(desc(workflows.createdAt))
    .limit(MAX_SHARED);
  return rows.map(({ id }) => id);
}

/** Reads the newest runs of each workflow by its index, and of these the newest. */
async function selectShared(
  db: Db,
  ids: readonly string[],
  filter: SQL | undefined,
  limit: number,
): Promise<readonly RunRow[]> {
  const { day, queuedAt, id, workflowId } = workflowRuns;
  const order = sql`${day} desc, ${queuedAt} desc, ${id} desc`;
  const places = await db.execute<{ day: string; id: string }>(sql`
    select newest.day::text as day, newest.id
    from unnest(${sql.param(`{${ids.join(",")}}`)}::text[]) as shared (id)
    cross join lateral (
      select ${day} as day, ${queuedAt} as queued_at, ${id} as id from ${workflowRuns}
      where ${and(eq(workflowId, sql`shared.id`), filter)} order by ${order} limit ${limit}
    ) newest
    order by newest.day desc, newest.queued_at desc, newest.id desc limit ${limit}`);
  const found = [...places];
  if (found.length === 0) return [];
  const days = [...new Set(found.map((place) => place.day))];
  const runIds = found.map((place) => place.id);
  return selectRuns(db, and(inArray(day, days), inArray(id, runIds)), limit);
}

/** Both lists, the newest first, each run once. */
function merge(own: readonly RunRow[], shared: readonly RunRow[]): readonly RunRow[] {
  const byId = new Map([...own, ...shared].map((run) => [run.id, run]));
  return [...byId.values()].sort(
    (one, other) =>
      other.queuedAt.getTime() - one.queuedAt.getTime() || (one.id < other.id ? 1 : -1),
  );
}
