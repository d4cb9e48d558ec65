import { useState } from "react";
import {
  useChangeWorkflow,
  useWorkflowVersions,
  type Workflow,
  type WorkflowVersion,
} from "../../../api/queries/workflows.ts";
import { formatJson } from "../../../lib/json/json-format.ts";
import type { JsonValue } from "../../../lib/json/json-schema.ts";
import { UserName } from "../../../parts/accounts/user-name.tsx";
import { ListView } from "../../../parts/list-view.tsx";
import { Button } from "../../../ui/buttons/button.tsx";
import { ConfirmDialog } from "../../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../../ui/overlays/dialog.tsx";
import { showToast } from "../../../ui/overlays/toast.tsx";
import { Badge } from "../../../ui/status/badge.tsx";
import { EmptyState } from "../../../ui/status/empty-state.tsx";
import type { Column } from "../../../ui/tables/table-column.ts";
import { CodeBlock } from "../../../ui/text/code-block.tsx";
import { Time } from "../../../ui/text/time.tsx";
import type { SavedWorkflow } from "./editor-props.ts";
import type { Draft } from "./use-draft.ts";

interface VersionsViewProps {
  readonly draft: Draft;
  readonly saved: SavedWorkflow;
  readonly readOnlyReason: string | undefined;
  readonly onSaved: (workflow: Workflow) => void;
}

/** Every version of the steps and triggers, to look at and to return to. */
export function VersionsView({ draft, saved, readOnlyReason, onSaved }: VersionsViewProps) {
  const { workflow } = saved;
  const list = useWorkflowVersions(workflow.id);
  const [shown, setShown] = useState<WorkflowVersion>();
  const [restoring, setRestoring] = useState<WorkflowVersion>();
  const change = useChangeWorkflow(workflow.id);
  const columns: ReadonlyArray<Column<WorkflowVersion>> = [
    {
      id: "version",
      head: "Version",
      cell: ({ version }) => (
        <span className="inline-flex items-center gap-2">
          {version}
          {version === workflow.version && <Badge tone="ok">now</Badge>}
        </span>
      ),
      width: "8rem",
    },
    { id: "at", head: "Saved", cell: ({ created_at: at }) => <Time value={at} />, width: "12rem" },
    {
      id: "by",
      head: "By",
      cell: ({ created_by: by }) =>
        by?.startsWith("usr_") ? <UserName id={by} /> : (by ?? "nobody"),
    },
    {
      id: "steps",
      head: "Steps",
      cell: ({ steps }) => steps.length,
      isNumber: true,
      width: "6rem",
    },
  ];
  return (
    <>
      <ListView
        label="Versions"
        list={list}
        columns={columns}
        rowId={({ version }) => String(version)}
        openId={shown && String(shown.version)}
        onOpen={(id) => setShown(list.rows.find(({ version }) => String(version) === id))}
        empty={<EmptyState title="No versions">Each change of the steps makes one.</EmptyState>}
      />
      <Dialog
        isOpen={shown !== undefined}
        onClose={() => setShown(undefined)}
        title={`Version ${shown?.version ?? ""}`}
        isWide
      >
        {shown !== undefined && (
          <>
            <CodeBlock
              label={`Version ${shown.version}`}
              text={formatJson({
                triggers: shown.triggers as JsonValue,
                steps: shown.steps as JsonValue,
              })}
            />
            <div className="flex justify-end">
              <Button
                disabledReason={
                  readOnlyReason ??
                  (shown.version === workflow.version ? "It is the version of now." : undefined)
                }
                onClick={() => {
                  setRestoring(shown);
                  setShown(undefined);
                }}
              >
                Restore version {shown.version}
              </Button>
            </div>
          </>
        )}
      </Dialog>
      <ConfirmDialog
        isOpen={restoring !== undefined}
        onClose={() => setRestoring(undefined)}
        title={`Restore version ${restoring?.version ?? ""} of ${workflow.name}?`}
        action="Restore version"
        onConfirm={async () => {
          const restored = await change.mutateAsync({
            triggers: restoring?.triggers ?? [],
            steps: restoring?.steps ?? [],
            if_version: workflow.version,
          });
          onSaved(restored);
          showToast(`Version ${restoring?.version} is restored as version ${restored.version}`);
        }}
      >
        Its steps and triggers become a new version; runs that are accepted keep theirs.
        {draft.isDirty && " Your changes that are not saved are lost."}
      </ConfirmDialog>
    </>
  );
}
