import { useState } from "react";
import type { StepKind, StepKinds } from "../../../api/queries/workflows.ts";
import type { JsonValue } from "../../../lib/json/json-schema.ts";
import { freeId } from "../../../lib/workflow-graph.ts";
import { addStep } from "../../../lib/workflow-text.ts";
import { ComboboxField } from "../../../ui/forms/combobox.tsx";
import { TextField } from "../../../ui/forms/field.tsx";
import { Form } from "../../../ui/forms/form.tsx";
import { Dialog } from "../../../ui/overlays/dialog.tsx";
import type { Draft } from "../editor/use-draft.ts";

interface AddStepDialogProps {
  /** The step that it stands behind; undefined while the dialog is closed. */
  readonly after: number | undefined;
  readonly draft: Draft;
  readonly kinds: StepKinds | undefined;
  readonly onClose: () => void;
  /** Called with the id of the new step. */
  readonly onAdded: (id: string) => void;
}

/** A step of a kind, with the fields of the kind's example. */
export function AddStepDialog({ after, ...props }: AddStepDialogProps) {
  const before = after === undefined ? undefined : props.draft.document.steps[after];
  return (
    <Dialog
      isOpen={after !== undefined}
      onClose={props.onClose}
      title="Add step"
      description={
        before === undefined
          ? "It becomes the first step."
          : `It stands behind ${before.id}, and reads from it. A step that read from ${before.id} by its place reads from the new one.`
      }
    >
      {after !== undefined && <AddForm {...props} after={after} />}
    </Dialog>
  );
}

function AddForm({
  after,
  draft,
  kinds,
  onClose,
  onAdded,
}: AddStepDialogProps & { readonly after: number }) {
  const { steps } = draft.document;
  const [kind, setKind] = useState(steps.length === 0 ? "input" : "");
  const [typed, setTyped] = useState("");
  const chosen = kinds?.data.find((one) => one.kind === kind);
  const id = typed || (kind === "" ? "" : freeId(kind, steps));
  return (
    <Form
      action="Add step"
      onCancel={onClose}
      disabledReason={reasonOf(
        kind,
        id,
        steps.some((step) => step.id === id),
      )}
      onSubmit={async () => {
        const fields = (chosen?.example ?? {}) as Readonly<Record<string, JsonValue>>;
        draft.edit((text) => addStep(text, after, { id, kind, ...fields }));
        onClose();
        onAdded(id);
      }}
    >
      <ComboboxField
        name="kind"
        label="Kind"
        value={kind}
        onChange={setKind}
        placeholder="Choose a kind"
        choices={(kinds?.data ?? []).map(choiceOf)}
        {...(chosen !== undefined && { hint: chosen.help })}
      />
      <TextField
        name="id"
        label="Id"
        hint="a-z, 0-9 and _, a letter first. Others read from it by this name."
        value={typed}
        placeholder={id}
        onChange={setTyped}
        autoCapitalize="none"
        spellCheck={false}
      />
    </Form>
  );
}

function choiceOf({ kind, label, group, administrators_only: isForAdmins }: StepKind) {
  const hint = isForAdmins ? `${group} · for administrators` : group;
  return { value: kind, label: `${label} · ${kind}`, hint };
}

function reasonOf(kind: string, id: string, isTaken: boolean): string | undefined {
  if (kind === "") return "Choose a kind first.";
  if (isTaken) return `Another step is called ${id}.`;
  return /^[a-z][a-z0-9_]{0,39}$/.test(id)
    ? undefined
    : "The id is a-z, 0-9 and _, a letter first.";
}
