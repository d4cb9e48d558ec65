import type { NewJob } from "../../queue/enqueue.ts";

/** The queue's topic of running runs. A queued run has no job, so there are never more jobs than workflows. */
export const RUN_TOPIC = "workflow_run";

/** Which run a job works on. */
export interface RunJob {
  readonly run_id: string;
  readonly workflow_id: string;
}

/** The job that works on a run, stored in the transaction that makes the run `running`. */
export function runJob(run: RunJob): NewJob {
  return { topic: RUN_TOPIC, kind: "run", body: { ...run } };
}

/** The job's run; undefined for a body that this release does not know. */
export function runOfJob(body: Readonly<Record<string, unknown>>): RunJob | undefined {
  const { run_id, workflow_id } = body;
  if (typeof run_id !== "string" || typeof workflow_id !== "string") return undefined;
  return { run_id, workflow_id };
}
