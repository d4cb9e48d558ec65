import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import {
  isMoving,
  useRetryRun,
  useStopRun,
  type WorkflowRunWithSteps,
} from "../../api/queries/workflow-runs.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { LinkButton } from "../../ui/navigation/link-button.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { callsOf } from "./run-facts.tsx";

interface RunActionsProps {
  readonly run: WorkflowRunWithSteps;
}

/** What can be done with a run. */
export function RunActions({ run }: RunActionsProps) {
  const [open, setOpen] = useState<"stop" | "retry">();
  const close = () => setOpen(undefined);
  const stop = useStopRun(run.runId);
  const moves = isMoving(run);
  return (
    <>
      {moves ? (
        <Button onClick={() => setOpen("stop")}>Stop run</Button>
      ) : (
        <Button look="primary" onClick={() => setOpen("retry")}>
          Retry run…
        </Button>
      )}
      <LinkButton to={`/workflows/${run.pipelineId}`}>Show workflow</LinkButton>
      <LinkButton to={`/workflows/${run.pipelineId}/runs`}>All runs</LinkButton>
      {callsOf(run) > 0 && (
        <LinkButton to="/requests" search={{ run: run.runId }}>
          Requests
        </LinkButton>
      )}
      <CallButton
        call={{ method: "GET", path: `/api/pipeline/runs/${run.runId}`, credential: "key" }}
      />
      <ConfirmDialog
        isOpen={open === "stop"}
        onClose={close}
        title={`Stop this run of ${run.workflow_name}?`}
        action="Stop run"
        onConfirm={async () => {
          const stopped = await stop.mutateAsync();
          showToast(
            stopped.status === "stopped" ? "The run is stopped" : `The run had ${stopped.status}`,
          );
        }}
      >
        It is stopped at once. Nothing of the steps in progress is stored; what completed steps
        wrote stays.
      </ConfirmDialog>
      <Dialog
        isOpen={open === "retry"}
        onClose={close}
        title={`Retry this run of ${run.workflow_name}`}
        description="A new run of the current version takes over the rows of the steps before."
      >
        <RetryForm run={run} onClose={close} />
      </Dialog>
    </>
  );
}

function RetryForm({ run, onClose }: RunActionsProps & { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const retry = useRetryRun(run.runId);
  const [from, setFrom] = useState(run.failed_step ?? "");
  return (
    <Form
      action="Retry run"
      onCancel={onClose}
      onSubmit={async () => {
        const { runId } = await retry.mutateAsync(from === "" ? undefined : from);
        onClose();
        await navigate({ to: `/runs/${runId}` });
      }}
    >
      <SelectField
        name="from"
        label="From step"
        hint="The steps before it must have ended well, be as they were, and have their rows still."
        value={from}
        onChange={setFrom}
        choices={[
          ...(run.failed_step === null ? [{ value: "", label: "The first step" }] : []),
          ...run.steps.map(({ id }) => ({
            value: id,
            label: id === run.failed_step ? `${id} (failed)` : id,
          })),
        ]}
      />
    </Form>
  );
}
