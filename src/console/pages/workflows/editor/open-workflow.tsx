import { useEffect, useRef, useState } from "react";
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
import type { Sent } from "./editor-props.ts";
import { useDraft } from "./use-draft.ts";
import { WorkflowEditor } from "./workflow-editor.tsx";

interface OpenWorkflowProps {
  readonly id: string;
  /** What was typed into it while it was being created. */
  readonly later: string | undefined;
  /** Called when it was deleted. */
  readonly onGone: () => void;
  /** Goes on with a text as a new workflow. */
  readonly onRenew: (text: string) => void;
}

/** A workflow that is saved. */
export function OpenWorkflow({ id, later, onGone, onRenew }: OpenWorkflowProps) {
  const { data: workflow, error, refetch, dataUpdatedAt } = useWorkflow(id);
  const isUnknown = error instanceof ApiError && error.status === 404;
  if (workflow !== undefined) {
    return (
      <>
        {error !== null && !isUnknown && (
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
        <Saved workflow={workflow} isGone={isUnknown} {...{ later, onGone, onRenew }} />
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

interface SavedProps extends Omit<OpenWorkflowProps, "id"> {
  readonly workflow: Workflow;
  readonly isGone: boolean;
}

function Saved({ workflow, isGone, later, onGone, onRenew }: SavedProps) {
  const session = useSession().data;
  const text = workflowText(workflow);
  const draft = useDraft(text, { typed: later });
  // What it was when the draft began: a later version is somebody else's.
  const [base, setBase] = useState({ workflow, text });
  const [issued, setIssued] = useState<IssuedWebhook>();
  const begin = (saved: Workflow, sent?: Sent) => {
    const { known } = sent ?? { known: saved };
    setBase({ workflow: known, text: workflowText(known) });
    const next = workflowText(saved);
    if (sent === undefined) draft.reset(next);
    else draft.settle(next, sent.text);
    const { webhook } = saved;
    const isShown = webhook?.secret !== undefined || (webhook?.auth === "url" && webhook.path);
    if (webhook !== null && isShown) {
      setIssued({ ...webhook, workflowId: saved.id, name: saved.name });
    }
  };
  const isOutdated = text !== base.text;
  useEffect(() => {
    if (isOutdated && !draft.isDirty) {
      setBase({ workflow, text });
      draft.reset(text);
    }
  });
  const isOwn = session !== undefined && workflow.owner_id === session.id;
  const mayChange = session?.role === "admin" || isOwn;
  return (
    <>
      <WorkflowEditor
        draft={draft}
        saved={{ workflow, base: base.workflow, isOutdated: isOutdated && draft.isDirty, isGone }}
        readOnlyReason={
          mayChange ? undefined : "It is shared with you: its owner or an administrator changes it."
        }
        onSaved={begin}
        onIssued={setIssued}
        onGone={onGone}
        onRenew={onRenew}
      />
      <WebhookDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}

interface NewWorkflowProps {
  readonly text: string;
  /** Called with what was typed since it was sent, where something was. */
  readonly onSaved: (id: string, later: string | undefined) => void;
}

/** A workflow that is not saved yet. */
export function NewWorkflow({ text, onSaved }: NewWorkflowProps) {
  const [saved, setSaved] = useState<{ readonly id: string; readonly sent: string }>();
  const draft = useDraft(text, { isNew: saved === undefined });
  const [issued, setIssued] = useState<IssuedWebhook>();
  const create = useCreateWorkflow();
  const isHandedOver = useRef(false);
  useEffect(() => {
    if (saved === undefined || issued !== undefined || isHandedOver.current) return;
    // What was typed meanwhile goes with it, and the guard of unsaved changes sees first that nothing is lost.
    if (draft.isDirty) return draft.reset(draft.text);
    isHandedOver.current = true;
    onSaved(saved.id, draft.text === saved.sent ? undefined : draft.text);
  });
  return (
    <>
      <WorkflowEditor
        draft={draft}
        saved={undefined}
        readOnlyReason={undefined}
        create={(body) => create.mutateAsync(body)}
        onSaved={(workflow, { text: sent } = { text: draft.text, known: workflow }) => {
          const { webhook } = workflow;
          if (webhook !== null) {
            setIssued({ ...webhook, workflowId: workflow.id, name: workflow.name });
          }
          draft.settle(sent, sent);
          setSaved({ id: workflow.id, sent });
          showToast(`Workflow ${workflow.name} is created`);
        }}
        onIssued={setIssued}
        onGone={() => undefined}
        onRenew={() => undefined}
      />
      <WebhookDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}
