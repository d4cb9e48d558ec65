import { Undo2 } from "lucide-react";
import { Button } from "../../../ui/buttons/button.tsx";
import { IconButton } from "../../../ui/buttons/icon-button.tsx";
import { LinkButton } from "../../../ui/navigation/link-button.tsx";
import { PageHeader } from "../../../ui/navigation/page-header.tsx";
import { CallButton } from "../../../ui/overlays/call-dialog.tsx";
import { Badge } from "../../../ui/status/badge.tsx";
import { StatusDot } from "../../../ui/status/status-dot.tsx";
import { useKeys } from "../../../ui/use-keys.ts";
import type { WorkflowEditorProps } from "./editor-props.ts";
import { SavedActions } from "./saved-actions.tsx";
import type { Save } from "./use-save.ts";

interface EditorHeaderProps extends WorkflowEditorProps {
  readonly name: string;
  readonly save: Save;
  readonly onOpenPanel: (panel: string) => void;
}

/** The name of a workflow, its state, and what can be done with it. */
export function EditorHeader(props: EditorHeaderProps) {
  const { draft, saved, readOnlyReason, name, save } = props;
  const isWrong = draft.fault !== undefined;
  const gone = saved?.isGone ? "The workflow is gone: go on with a new one." : readOnlyReason;
  const stop = isWrong ? "The text is no JSON yet: mend the marked line." : gone;
  const nothing = draft.isDirty ? undefined : "Nothing is changed yet.";
  useKeys([{ keys: "mod+s", label: "Save the workflow", run: () => void save.save() }]);
  return (
    <PageHeader
      title={saved?.workflow.name ?? (name || "New workflow")}
      aside={
        <span className="flex flex-wrap items-center gap-3">
          {saved !== undefined && (
            <>
              <StatusDot tone={saved.workflow.enabled ? "ok" : "plain"}>
                {saved.workflow.enabled ? "On" : "Off"}
              </StatusDot>
              <span>v{saved.workflow.version}</span>
            </>
          )}
          {draft.isDirty && <Badge tone="warn">Not saved</Badge>}
        </span>
      }
    >
      {draft.undo !== undefined && (
        <IconButton icon={Undo2} label="Undo the last change" onClick={draft.undo} />
      )}
      <Button
        isBusy={save.isChecking}
        disabledReason={isWrong ? stop : undefined}
        onClick={() => void save.validate()}
      >
        Validate
      </Button>
      <Button
        look="primary"
        isBusy={save.isSaving}
        disabledReason={stop ?? nothing}
        onClick={() => void save.save()}
      >
        Save workflow
      </Button>
      {saved !== undefined && (
        <>
          <SavedActions {...props} saved={saved} />
          <LinkButton to={`/workflows/${saved.workflow.id}/runs`}>Runs</LinkButton>
          <CallButton
            call={{
              method: "GET",
              path: `/api/pipeline/workflows/${saved.workflow.id}`,
              credential: "key",
            }}
          />
        </>
      )}
    </PageHeader>
  );
}
