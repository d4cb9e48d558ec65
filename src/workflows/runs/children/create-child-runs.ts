import { and, eq } from "drizzle-orm";
import { users } from "../../../db/tables/users.ts";
import { workflowRuns, workflows } from "../../../db/tables/workflows.ts";
import { mayUse } from "../../../knowledge/rights.ts";
import type { WorkflowStore } from "../../workflow-store.ts";
import { acceptRunNow, chunksOf } from "../accept/accept-runs.ts";
import type { Acceptance, RunRequest } from "../accept/acceptance.ts";
import { readQueueWait } from "../accept/queue-wait.ts";
import { type ClaimedRun, type DiscardReason, type RunStatus, StepFailure } from "../run.ts";
import { dayOfRun } from "../run-id.ts";
import type { ChildRuns } from "./child-runs.ts";
import type { RunWaits } from "./run-waits.ts";

/** The end of a run on another replica is seen this soon. */
const POLL_MS = 1_000;

const DISCARDED: Readonly<Record<DiscardReason, string>> = {
  queue_full: "The queue of the workflow is full; it holds PIPELINE_MAX_QUEUED_RUNS runs.",
  overlap: "A run of this trigger waits already.",
  loop: "The workflow is already in the chain of runs that led here; a workflow may not start itself.",
  license: "No license is in force, so that nothing starts. An administrator uploads one.",
  owner: "The owner of the workflow is deleted or disabled.",
};

/** Runs that steps of other runs start and wait for. */
export function createChildRuns(store: () => WorkflowStore, waits: RunWaits): ChildRuns {
  return {
    async start({ parent, workflowId, rows, idempotencyKey }) {
      await checkRights(store(), parent, workflowId);
      const request: RunRequest = {
        trigger: { kind: "step", run_id: parent.id, workflow_id: parent.workflowId },
        triggerKey: "step",
        rows: await chunksOf(rows),
        chain: [...parent.chain, parent.workflowId],
        fact: { fact: idempotencyKey, since: parent.startedAt },
      };
      return startedOf(store(), workflowId, await acceptRunNow(store(), workflowId, request));
    },
    async wait(runId, signal) {
      const release = waits.hold();
      try {
        for (;;) {
          signal.throwIfAborted();
          const status = await readStatus(store(), runId);
          if (status !== "queued" && status !== "running") return status;
          await waits.until(runId, POLL_MS, signal);
        }
      } finally {
        release();
      }
    },
  };
}

/** With the rights of the parent's owner, as they are now. */
async function checkRights(
  { database }: WorkflowStore,
  { ownerId }: ClaimedRun,
  workflowId: string,
): Promise<void> {
  const [found] = await database.askOwn((db) =>
    db
      .select({ ownerId: workflows.ownerId, visibility: workflows.visibility, role: users.role })
      .from(workflows)
      .leftJoin(users, eq(users.id, ownerId ?? ""))
      .where(eq(workflows.id, workflowId)),
  );
  const isAllowed =
    found?.role != null && ownerId !== null && mayUse(found, { role: found.role, ownerId });
  if (!isAllowed) throw unknown(workflowId);
}

async function startedOf(
  store: WorkflowStore,
  workflowId: string,
  acceptance: Acceptance,
): Promise<{ readonly runId: string }> {
  switch (acceptance.kind) {
    case "accepted":
    case "joined":
      return { runId: acceptance.runId };
    case "repeated":
      if (acceptance.runId !== null) return { runId: acceptance.runId };
      throw new StepFailure("discarded", "The run was discarded before.");
    case "unavailable":
      throw new StepFailure(
        "workflow_disabled",
        `The workflow ${workflowId} is disabled or gone. Enable it, or name another one.`,
      );
    case "discarded": {
      const { reason } = acceptance;
      const isFull = reason === "queue_full";
      const retryAfterSeconds = isFull ? await readQueueWait(store, workflowId) : undefined;
      throw new StepFailure(reason, DISCARDED[reason], { isRetryable: isFull, retryAfterSeconds });
    }
  }
}

async function readStatus(
  { database }: Pick<WorkflowStore, "database">,
  runId: string,
): Promise<RunStatus> {
  const day = dayOfRun(runId);
  const [run] =
    day === undefined
      ? []
      : await database.askOwn((db) =>
          db
            .select({ status: workflowRuns.status })
            .from(workflowRuns)
            .where(and(eq(workflowRuns.day, day), eq(workflowRuns.id, runId))),
        );
  if (run !== undefined) return run.status;
  throw new StepFailure("run_gone", `The record of the run ${runId} is gone.`);
}

function unknown(workflowId: string): StepFailure {
  return new StepFailure(
    "workflow_not_found",
    `There is no workflow ${workflowId} that the owner of this one may start.`,
  );
}
