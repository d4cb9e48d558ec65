import { Suspense, useEffect, useState } from "react";
import { type Assistant, useChangeAssistant } from "../../api/queries/assistants.ts";
import { useSession } from "../../api/queries/session.ts";
import { withLaterEdits } from "../../lib/later-edits.ts";
import { TextAreaField, TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { UnsavedGuard } from "../../ui/forms/unsaved-guard.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { changesOf, draftFault, isSame, toDraft } from "./assistant-draft.ts";
import { ModelField } from "./model-field.tsx";

// The page would be too large with them.
const MoreFields = lazyPart(async () => (await import("./more-fields.tsx")).MoreFields);

interface AssistantFormProps {
  readonly assistant: Assistant;
  /** Why it cannot be changed. */
  readonly readOnly: string | undefined;
  readonly onUnsaved: (isUnsaved: boolean) => void;
}

/** All fields of an assistant. Only those that differ are sent, so that what others change meanwhile stays. */
export function AssistantForm({ assistant, readOnly, onUnsaved }: AssistantFormProps) {
  const [before, setBefore] = useState(() => toDraft(assistant));
  const [draft, setDraft] = useState(before);
  const isAdmin = useSession().data?.role === "admin";
  const change = useChangeAssistant(assistant.id);
  const isUnsaved = !isSame(draft, before);
  useEffect(() => onUnsaved(isUnsaved), [isUnsaved, onUnsaved]);
  const part = {
    draft,
    set: (changed: Partial<typeof draft>) => setDraft((now) => ({ ...now, ...changed })),
  };
  const { set } = part;
  return (
    <Form
      action="Save assistant"
      disabledReason={
        readOnly ?? (isUnsaved ? draftFault(draft) : undefined) ?? noChange(isUnsaved)
      }
      onSubmit={async () => {
        const saved = toDraft(await change.mutateAsync(changesOf(draft, before)));
        setBefore(saved);
        setDraft((now) => withLaterEdits(now, { sent: draft, saved }));
        showToast(`Assistant ${saved.name} is changed`);
      }}
    >
      <UnsavedGuard
        isUnsaved={isUnsaved}
        what={`The changes of ${draft.name || "the assistant"}`}
      />
      <TextField
        name="name"
        label="Name"
        hint="Programs call it by this name, as a model. Without one it has its id."
        value={draft.name}
        onChange={(name) => set({ name })}
      />
      <TextField
        name="description"
        label="Description"
        hint="People see it where they choose a model."
        value={draft.description}
        onChange={(description) => set({ description })}
      />
      <ModelField value={draft.model} onChange={(model) => set({ model })} />
      <TextAreaField
        name="instructions"
        label="Instructions"
        hint="They stand before what a client says."
        rows={10}
        value={draft.instructions}
        onChange={(instructions) => set({ instructions })}
      />
      <Suspense fallback={<Skeleton shape="lines" label="Knowledge and tools are loading" />}>
        <MoreFields {...part} isAdmin={isAdmin} />
      </Suspense>
      {isAdmin && (
        <SelectField
          name="ext.visibility"
          label="Who may use it"
          value={draft.visibility}
          onChange={(visibility) => set({ visibility })}
          choices={[
            { value: "private", label: "Its owner and administrators" },
            { value: "everyone", label: "Everyone" },
          ]}
        />
      )}
    </Form>
  );
}

function noChange(isUnsaved: boolean): string | undefined {
  return isUnsaved ? undefined : "Nothing is changed yet.";
}
