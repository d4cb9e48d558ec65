import { useEffect, useState } from "react";
import { ApiError } from "../../../api/errors.ts";
import { useSession } from "../../../api/queries/session.ts";
import { useCreateWorkflow, useWorkflow, type Workflow } from "../../../api/queries/workflows.ts";
import { workflowText } from "../../../lib/workflow-text.ts";
import { Link } from "../../../ui/navigation/link.tsx";
import { PageHeader } from "../../../ui/navigation/page-header.tsx";
import { showToast } from "../../../ui/overlays/toast.tsx";
import { EmptyState } from "../../../ui/status/empty-state.tsx";
import { ErrorCard } from "../../../ui/status/error-card.tsx";
import { Skeleton } from "../../../ui/status/skeleton.tsx";
import { Time } from "../../../ui/text/time.tsx";
import { type IssuedWebhook, WebhookDialog } from "../triggers/webhook-dialog.tsx";
import { useDraft } from "./use-draft.ts";
import { WorkflowEditor } from "./workflow-editor.tsx";

interface OpenWorkflowProps {
  readonly id: string;
  /** Called when it was deleted. */
  readonly onGone: () => void;
}

/** A workflow that is saved. */
export function OpenWorkflow({ id, onGone }: OpenWorkflowProps) {
  const { data: workflow, error, refetch, dataUpdatedAt } = useWorkflow(id);
  const isUnknown = error instanceof ApiError && error.status === 404;
  if (workflow !== undefined && !isUnknown) {
    return (
      <>
        {error !== null && (
          <>
            <ErrorCard
              what="The workflow could not be refreshed"
              error={error}
              onRetry={() => void refetch()}
            />
            <p className="text-sm text-muted">
              As of <Time value={dataUpdatedAt} hasSeconds />
            </p>
          </>
        )}
        <Saved workflow={workflow} onGone={onGone} />
      </>
    );
  }
  return (
    <>
      <PageHeader title="Workflow" />
      {isUnknown && (
        <EmptyState
          title="There is no such workflow"
          action={<Link to="/workflows">Show the workflows</Link>}
        >
          It was deleted, or it is not shared with you. Its runs are still in the history of its
          owner.
        </EmptyState>
      )}
      {!isUnknown && error === null && <Skeleton shape="block" label="The workflow is loading" />}
      {!isUnknown && error !== null && (
        <ErrorCard
          what="The workflow could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
    </>
  );
}

function Saved({ workflow, onGone }: { readonly workflow: Workflow; readonly onGone: () => void }) {
  const session = useSession().data;
  const text = workflowText(workflow);
  const draft = useDraft(text, false);
  // What it was when the draft began: a later version is somebody else's.
  const [base, setBase] = useState({ version: workflow.version, text });
  const [issued, setIssued] = useState<IssuedWebhook>();
  const begin = (saved: Workflow) => {
    const next = workflowText(saved);
    setBase({ version: saved.version, text: next });
    draft.reset(next);
    const { webhook } = saved;
    const isShown = webhook?.secret !== undefined || (webhook?.auth === "url" && webhook.path);
    if (webhook !== null && isShown) {
      setIssued({ ...webhook, workflowId: saved.id, name: saved.name });
    }
  };
  const isOutdated = text !== base.text;
  useEffect(() => {
    if (isOutdated && !draft.isDirty) {
      setBase({ version: workflow.version, text });
      draft.reset(text);
    }
  });
  const isOwn = session !== undefined && workflow.owner_id === session.id;
  const mayChange = session?.role === "admin" || isOwn;
  return (
    <>
      <WorkflowEditor
        draft={draft}
        saved={{ workflow, version: base.version, isOutdated: isOutdated && draft.isDirty }}
        readOnlyReason={
          mayChange ? undefined : "It is shared with you: its owner or an administrator changes it."
        }
        onSaved={begin}
        onIssued={setIssued}
        onGone={onGone}
      />
      <WebhookDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}

interface NewWorkflowProps {
  readonly text: string;
  readonly onSaved: (id: string) => void;
}

/** A workflow that is not saved yet. */
export function NewWorkflow({ text, onSaved }: NewWorkflowProps) {
  const [saved, setSaved] = useState<Workflow>();
  const draft = useDraft(text, saved === undefined);
  const [issued, setIssued] = useState<IssuedWebhook>();
  const create = useCreateWorkflow();
  // After the guard of unsaved changes has seen that it is saved.
  const isDone = saved !== undefined && issued === undefined;
  useEffect(() => {
    if (saved !== undefined && isDone) onSaved(saved.id);
  }, [saved, isDone, onSaved]);
  return (
    <>
      <WorkflowEditor
        draft={draft}
        saved={undefined}
        readOnlyReason={undefined}
        create={(body) => create.mutateAsync(body)}
        onSaved={(workflow) => {
          const { webhook } = workflow;
          if (webhook !== null) {
            setIssued({ ...webhook, workflowId: workflow.id, name: workflow.name });
          }
          draft.reset(draft.text);
          setSaved(workflow);
          showToast(`Workflow ${workflow.name} is created`);
        }}
        onIssued={setIssued}
        onGone={() => undefined}
      />
      <WebhookDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}
