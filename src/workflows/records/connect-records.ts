import type { FileConnections } from "../../knowledge/file-connections.ts";
import { parseDefinition } from "../definition/parse-definition.ts";
import { readsTrigger } from "../execute/next-steps.ts";
import { retryRun } from "../runs/control/retry-run.ts";
import { startRun } from "../runs/control/start-run.ts";
import { stopRun, stopWorkflow } from "../runs/control/stop-runs.ts";
import type { ReadDefinition } from "../runs/run.ts";
import type { WorkflowSecrets } from "../secrets.ts";
import type { StepKinds } from "../steps/registry.ts";
import { checkSchedule, nextTimes } from "../triggers/check-schedule.ts";
import { saveSchedules } from "../triggers/save-schedules.ts";
import type { WorkflowStore } from "../workflow-store.ts";
import type { RunVerbs, WorkflowRecords } from "./workflow-records.ts";

/** Connects the verbs of workflows with the schedules and the queue of runs. */
export function connectRecords(
  store: WorkflowStore,
  parts: {
    readonly secrets: WorkflowSecrets;
    readonly fileConnections: Pick<FileConnections, "list">;
  },
): WorkflowRecords {
  const folders = () =>
    parts.fileConnections.list().flatMap(({ name, isWatched }) => (isWatched ? [name] : []));
  return {
    ...store,
    secrets: parts.secrets,
    folders,
    schedules: { checkSchedule, nextTimes, saveSchedules },
    runs: connectRuns(store),
  };
}

/** The queue of runs as people use it. */
export function connectRuns(store: WorkflowStore): RunVerbs {
  const readDefinition = createReadDefinition(store.kinds);
  return {
    startRun: (transaction, start) => startRun(transaction, store, start),
    retryRun: (transaction, retry) =>
      retryRun(transaction, store, {
        ...{ ...retry, readDefinition },
        readsTrigger: (step) => readsTrigger(step, store.kinds.find(step.kind)),
      }),
    stopRun,
    stopWorkflow,
  };
}

/** Reads stored definitions with the defaults of their kinds. They were checked when they were saved. */
export function createReadDefinition(kinds: StepKinds): ReadDefinition {
  return (stored) => {
    const { definition, faults } = parseDefinition(stored, kinds);
    const [fault] = faults;
    if (fault === undefined) return definition;
    throw new Error(
      `the stored workflow does not fit this release: ${fault.step ?? "workflow"}, ${fault.field}: ${fault.message}`,
    );
  };
}
