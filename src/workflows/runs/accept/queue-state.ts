import { and, desc, eq, gte, inArray, sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import {
  activeRuns,
  workflowFacts,
  workflowRows,
  workflowRuns,
} from "../../../db/tables/workflows.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { MAIN, TRIGGER_STEP } from "../../rows/row-store.ts";
import { utcDay } from "../run-id.ts";
import type { RunRequest } from "./acceptance.ts";

const DAY_MS = 86_400_000;

/** A run that waits, and may take further rows. */
export interface WaitingRun {
  readonly runId: string;
  readonly day: string;
  rowsReceived: number;
  chain: readonly string[];
  /** The number of its next chunk. */
  nextChunk: number;
}

export interface KnownFact {
  readonly runId: string | null;
  readonly bodyHash: string | null;
  readonly answer: JsonObject | null;
}

/** What decides over requests beside the queue's own row. */
export interface QueueState {
  readonly isRunning: boolean;
  /** The last waiting run of each trigger key that a request asks about. */
  readonly waiting: ReadonlyMap<string, WaitingRun>;
  /** By `factKey`. */
  readonly facts: ReadonlyMap<string, KnownFact>;
}

export function factKey(triggerKey: string, fact: string): string {
  return `${triggerKey} ${fact}`;
}

/**
 * Reads what requests are decided by, under the queue's lock.
 * @param now Unix milliseconds.
 */
export async function readQueueState(
  transaction: Db,
  { workflowId, ownerId, requests, now }: StateQuery,
): Promise<QueueState> {
  const running = await transaction
    .select({ runId: activeRuns.runId })
    .from(activeRuns)
    .where(and(eq(activeRuns.workflowId, workflowId), eq(activeRuns.status, "running")));
  const asking = requests.filter((request) => request.coalesce || request.atMostOneWaiting);
  const keys = [...new Set(asking.map(({ triggerKey }) => triggerKey))];
  return {
    isRunning: running.length > 0,
    waiting: await readWaiting(transaction, { workflowId, ownerId }, keys),
    facts: await readFacts(transaction, { workflowId, requests, now }),
  };
}

interface StateQuery {
  readonly workflowId: string;
  /** The workflow's owner. */
  readonly ownerId: string | null;
  readonly requests: readonly RunRequest[];
  readonly now: number;
}

/** Runs that were accepted for an earlier owner fail when they begin, so nothing may join them. */
async function readWaiting(
  transaction: Db,
  { workflowId, ownerId }: Pick<StateQuery, "workflowId" | "ownerId">,
  triggerKeys: readonly string[],
): Promise<ReadonlyMap<string, WaitingRun>> {
  if (triggerKeys.length === 0 || ownerId === null) return new Map();
  const found = await transaction
    .selectDistinctOn([activeRuns.triggerKey], {
      triggerKey: activeRuns.triggerKey,
      runId: activeRuns.runId,
      day: activeRuns.day,
      rowsReceived: workflowRuns.rowsReceived,
      chain: workflowRuns.chain,
      nextChunk: sql<number>`(select coalesce(max(chunk), -1)::int + 1 from ${workflowRows}
        where day = ${activeRuns.day} and run_id = ${activeRuns.runId}
          and step_id = ${TRIGGER_STEP} and output = ${MAIN})`,
    })
    .from(activeRuns)
    .innerJoin(
      workflowRuns,
      and(eq(workflowRuns.day, activeRuns.day), eq(workflowRuns.id, activeRuns.runId)),
    )
    .where(
      and(
        eq(activeRuns.workflowId, workflowId),
        eq(activeRuns.status, "queued"),
        eq(workflowRuns.ownerId, ownerId),
        inArray(activeRuns.triggerKey, [...triggerKeys]),
      ),
    )
    .orderBy(activeRuns.triggerKey, desc(activeRuns.number));
  return new Map(found.map(({ triggerKey, ...run }) => [triggerKey, run]));
}

/**
 * Facts of the last 24 hours, or from a day before their `since` on, and those of a replica whose clock is ahead. Requests
 * of one acceptance have facts of one kind.
 */
async function readFacts(
  transaction: Db,
  { workflowId, requests, now }: Omit<StateQuery, "ownerId">,
): Promise<ReadonlyMap<string, KnownFact>> {
  const asked = requests.flatMap(({ fact }) => (fact === undefined ? [] : [fact.fact]));
  if (asked.length === 0) return new Map();
  const since = Math.min(now, ...requests.map(({ fact }) => fact?.since ?? now)) - DAY_MS;
  const found = await transaction
    .select()
    .from(workflowFacts)
    .where(
      and(
        gte(workflowFacts.day, utcDay(since)),
        eq(workflowFacts.workflowId, workflowId),
        inArray(workflowFacts.triggerKey, [...new Set(requests.map((asks) => asks.triggerKey))]),
        inArray(workflowFacts.fact, asked),
        gte(workflowFacts.createdAt, new Date(since)),
      ),
    );
  return new Map(found.map((row) => [factKey(row.triggerKey, row.fact), row]));
}
