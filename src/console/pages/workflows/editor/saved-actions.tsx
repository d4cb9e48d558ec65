import { useNavigate } from "@tanstack/react-router";
import { EllipsisVertical } from "lucide-react";
import { useState } from "react";
import { flushSync } from "react-dom";
import { isMoving, useStopWorkflow } from "../../../api/queries/workflow-runs.ts";
import {
  loadExport,
  useChangeWorkflow,
  useDeleteWorkflow,
  type Workflow,
} from "../../../api/queries/workflows.ts";
import { countOf } from "../../../lib/count.ts";
import { formatJson } from "../../../lib/json/json-format.ts";
import type { JsonValue } from "../../../lib/json/json-schema.ts";
import { Button } from "../../../ui/buttons/button.tsx";
import { IconButton } from "../../../ui/buttons/icon-button.tsx";
import { saveFile } from "../../../ui/buttons/save-file.ts";
import { ConfirmDialog } from "../../../ui/overlays/confirm-dialog.tsx";
import { Menu } from "../../../ui/overlays/menu.tsx";
import { showToast } from "../../../ui/overlays/toast.tsx";
import type { SavedWorkflow, WorkflowEditorProps } from "./editor-props.ts";
import { RunDialog } from "./run-dialog.tsx";
import type { Save } from "./use-save.ts";

interface SavedActionsProps extends WorkflowEditorProps {
  readonly saved: SavedWorkflow;
  readonly save: Save;
  readonly onOpenPanel: (panel: string) => void;
}

/** What can be done with a workflow that is saved. */
export function SavedActions(props: SavedActionsProps) {
  const { saved, draft, readOnlyReason, onOpenPanel } = props;
  const { workflow } = saved;
  const [open, setOpen] = useState<"run" | "stop" | "state" | "delete">();
  const close = () => setOpen(undefined);
  const navigate = useNavigate();
  const hasRuns = isMoving(workflow.last_run ?? undefined) || workflow.queued > 0;
  const exportIt = async () => {
    try {
      const exported = await loadExport(workflow.id);
      const text = `${formatJson(exported as unknown as JsonValue)}\n`;
      saveFile(`${workflow.name}.json`, "application/json", text);
    } catch {
      showToast("The export could not be loaded; try it again");
    }
  };
  return (
    <>
      <Button onClick={() => setOpen("run")}>Run workflow…</Button>
      {hasRuns && <Button onClick={() => setOpen("stop")}>Stop runs</Button>}
      <Menu
        trigger={<IconButton icon={EllipsisVertical} label="More actions" look="plain" isPlain />}
        items={[
          { label: "Change settings", run: () => onOpenPanel("$settings") },
          {
            label: workflow.enabled ? "Disable workflow…" : "Enable workflow",
            disabledReason: readOnlyReason,
            run: () => setOpen("state"),
          },
          { label: "Export JSON", run: () => void exportIt() },
          {
            label: "Delete workflow…",
            isDanger: true,
            disabledReason: readOnlyReason,
            run: () => setOpen("delete"),
          },
        ]}
      />
      <RunDialog
        workflow={workflow}
        isDirty={draft.isDirty}
        isOpen={open === "run"}
        onClose={close}
        onStarted={(runId) => void navigate({ to: `/runs/${runId}` })}
      />
      <StopDialog workflow={workflow} isOpen={open === "stop"} onClose={close} />
      <StateDialog workflow={workflow} isOpen={open === "state"} onClose={close} />
      <DeleteDialog {...props} isOpen={open === "delete"} onClose={close} />
    </>
  );
}

interface WorkflowDialogProps {
  readonly workflow: Workflow;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function StopDialog({ workflow, ...dialog }: WorkflowDialogProps) {
  const stop = useStopWorkflow(workflow.id);
  return (
    <ConfirmDialog
      {...dialog}
      title={`Stop the runs of ${workflow.name}?`}
      action="Stop runs"
      onConfirm={async () => {
        const { stopped } = await stop.mutateAsync();
        showToast(`${countOf(stopped, "run is", "runs are")} stopped`);
      }}
    >
      The running run and all that wait end as stopped. Later triggers start it again.
    </ConfirmDialog>
  );
}

function StateDialog({ workflow, ...dialog }: WorkflowDialogProps) {
  const change = useChangeWorkflow(workflow.id);
  const { enabled, name } = workflow;
  const action = enabled ? "Disable workflow" : "Enable workflow";
  return (
    <ConfirmDialog
      {...dialog}
      title={`${enabled ? "Disable" : "Enable"} workflow ${name}?`}
      action={action}
      onConfirm={async () => {
        await change.mutateAsync({ enabled: !enabled });
        showToast(`Workflow ${name} is ${enabled ? "off" : "on"}`);
      }}
    >
      {enabled
        ? "No trigger starts it until it is enabled again. Runs that are accepted go on, and you can start it by hand."
        : "Its triggers start it again from now on."}
    </ConfirmDialog>
  );
}

function DeleteDialog({
  saved: { workflow },
  save,
  onGone,
  ...dialog
}: SavedActionsProps & Omit<WorkflowDialogProps, "workflow">) {
  const remove = useDeleteWorkflow(workflow.id);
  const { isOpen, onClose } = dialog;
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete workflow ${workflow.name}?`}
      action="Delete workflow"
      typeName={workflow.name}
      onConfirm={async () => {
        await remove.mutateAsync();
        // The guard of unsaved changes is gone with them, before the view is left.
        flushSync(() => save.setGone());
        onGone();
        showToast(`Workflow ${workflow.name} is deleted`);
      }}
    >
      Its runs are stopped, its webhook answers 404, and its versions are gone. The records of its
      runs stay.
    </ConfirmDialog>
  );
}
