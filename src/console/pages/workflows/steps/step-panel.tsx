import { useMemo } from "react";
import { isObject, type JsonSchema, type JsonValue } from "../../../lib/json/json-schema.ts";
import { deleteStep, setStep } from "../../../lib/workflow-text.ts";
import { CodeEditor } from "../../../parts/code-editor.tsx";
import type { SchemaFieldProps } from "../../../parts/schema/schema-field.ts";
import { SchemaForm } from "../../../parts/schema/schema-form.tsx";
import { Button } from "../../../ui/buttons/button.tsx";
import { SidePanel } from "../../../ui/overlays/side-panel.tsx";
import { Badge } from "../../../ui/status/badge.tsx";
import { ErrorCard } from "../../../ui/status/error-card.tsx";
import type { SavedWorkflow, ViewProps } from "../editor/editor-props.ts";
import { panelOfStep } from "../editor/panel.ts";
import { stopReason } from "../editor/stop-reason.ts";
import { faultsOfStep } from "./graph-view.tsx";
import { StepNames } from "./step-names.tsx";
import { StepTest } from "./step-test.tsx";

interface StepPanelProps extends ViewProps {
  readonly at: number;
  readonly saved: SavedWorkflow | undefined;
  readonly onClose: () => void;
}

type Fields = Readonly<Record<string, JsonValue>>;

/** Fields of every step that have a place of their own. */
const NAMES = ["id", "kind", "from"];

/** One step: its name, what it reads, its fields, and a test with sample rows. */
export function StepPanel(props: StepPanelProps) {
  const { draft, kinds, at, saved, readOnlyReason, onReplaced, onClose } = props;
  const step = draft.document.steps[at];
  const value = (draft.document.value["steps"] as readonly JsonValue[] | undefined)?.[at];
  const fields = isObject(value) ? (value as Fields) : {};
  const kind = kinds?.data.find((one) => one.kind === step?.kind);
  const common = useMemo(() => withoutNames(kinds?.common), [kinds?.common]);
  if (step === undefined) return null;
  const commonNames = new Set(Object.keys((common["properties"] ?? {}) as object));
  const split = (isCommon: boolean): Fields =>
    Object.fromEntries(
      Object.entries(fields).filter(
        ([name]) => !NAMES.includes(name) && commonNames.has(name) === isCommon,
      ),
    );
  const [own, shared] = [split(false), split(true)];
  const names = Object.fromEntries(Object.entries(fields).filter(([name]) => NAMES.includes(name)));
  const set = (next: JsonValue | undefined, rest: Fields) =>
    draft.edit((text) => setStep(text, at, { ...names, ...rest, ...((next ?? {}) as Fields) }));
  const faults = Object.fromEntries(
    faultsOfStep(draft, at).map(({ field, message }) => [field, message]),
  );
  const stop = stopReason(props);
  const isReadOnly = stop !== undefined;
  const others = Object.entries(faults).filter(([field]) => NAMES.includes(field));
  return (
    <SidePanel title={step.id || `steps[${at}]`} of={`step ${at}`} onClose={onClose}>
      <div className="grid gap-1">
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium">{kind?.label ?? step.kind}</span>
          <Badge>{kind?.group ?? step.kind}</Badge>
          {kind?.needs_key && <Badge>needs a key</Badge>}
        </p>
        <p className="text-muted">{kind?.help}</p>
      </div>
      {draft.fault !== undefined && (
        <p className="text-muted">The text is no JSON yet: nothing can be changed here.</p>
      )}
      {kinds !== undefined && kind === undefined && (
        <ErrorCard
          what="This kind is unknown"
          error={new Error("Its fields are in the JSON alone. Add a step of a kind that there is.")}
        />
      )}
      <fieldset disabled={isReadOnly} className="grid min-w-0 gap-6">
        <StepNames {...props} step={step} faults={Object.fromEntries(others)} />
        {kind !== undefined && (
          <SchemaForm
            key={`own ${at}`}
            label="Fields of the kind"
            schema={kind.schema as JsonSchema}
            value={own}
            faults={faults}
            custom={isReadOnly ? shownSql : sqlEditor}
            onChange={(next) => set(next, shared)}
            hasNoJson
          />
        )}
        <details>
          <summary className="min-h-(--control) cursor-pointer py-1.5 font-medium">
            Errors, retries and time
          </summary>
          <div className="pt-3">
            <SchemaForm
              key={`common ${at}`}
              label="Fields of every step"
              schema={common}
              value={shared}
              faults={faults}
              onChange={(next) => set(next, own)}
              hasNoJson
            />
          </div>
        </details>
      </fieldset>
      {saved !== undefined && (
        <StepTest
          key={step.id}
          step={step}
          workflow={saved.workflow}
          isDirty={draft.isDirty}
          readOnlyReason={readOnlyReason}
        />
      )}
      <div className="flex flex-wrap gap-2">
        <Button disabledReason={stop} onClick={() => props.onAdd(at)}>
          Add step after
        </Button>
        <Button
          look="danger"
          disabledReason={stop}
          onClick={() => {
            const next = at > 0 ? panelOfStep(draft.document, at - 1) : "";
            draft.edit((text) => deleteStep(text, at));
            onReplaced(next);
          }}
        >
          Delete step
        </Button>
      </div>
    </SidePanel>
  );
}

/** Statements of SQL are written in an editor of their own. */
function sqlEditor({ path, label, value, onChange }: SchemaFieldProps, isReadOnly = false) {
  if (path !== "sql" && path !== "select") return undefined;
  if (value !== undefined && typeof value !== "string") return undefined;
  return (
    <div className="grid gap-1" data-field={path}>
      <span className="font-medium">{label}</span>
      <CodeEditor
        label={label}
        language="sql"
        value={value ?? ""}
        onChange={onChange}
        isReadOnly={isReadOnly}
      />
    </div>
  );
}

/** An editor takes no notice of a fieldset that is disabled. */
function shownSql(field: SchemaFieldProps) {
  return sqlEditor(field, true);
}

function withoutNames(schema: JsonSchema | undefined): JsonSchema {
  const properties = Object.entries((schema?.["properties"] ?? {}) as object);
  return {
    ...schema,
    properties: Object.fromEntries(properties.filter(([name]) => !NAMES.includes(name))),
    required: [],
  };
}
