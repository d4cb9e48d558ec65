import { ServiceError } from "../../core/service-error.ts";
import { withTransaction } from "../../db/context.ts";
import { acceptRuns } from "../runs/accept/accept-runs.ts";
import {
  type Acceptance,
  announceAcceptances,
  type RunRequest,
  type RunStore,
} from "../runs/accept/acceptance.ts";

/** Triggers of one workflow that one transaction decides over. */
const BATCH_MAX = 100;
/** Bytes of their chunks, beyond the first trigger's. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Triggers of one workflow that may wait for a transaction. */
const WAITING_MAX = 1_000;

export interface Acceptances {
  /** Accepts a run in a transaction that it may share with other triggers of the workflow. Resolves after its commit. */
  readonly accept: (workflowId: string, request: RunRequest) => Promise<Acceptance>;
}

interface Waiting {
  readonly request: RunRequest;
  readonly resolve: (acceptance: Acceptance) => void;
  readonly reject: (thrown: unknown) => void;
}

/**
 * Combines triggers that arrive while a transaction of their workflow is under way: they would wait for its lock anyway,
 * and together they pay for one commit.
 */
export function combineAcceptances(store: RunStore): Acceptances {
  const queues = new Map<string, Waiting[]>();
  const work = async (workflowId: string, waiting: Waiting[]) => {
    while (waiting.length > 0) {
      const batch = takeBatch(waiting);
      const refusal = await acceptBatch(store, workflowId, batch);
      // Those behind would wait as long again for the same answer.
      if (isAway(refusal)) for (const { reject } of waiting.splice(0)) reject(refusal);
    }
    queues.delete(workflowId);
  };
  return {
    accept: (workflowId, request) =>
      new Promise((resolve, reject) => {
        const waiting = queues.get(workflowId);
        const own = { request, resolve, reject };
        if (waiting === undefined) {
          const begun = [own];
          queues.set(workflowId, begun);
          void work(workflowId, begun);
        } else if (waiting.length < WAITING_MAX) waiting.push(own);
        else reject(tooMany());
      }),
  };
}

/** Settles all of a batch. Resolves with what refused it; undefined when it is stored. Never rejects. */
async function acceptBatch(
  store: RunStore,
  workflowId: string,
  batch: readonly Waiting[],
): Promise<unknown> {
  const requests = batch.map(({ request }) => request);
  try {
    const acceptances = await store.database.ask((db) =>
      withTransaction(db, (transaction) => acceptRuns(transaction, store, workflowId, requests)),
    );
    announceAcceptances(store, acceptances);
    for (const [index, { resolve }] of batch.entries()) {
      resolve(acceptances[index] ?? { kind: "unavailable" });
    }
    return undefined;
  } catch (thrown) {
    for (const { reject } of batch) reject(thrown);
    return thrown;
  }
}

function isAway(thrown: unknown): boolean {
  return thrown instanceof ServiceError && thrown.code === "storage_unavailable";
}

function takeBatch(waiting: Waiting[]): readonly Waiting[] {
  let bytes = 0;
  let count = 0;
  for (const { request } of waiting) {
    bytes += request.rows.reduce((sum, { data }) => sum + data.byteLength, 0);
    if (count === BATCH_MAX || (count > 0 && bytes > BATCH_BYTES)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

function tooMany(): ServiceError {
  return new ServiceError("overloaded", "Too many calls start this workflow at once; try again.", {
    retryAfterSeconds: 1,
  });
}
