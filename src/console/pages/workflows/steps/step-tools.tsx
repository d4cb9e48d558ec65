import { Plus, Settings, Zap } from "lucide-react";
import { addTrigger } from "../../../lib/workflow-text.ts";
import { Button } from "../../../ui/buttons/button.tsx";
import { Menu } from "../../../ui/overlays/menu.tsx";
import { useKeys } from "../../../ui/use-keys.ts";
import type { ViewProps } from "../editor/editor-props.ts";
import { stopReason } from "../editor/stop-reason.ts";

/** What a new trigger of a kind begins with. */
const FIRST: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  schedule: { cron: "0 6 * * 1-5", timezone: "UTC" },
  file: { path: "*" },
  knowledge: { vector_store: "" },
  workflow: { workflow: "*" },
  dataset: { dataset: "" },
};

/** What graph and list are changed with. */
export function StepTools(props: ViewProps) {
  const { draft, kinds, panel, onOpen, onAdd } = props;
  const { steps, triggers } = draft.document;
  const stop = stopReason(props);
  const after = panel?.kind === "step" ? panel.at : steps.length - 1;
  useKeys([{ keys: "a", label: "Add a step", run: () => stop === undefined && onAdd(after) }]);
  const trigger = (
    <Button>
      <Zap size={16} aria-hidden />
      Add trigger
    </Button>
  );
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <Button disabledReason={stop} onClick={() => onAdd(after)}>
        <Plus size={16} aria-hidden />
        Add step
      </Button>
      {stop === undefined && (
        <Menu
          trigger={trigger}
          items={Object.keys(kinds?.triggers ?? {}).map((kind) => ({
            label: kind,
            disabledReason:
              kind === "webhook" && triggers.some((one) => one["kind"] === "webhook")
                ? "It has one already."
                : undefined,
            run: () => {
              draft.edit((text) => addTrigger(text, { kind, ...FIRST[kind] }));
              onOpen(`$trigger${triggers.length}`);
            },
          }))}
        />
      )}
      <Button onClick={() => onOpen("$settings")}>
        <Settings size={16} aria-hidden />
        Settings
      </Button>
      {triggers.length > 0 && (
        <ul className="flex flex-wrap gap-2" aria-label="Triggers">
          {triggers.map((one, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: triggers have no ids, and two may be alike
            <li key={at}>
              <Button look="quiet" onClick={() => onOpen(`$trigger${at}`)}>
                <Zap size={14} aria-hidden />
                {String(one["kind"] ?? "trigger")}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
