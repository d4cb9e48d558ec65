import { useState } from "react";
import { type FlowRow, useStartRun } from "../../../api/queries/workflow-runs.ts";
import type { Workflow } from "../../../api/queries/workflows.ts";
import { CodeEditor } from "../../../parts/code-editor.tsx";
import { Form } from "../../../ui/forms/form.tsx";
import { Dialog } from "../../../ui/overlays/dialog.tsx";
import { readRows } from "../steps/sample-rows.ts";

interface RunDialogProps {
  readonly workflow: Workflow;
  readonly isDirty: boolean;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onStarted: (runId: string) => void;
}

/** Starts a workflow by hand, with the rows that its `input` gets. */
export function RunDialog({ isOpen, ...props }: RunDialogProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={props.onClose}
      title={`Run workflow ${props.workflow.name}`}
      description={`Version ${props.workflow.version} runs${
        props.isDirty ? ", without the changes that are not saved" : ""
      }.`}
      isWide
    >
      <RunForm {...props} />
    </Dialog>
  );
}

function RunForm({ workflow, onClose, onStarted }: Omit<RunDialogProps, "isOpen">) {
  const [text, setText] = useState("[{}]");
  const start = useStartRun(workflow.id);
  const read = readRows(text);
  return (
    <Form
      action="Start run"
      onCancel={onClose}
      disabledReason={read.fault?.message}
      onSubmit={async () => {
        const { runId } = await start.mutateAsync(read.rows as readonly FlowRow[]);
        onClose();
        onStarted(runId);
      }}
    >
      <div className="grid gap-1">
        <span className="font-medium">Rows of the trigger</span>
        <CodeEditor
          label="Rows of the trigger"
          language="json"
          value={text}
          onChange={setText}
          marks={read.marks}
        />
        <span className="text-sm text-muted">
          A list of objects, which the step input passes on. One empty row starts a workflow that
          needs none.
        </span>
      </div>
    </Form>
  );
}
