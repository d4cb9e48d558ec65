import type { Model, ModelFigures } from "../../api/queries/models.ts";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count, Duration } from "../../ui/text/count.tsx";
import { Abilities } from "./abilities.tsx";
import { ModelState } from "./model-state.tsx";

/** A model, and how it has answered; undefined for one that nobody called. */
export interface ModelRow {
  readonly model: Model;
  readonly figures: ModelFigures | undefined;
}

const NARROW: ReadonlySet<string> = new Set(["name", "state", "latency"]);

/** The columns of the list; beside an open model only the first ones have room. */
export function modelColumns(isNarrow: boolean): ReadonlyArray<Column<ModelRow>> {
  return isNarrow ? COLUMNS.filter(({ id }) => NARROW.has(id)) : COLUMNS;
}

const COLUMNS: ReadonlyArray<Column<ModelRow>> = [
  { id: "name", head: "Name", cell: ({ model }) => model.name },
  {
    id: "state",
    head: "State",
    cell: ({ model }) => <ModelState model={model} />,
    width: "8.5rem",
  },
  {
    id: "backend",
    head: "Backend",
    cell: ({ model }) => <Backend model={model} />,
    width: "13.5rem",
  },
  {
    id: "context",
    head: "Context",
    cell: ({ model }) => <Count value={model.context} />,
    isNumber: true,
    width: "5rem",
  },
  {
    id: "abilities",
    head: "Abilities",
    cell: ({ model }) => <Abilities model={model} />,
    width: "10.5rem",
  },
  {
    id: "latency",
    head: "p50 · p95",
    cell: ({ figures }) =>
      figures?.latency_ms_p50 == null ? (
        <Duration value={null} />
      ) : (
        <>
          <Duration value={figures.latency_ms_p50} /> · <Duration value={figures.latency_ms_p95} />
        </>
      ),
    isNumber: true,
    width: "9.5rem",
  },
  {
    id: "first",
    head: "First token",
    cell: ({ figures }) => <Duration value={figures?.first_token_ms_p50} />,
    isNumber: true,
    width: "6rem",
  },
  {
    id: "speed",
    head: "Tokens/s",
    cell: ({ figures }) => <Count value={figures?.tokens_per_second} />,
    isNumber: true,
    width: "5.5rem",
  },
];

/** What answers, and whether words leave the network with it. */
export function Backend({ model }: { readonly model: Model }) {
  if (model.leaves === undefined) return <>{model.backend ?? "none"}</>;
  return (
    <span title={`Messages go to ${model.leaves}.`}>
      {model.backend} <span className="text-warn">leaves this network</span>
    </span>
  );
}
