import type { JsonSchema, JsonValue } from "../../../lib/json/json-schema.ts";
import { describeTrigger } from "../../../lib/trigger-words.ts";
import { setTrigger } from "../../../lib/workflow-text.ts";
import { SchemaForm } from "../../../parts/schema/schema-form.tsx";
import { Button } from "../../../ui/buttons/button.tsx";
import { SidePanel } from "../../../ui/overlays/side-panel.tsx";
import type { ViewProps } from "../editor/editor-props.ts";
import { stopReason } from "../editor/stop-reason.ts";

interface TriggerPanelProps extends ViewProps {
  readonly at: number;
  readonly onClose: () => void;
}

type Fields = Readonly<Record<string, JsonValue>>;

const HELP: Readonly<Record<string, string>> = {
  webhook:
    "Starts it with the rows of a request. The credential is shown when the trigger is saved.",
  schedule: "Starts it at times: cron has 5 or 6 fields, every is a number with s, m or h.",
  file: "Starts it when a file arrives in a watched folder, or was uploaded.",
  knowledge: "Starts it when files were ingested into a vector store.",
  workflow: "Starts it when a run of another workflow ended; * is any.",
  dataset: "Starts it when a dataset changed.",
};

/** One trigger of the definition. */
export function TriggerPanel(props: TriggerPanelProps) {
  const { draft, kinds, at, onReplaced, onClose } = props;
  const stop = stopReason(props);
  const trigger = draft.document.triggers[at] ?? {};
  const kind = String(trigger["kind"] ?? "");
  const schema = (kinds?.triggers as Readonly<Record<string, JsonSchema>> | undefined)?.[kind];
  const { kind: _kind, ...own } = trigger;
  const start = `triggers[${at}]`;
  const faults = Object.fromEntries(
    draft.faults
      .filter(({ field }) => field === start || field.startsWith(`${start}.`))
      .map(({ field, message }) => [field.slice(start.length + 1), message]),
  );
  return (
    <SidePanel title={describeTrigger(trigger)} of={`trigger ${at}`} onClose={onClose}>
      <p className="text-muted">{HELP[kind] ?? "This kind of trigger is unknown."}</p>
      <fieldset disabled={stop !== undefined} className="grid min-w-0 gap-6">
        {schema !== undefined && (
          <SchemaForm
            key={`${kind} ${at}`}
            label="Fields of the trigger"
            schema={withoutKind(schema)}
            value={own}
            faults={faults}
            onChange={(next) =>
              draft.edit((text) => setTrigger(text, at, { kind, ...(next as Fields) }))
            }
            hasNoJson
          />
        )}
      </fieldset>
      <div>
        <Button
          look="danger"
          disabledReason={stop}
          onClick={() => {
            onReplaced("");
            draft.edit((text) => setTrigger(text, at, undefined));
          }}
        >
          Delete trigger
        </Button>
      </div>
    </SidePanel>
  );
}

function withoutKind(schema: JsonSchema): JsonSchema {
  const { kind: _kind, ...properties } = (schema["properties"] ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const required = (schema["required"] ?? []) as readonly string[];
  return { ...schema, properties, required: required.filter((name) => name !== "kind") };
}
