import { eq } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { users } from "../../../db/tables/users.ts";
import { workflowQueues, workflows } from "../../../db/tables/workflows.ts";

/** A workflow and its queue, as they are under the queue's lock. */
export interface LockedQueue {
  readonly workflowId: string;
  readonly workflowName: string;
  readonly enabled: boolean;
  readonly ownerId: string | null;
  /** False when the owner is deleted or disabled: nothing starts. */
  readonly hasActiveOwner: boolean;
  readonly version: number;
  readonly timeoutSeconds: number;
  readonly keepRows: "all" | "failed" | "none";
  readonly lastNumber: number;
  readonly queued: number;
  readonly consecutiveFailures: number;
  readonly failingSince: Date | null;
  readonly discarded: Readonly<Record<string, number>>;
}

/**
 * Locks the queue of a workflow until the transaction ends: runs are accepted, promoted, stopped and ended under it, so
 * that their order is that of the commits. It is the first lock of such a transaction, before that of a run's job; who
 * locks several queues does so in the order of the workflows' ids.
 *
 * What changes under the lock must be read by a later statement, whose snapshot is taken after it.
 * @returns undefined when there is no such workflow.
 */
export async function lockQueue(
  transaction: Db,
  workflowId: string,
): Promise<LockedQueue | undefined> {
  const [queue] = await transaction
    .select()
    .from(workflowQueues)
    .where(eq(workflowQueues.workflowId, workflowId))
    .for("update");
  if (queue === undefined) return undefined;
  // Who has waited for the lock must see what was changed meanwhile: a workflow that was disabled takes nothing more.
  const [found] = await transaction
    .select({ workflow: workflows, ownerState: users.state })
    .from(workflows)
    .leftJoin(users, eq(users.id, workflows.ownerId))
    .where(eq(workflows.id, workflowId));
  if (found === undefined) return undefined;
  const { workflow, ownerState } = found;
  return {
    ...queue,
    workflowName: workflow.name,
    enabled: workflow.enabled,
    ownerId: workflow.ownerId,
    hasActiveOwner: ownerState === "active",
    version: workflow.version,
    timeoutSeconds: workflow.timeoutSeconds,
    keepRows: workflow.keepRows,
  };
}
