import { CircleAlert } from "lucide-react";
import type { WorkflowRunWithSteps } from "../../api/queries/workflow-runs.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { LinkButton } from "../../ui/navigation/link-button.tsx";

interface RunErrorProps {
  readonly run: WorkflowRunWithSteps;
  readonly onOpen: (step: string) => void;
}

/** What to do beside mending the step, by the code of the error. */
const ADVICE: Readonly<Record<string, string>> = {
  worker_lost: "Three workers were lost without progress: look at the log of the gateway.",
  run_timeout: "It took longer than its time: raise the time of a run in the settings.",
  step_timeout: "The step took longer than its time: raise timeout_seconds, or give it fewer rows.",
  restored: "It was running when the backup was made. Retry it if it is still wanted.",
  quota_exceeded: "The limits of the workflow's key are used up: raise them, then retry.",
};

/** Why a run failed, and the way on: the step, the workflow, a retry. */
export function RunError({ run, onOpen }: RunErrorProps) {
  const { error, failed_step: step, broke_at: brokeAt } = run;
  if (error === null) {
    return brokeAt === null ? null : (
      <p className="rounded-lg border border-line bg-surface px-3 py-2">
        The step {brokeAt} ended the run: nothing after it was started.
      </p>
    );
  }
  const code = String(error["code"] ?? "");
  const row = error["row"];
  return (
    <div role="alert" className="flex gap-3 rounded-lg border border-bad bg-bad-soft p-3">
      <CircleAlert size={18} className="mt-px shrink-0 text-bad" aria-hidden />
      <div className="grid min-w-0 flex-1 gap-1">
        <p className="font-medium text-bad">
          {step === null ? "The run failed" : `The step ${step} failed`}
          {typeof row === "number" && ` at row ${row}`}
        </p>
        <p className="break-words">{String(error["message"] ?? "")}</p>
        {ADVICE[code] !== undefined && <p>{ADVICE[code]}</p>}
        {code !== "" && <code className="font-mono text-sm text-muted">{code}</code>}
        <div className="flex flex-wrap gap-2 pt-1">
          {step !== null && (
            <>
              <Button onClick={() => onOpen(step)}>Show step</Button>
              <LinkButton to={`/workflows/${run.pipelineId}`} search={{ step }}>
                Change step
              </LinkButton>
            </>
          )}
        </div>
      </div>
    </div>
  );
}
