import { and, desc, eq, gte, inArray, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import type { Db } from "../../db/context.ts";
import { workflowRuns, workflows } from "../../db/tables/workflows.ts";
import { mayUse } from "../../knowledge/rights.ts";
import { withRowState } from "../rows/row-retention.ts";
import type { RunStatus, RunTrigger } from "../runs/run.ts";
import { utcDay } from "../runs/run-id.ts";
import type { RunReading, RunRow } from "./find-run.ts";

/** A look at fewer days is quicker, and mostly finds enough. */
const RECENT_DAYS = 7;
const DAY_MS = 86_400_000;
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
  { database, settings, clock }: RunReading,
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
    if (shared.length === 0) return own;
    const places = await findShared(db, shared, {
      ...query,
      to: query.to ?? clock.now() + 1,
      limit: wanted,
    });
    // The database merges both lists: only it knows the order of its texts.
    return selectRuns(db, isOneOf([...own, ...places]), wanted);
  });
  const runs = rows.slice(0, query.limit).map((run) => withRowState(run, { settings, clock }));
  const last = runs.at(-1);
  const hasMore = rows.length > query.limit && last !== undefined;
  return { runs, next: hasMore ? { queuedAt: last.queuedAt.getTime(), id: last.id } : null };
}

function conditionsOf(query: RunQuery): readonly (SQL | undefined)[] {
  const { workflowId, status, triggerKind, from, to, before } = query;
  const { day, queuedAt } = workflowRuns;
  return [
    workflowId === undefined ? undefined : eq(workflowRuns.workflowId, workflowId),
    status === undefined ? undefined : eq(workflowRuns.status, status),
    triggerKind === undefined ? undefined : sql`${workflowRuns.trigger}->>'kind' = ${triggerKind}`,
    // The day of a run is that of its acceptance: the database reads only those partitions.
    from === undefined ? undefined : and(gte(day, utcDay(from)), gte(queuedAt, new Date(from))),
    to === undefined ? undefined : and(lte(day, utcDay(to)), lt(queuedAt, new Date(to))),
    before && and(lte(day, utcDay(before.queuedAt)), isBefore(before)),
  ];
}

function isBefore(place: RunPlace): SQL {
  const { day, queuedAt, id } = workflowRuns;
  const time = new Date(place.queuedAt).toISOString();
  return sql`(${day}, ${queuedAt}, ${id}) < (${utcDay(place.queuedAt)}::date, ${time}::timestamptz, ${place.id}::text)`;
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

interface DayAndId {
  readonly day: string;
  readonly id: string;
}

/** Finds the newest runs of workflows: at first among the recent ones, then among all. */
async function findShared(
  db: Db,
  ids: readonly string[],
  query: RunQuery & { readonly to: number },
): Promise<readonly DayAndId[]> {
  const filter = and(...conditionsOf(query));
  const end = query.before?.queuedAt ?? query.to;
  const isRecent = gte(workflowRuns.day, utcDay(Math.max(0, end - RECENT_DAYS * DAY_MS)));
  const recent = await findNewest(db, ids, and(filter, isRecent), query.limit);
  return recent.length < query.limit ? findNewest(db, ids, filter, query.limit) : recent;
}

/** Finds the newest runs of each workflow by its index, and of these the newest. */
async function findNewest(
  db: Db,
  ids: readonly string[],
  filter: SQL | undefined,
  limit: number,
): Promise<readonly DayAndId[]> {
  const { day, queuedAt, id, workflowId } = workflowRuns;
  const order = sql`${day} desc, ${queuedAt} desc, ${id} desc`;
  const found = await db.execute<{ day: string; id: string }>(sql`
    select newest.day::text as day, newest.id
    from unnest(${sql.param(`{${ids.join(",")}}`)}::text[]) as shared (id)
    cross join lateral (
      select ${day} as day, ${queuedAt} as queued_at, ${id} as id from ${workflowRuns}
      where ${and(eq(workflowId, sql`shared.id`), filter)} order by ${order} limit ${limit}
    ) newest
    order by newest.day desc, newest.queued_at desc, newest.id desc limit ${limit}`);
  return [...found];
}

function isOneOf(places: readonly DayAndId[]): SQL | undefined {
  const days = [...new Set(places.map(({ day }) => day))];
  const ids = places.map(({ id }) => id);
  return and(inArray(workflowRuns.day, days), inArray(workflowRuns.id, ids));
}
