import { ArrowLeft } from "lucide-react";
import { Suspense, useCallback, useState } from "react";
import { createPortal, flushSync } from "react-dom";
import {
  type Assistant,
  assistantName,
  useAssistant,
  useDeleteAssistant,
} from "../../api/queries/assistants.ts";
import { useSession } from "../../api/queries/session.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { useMedia } from "../../ui/use-media.ts";
import { AssistantForm } from "./assistant-form.tsx";

// What shows answers is large, and the list does not need it.
const TrialChat = lazyPart(async () => (await import("./trial-chat.tsx")).TrialChat);
// The page would be too large with it.
const AssistantUse = lazyPart(async () => (await import("./assistant-use.tsx")).AssistantUse);

/** Below it form and trial do not fit beside each other. */
const NARROW = "(max-width: 1199.98px)";
const WIDE = "grid grid-cols-[minmax(0,1fr)_minmax(24rem,30rem)] items-start gap-6";
const DEFAULTS = { tab: "settings" };

interface AssistantViewProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** One assistant: its form, a trial beside it, and how programs call it. */
export function AssistantView({ id, onClose }: AssistantViewProps) {
  const { data: assistant, error, refetch } = useAssistant(id);
  const [isGone, setGone] = useState(false);
  const leave = () => {
    // The guard of unsaved changes is gone with them, before the view is left.
    flushSync(() => setGone(true));
    onClose();
  };
  return (
    <>
      <div className="flex items-start gap-2">
        <IconButton icon={ArrowLeft} label="Back to all assistants" onClick={onClose} />
        <div className="min-w-0 flex-1">
          <PageHeader
            title={assistant === undefined ? "Assistant" : assistantName(assistant)}
            aside={assistant?.ext.slug}
          >
            {assistant !== undefined && <DeleteButton assistant={assistant} onDeleted={leave} />}
            <CallButton call={{ method: "GET", path: `/v1/assistants/${id}`, credential: "key" }} />
          </PageHeader>
        </div>
      </div>
      {error !== null && (
        <ErrorCard
          what="The assistant could not be loaded"
          error={error}
          onRetry={() => void refetch()}
        />
      )}
      {assistant === undefined && error === null && (
        <Skeleton shape="lines" label="The assistant is loading" />
      )}
      {assistant !== undefined && !isGone && <Parts assistant={assistant} />}
    </>
  );
}

function Parts({ assistant }: { readonly assistant: Assistant }) {
  const isNarrow = useMedia(NARROW);
  const [{ tab }, change] = useUrlState(DEFAULTS);
  const [isUnsaved, setUnsaved] = useState(false);
  const readOnly = useReadOnlyReason(assistant);
  // The trial moves with its element between the two places, so that its chat goes on when the width changes.
  const [host] = useState(() => document.createElement("div"));
  const takeHost = useCallback((place: HTMLElement | null) => place?.append(host), [host]);
  const form = (
    <div className="grid max-w-3xl gap-8">
      {readOnly !== undefined && <p>{readOnly}</p>}
      <AssistantForm assistant={assistant} readOnly={readOnly} onUnsaved={setUnsaved} />
    </div>
  );
  const trial = createPortal(
    <Suspense fallback={<Skeleton shape="block" label="The trial is loading" />}>
      <TrialChat id={assistant.id} name={assistantName(assistant)} isUnsaved={isUnsaved} />
    </Suspense>,
    host,
  );
  const use = (
    <Suspense fallback={<Skeleton shape="block" label="The calls are loading" />}>
      <AssistantUse assistant={assistant} model={assistantName(assistant)} />
    </Suspense>
  );
  const views = [
    { id: "settings", label: "Settings", content: form, isKept: true },
    ...(isNarrow
      ? [{ id: "trial", label: "Trial", content: <div ref={takeHost} />, isKept: true }]
      : []),
    { id: "use", label: "Use", content: use },
  ];
  // One form of elements for both widths: React would begin the form anew, without what was typed.
  return (
    <div className={isNarrow ? "" : WIDE}>
      <Tabs
        label="Views of the assistant"
        value={views.some(({ id }) => id === tab) ? tab : "settings"}
        onChange={(next) => change({ tab: next })}
        tabs={views}
      />
      {!isNarrow && <div ref={takeHost} className="sticky top-6" />}
      {trial}
    </div>
  );
}

function useReadOnlyReason({ ext }: Assistant): string | undefined {
  const session = useSession().data;
  if (session?.role === "admin" || session?.id === ext.owner_id) return undefined;
  return "Only the owner of the assistant and administrators change it.";
}

interface DeleteButtonProps {
  readonly assistant: Assistant;
  readonly onDeleted: () => void;
}

function DeleteButton({ assistant, onDeleted }: DeleteButtonProps) {
  const [isAsking, setAsking] = useState(false);
  const remove = useDeleteAssistant(assistant.id);
  const name = assistantName(assistant);
  return (
    <>
      <Button
        look="danger"
        disabledReason={useReadOnlyReason(assistant)}
        onClick={() => setAsking(true)}
      >
        Delete assistant
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Delete assistant ${name}?`}
        action="Delete assistant"
        typeName={name}
        onConfirm={async () => {
          await remove.mutateAsync();
          onDeleted();
          showToast(`Assistant ${name} is deleted`);
        }}
      >
        Calls by its name go to the default model from then on, and keys that are bound to it get
        404. Its stores and their files stay.
      </ConfirmDialog>
    </>
  );
}
