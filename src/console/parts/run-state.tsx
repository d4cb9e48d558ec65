import type { WorkflowRun, WorkflowRunStep } from "../api/queries/workflow-runs.ts";
import type { Tone } from "../ui/status/badge.tsx";
import { StatusDot } from "../ui/status/status-dot.tsx";

type Status = WorkflowRun["status"] | WorkflowRunStep["status"];

const STATES: Readonly<Record<Status, readonly [tone: Tone, word: string]>> = {
  queued: ["plain", "Queued"],
  pending: ["plain", "Pending"],
  running: ["accent", "Running"],
  completed: ["ok", "Completed"],
  failed: ["bad", "Failed"],
  stopped: ["warn", "Stopped"],
  skipped: ["plain", "Skipped"],
};

export function toneOfRun(status: Status): Tone {
  return STATES[status][0];
}

export function wordOfRun(status: Status): string {
  return STATES[status][1];
}

/** How a run or a step stands. */
export function RunState({ status }: { readonly status: Status }) {
  return <StatusDot tone={toneOfRun(status)}>{wordOfRun(status)}</StatusDot>;
}
