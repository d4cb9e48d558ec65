import { EllipsisVertical } from "lucide-react";
import { type FlowStep, joinSource } from "../../../lib/workflow-graph.ts";
import { deleteStep } from "../../../lib/workflow-text.ts";
import { IconButton } from "../../../ui/buttons/icon-button.tsx";
import { Menu } from "../../../ui/overlays/menu.tsx";
import { EmptyState } from "../../../ui/status/empty-state.tsx";
import { StatusDot } from "../../../ui/status/status-dot.tsx";
import { Table } from "../../../ui/tables/table.tsx";
import type { Column } from "../../../ui/tables/table-column.ts";
import type { ViewProps } from "../editor/editor-props.ts";
import { panelOfStep } from "../editor/panel.ts";
import { stopReason } from "../editor/stop-reason.ts";
import { faultsOfStep } from "./graph-view.tsx";

/** The steps as a list: everything that the graph does, by keyboard. */
export function ListSteps(props: ViewProps) {
  const { draft, kinds, panel, onOpen, onReplaced, onAdd } = props;
  const { document } = draft;
  const { steps } = document;
  const stop = stopReason(props);
  const labelOf = (kind: string) => kinds?.data.find((one) => one.kind === kind)?.label ?? kind;
  if (steps.length === 0) {
    return (
      <EmptyState title="No steps yet">
        Rows come from a source such as input, and pass from step to step.
      </EmptyState>
    );
  }
  const columns: ReadonlyArray<Column<FlowStep>> = [
    { id: "id", head: "Step", cell: ({ id, at }) => id || `steps[${at}]` },
    { id: "kind", head: "Kind", cell: ({ kind }) => <span title={kind}>{labelOf(kind)}</span> },
    {
      id: "from",
      head: "Reads from",
      cell: ({ inputs }) => inputs.map(joinSource).join(", ") || "nothing",
    },
    {
      id: "faults",
      head: "Faults",
      cell: ({ at }) => {
        const { length } = faultsOfStep(draft, at);
        return length === 0 ? "none" : <StatusDot tone="bad">{length}</StatusDot>;
      },
      width: "6rem",
    },
  ];
  return (
    <Table
      label="Steps"
      columns={columns}
      rows={steps}
      rowId={({ at }) => String(at)}
      openId={panel?.kind === "step" ? String(panel.at) : undefined}
      onOpen={(at) => onOpen(panelOfStep(document, Number(at)))}
      actions={({ id, at }) => (
        <Menu
          trigger={<IconButton icon={EllipsisVertical} label={`Actions of step ${id}`} isPlain />}
          items={[
            { label: "Open step", run: () => onOpen(panelOfStep(document, at)) },
            { label: "Add step after…", disabledReason: stop, run: () => onAdd(at) },
            {
              label: "Delete step",
              isDanger: true,
              disabledReason: stop,
              run: () => {
                onReplaced("");
                draft.edit((text) => deleteStep(text, at));
              },
            },
          ]}
        />
      )}
    />
  );
}
