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
import { changeOf } from "../../../lib/workflow-text.ts";
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
  const send = async (before: Workflow | undefined) => {
    if (draft.fault !== undefined || isSaving) return;
    setSaving(true);
    setFailure(undefined);
    try {
      const { text, document } = draft;
      const { value } = document;
      const workflow =
        before === undefined
          ? await create?.(value as unknown as NewWorkflow)
          : await change.mutateAsync({ ...changesOf(draft, before), if_version: before.version });
      draft.setFaults([]);
      if (workflow !== undefined) onSaved(workflow, text);
      if (workflow !== undefined && saved !== undefined) {
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

/** Only what differs is sent: a change of triggers or steps makes a version, and some fields are for administrators. */
function changesOf({ document }: Draft, workflow: Workflow): Fields {
  const now = workflow as unknown as Fields;
  const changes = Object.entries(changeOf(document)).filter(
    ([field, value]) => now[field] === undefined || !sameJson(value, now[field] ?? null),
  );
  return Object.fromEntries(changes);
}
