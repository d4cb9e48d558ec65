import { useState } from "react";
import { ApiError } from "../../../api/errors.ts";
import {
  faultsOf,
  type NewWorkflow,
  useChangeWorkflow,
  useValidateWorkflow,
  type Workflow,
} from "../../../api/queries/workflows.ts";
import { sameJson } from "../../../lib/json/json-edit.ts";
import type { JsonValue } from "../../../lib/json/json-schema.ts";
import { changeOf, TEXT_FIELDS } from "../../../lib/workflow-text.ts";
import { focusUnread } from "../../../ui/forms/unread-fields.ts";
import { showToast } from "../../../ui/overlays/toast.tsx";
import type { Saving } from "./editor-props.ts";
import type { Draft } from "./use-draft.ts";

export interface Save {
  readonly isSaving: boolean;
  readonly isChecking: boolean;
  /** What failed but for faults of the definition. */
  readonly failure: { readonly what: string; readonly error: unknown } | undefined;
  /** Somebody saved another version meanwhile. */
  readonly isConflict: boolean;
  readonly save: () => Promise<void>;
  /** Saves over what somebody else saved. */
  readonly saveOver: () => Promise<void>;
  readonly validate: () => Promise<void>;
  /** The workflow was deleted: nothing is lost by leaving. */
  readonly isGone: boolean;
  readonly setGone: () => void;
}

interface Failure {
  readonly what: string;
  readonly error: unknown;
  /** The beginning of the draft that it was about. */
  readonly beginning: number;
}

type Fields = Readonly<Record<string, JsonValue>>;

/** Validates and saves a draft, and keeps what went wrong. */
export function useSave({ draft, saved, create, onSaved }: Saving): Save {
  const change = useChangeWorkflow(saved?.workflow.id ?? "");
  const check = useValidateWorkflow();
  const [failed, setFailure] = useState<Failure>();
  // It was about a draft that is gone once another one begins.
  const failure = failed?.beginning === draft.beginnings ? failed : undefined;
  const [isGone, setGone] = useState(false);
  const [isSaving, setSaving] = useState(false);
  const fail = (what: string, error: unknown) => {
    const faults = faultsOf(error);
    draft.setFaults(faults);
    setFailure(faults.length > 0 ? undefined : { what, error, beginning: draft.beginnings });
  };
  /** Sends what differs from a workflow, whose version must be the saved one still. */
  const sendTo = async (before: Workflow | undefined) => {
    if (before === undefined) {
      const workflow = await create?.(draft.document.value as unknown as NewWorkflow);
      return workflow && { workflow, known: workflow };
    }
    const changes = changesOf(draft, before);
    const workflow = await change.mutateAsync({ ...changes, if_version: before.version });
    return { workflow, known: knownAfter(workflow, before, changes) };
  };
  const send = async (before: Workflow | undefined) => {
    if (draft.fault !== undefined || isSaving || focusUnread(document)) return;
    setSaving(true);
    setFailure(undefined);
    try {
      const { text } = draft;
      const sent = await sendTo(before);
      draft.setFaults([]);
      if (sent === undefined) return;
      const { workflow, known } = sent;
      onSaved(workflow, { text, known });
      if (saved !== undefined) {
        showToast(`Workflow ${workflow.name} is saved as version ${workflow.version}`);
      }
    } catch (error) {
      fail("The workflow was not saved", error);
    } finally {
      setSaving(false);
    }
  };
  const error = failure?.error;
  return {
    isSaving,
    isChecking: check.isPending,
    failure,
    isConflict: error instanceof ApiError && error.code === "version_conflict",
    // What the draft left as it was stays as others have changed it since.
    save: () => send(saved?.base),
    saveOver: () => send(saved?.workflow),
    async validate() {
      if (focusUnread(document)) return;
      setFailure(undefined);
      try {
        await check.mutateAsync(draft.document.value as unknown as NewWorkflow);
        draft.setFaults([]);
        showToast("The definition is right: it can be saved");
      } catch (thrown) {
        fail("The workflow was not checked", thrown);
      }
    },
    isGone,
    setGone: () => setGone(true),
  };
}

/** Returns an answer with what was not sent as it was known before: others may have changed that. */
function knownAfter(answer: Workflow, before: Workflow, sent: Fields): Workflow {
  const known = before as unknown as Fields;
  const left = TEXT_FIELDS.filter((field) => !Object.hasOwn(sent, field));
  return { ...answer, ...Object.fromEntries(left.map((field) => [field, known[field]])) };
}

/** Only what differs is sent: a change of triggers or steps makes a version, and some fields are for administrators. */
function changesOf({ document }: Draft, workflow: Workflow): Fields {
  const now = workflow as unknown as Fields;
  const changes = Object.entries(changeOf(document)).filter(
    ([field, value]) => now[field] === undefined || !sameJson(value, now[field] ?? null),
  );
  return Object.fromEntries(changes);
}
