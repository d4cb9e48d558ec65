import { type Db, withTransaction } from "../../../db/context.ts";
import { packRows } from "../../rows/pack-rows.ts";
import type { Row, RowChunk } from "../../rows/row.ts";
import {
  type Acceptance,
  announceAcceptances,
  type RunRequest,
  type RunStore,
} from "./acceptance.ts";
import { AcceptancePlan } from "./acceptance-plan.ts";
import { lockQueue } from "./lock-queue.ts";
import { readQueueState } from "./queue-state.ts";
import { storeAcceptances } from "./store-acceptances.ts";

/** The part of the store that an acceptance inside a transaction needs. */
export type AcceptStore = Pick<RunStore, "settings" | "clock" | "isLicensed">;

/**
 * Decides over triggers of one workflow in their order, in the caller's transaction: each starts a run when the
 * workflow is free, else waits, else is discarded. The caller announces the result after the commit
 * (`announceAcceptances`). Rejects with `run_active` for a request that wants a free workflow.
 */
export async function acceptRuns(
  transaction: Db,
  store: AcceptStore,
  workflowId: string,
  requests: readonly RunRequest[],
): Promise<readonly Acceptance[]> {
  const queue = await lockQueue(transaction, workflowId);
  if (queue === undefined) return requests.map(() => ({ kind: "unavailable" }));
  // Read under the lock, so that no later run of the workflow has an earlier time.
  const now = store.clock.now();
  const { ownerId } = queue;
  const state = await readQueueState(transaction, { workflowId, ownerId, requests, now });
  const plan = new AcceptancePlan(queue, state, {
    now,
    isLicensed: store.isLicensed(),
    maxQueued: store.settings.PIPELINE_MAX_QUEUED_RUNS,
  });
  const acceptances = requests.map((request) => plan.decide(request));
  await storeAcceptances(transaction, plan.changes());
  return acceptances;
}

/** `acceptRuns` for one trigger. */
export async function acceptRun(
  transaction: Db,
  store: AcceptStore,
  workflowId: string,
  request: RunRequest,
): Promise<Acceptance> {
  const [acceptance] = await acceptRuns(transaction, store, workflowId, [request]);
  return acceptance ?? { kind: "unavailable" };
}

/** `acceptRun` in a transaction of its own, for a caller who waits; announces the result. */
export async function acceptRunNow(
  store: RunStore,
  workflowId: string,
  request: RunRequest,
): Promise<Acceptance> {
  const acceptance = await store.database.ask((db) =>
    withTransaction(db, (transaction) => acceptRun(transaction, store, workflowId, request)),
  );
  announceAcceptances(store, [acceptance]);
  return acceptance;
}

/** The rows of a trigger as a request takes them. Rejects with `RowTooLarge`. */
export async function chunksOf(rows: readonly Row[]): Promise<readonly RowChunk[]> {
  const chunks: RowChunk[] = [];
  for await (const chunk of packRows(rows)) chunks.push(chunk);
  return chunks;
}
