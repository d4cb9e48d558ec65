import type { UsageRow } from "../../api/queries/usage.ts";
import { formatExact } from "../../lib/count.ts";
import { Link } from "../../ui/navigation/link.tsx";
import type { Column } from "../../ui/tables/table-column.ts";
import { Count, Duration } from "../../ui/text/count.tsx";
import { GROUPS, type Group, idOfRow, nameOfRow, type ViewState } from "./usage-view.ts";

/** The columns of the table; names lead to the requests behind them, with the filters of this page. */
export function usageColumns(group: Group, state: ViewState): ReadonlyArray<Column<UsageRow>> {
  const head = GROUPS.find(({ value }) => value === group)?.head ?? "Model";
  const columns: ReadonlyArray<Column<UsageRow>> = [
    { id: "name", head, cell: (row) => <Name row={row} group={group} state={state} /> },
    {
      ...{ id: "requests", head: "Requests", sort: "requests", width: "7rem", isNumber: true },
      cell: (row) => formatExact(row.requests),
    },
    {
      ...{ id: "input", head: "Input", sort: "input_tokens", width: "7rem", isNumber: true },
      cell: (row) => <Count value={row.input_tokens} />,
    },
    {
      ...{ id: "output", head: "Output", sort: "output_tokens", width: "7rem", isNumber: true },
      cell: (row) => <Count value={row.output_tokens} />,
    },
    {
      ...{ id: "cached", head: "Cached", sort: "cached_tokens", width: "7rem", isNumber: true },
      cell: (row) => <Count value={row.cached_tokens} />,
      isWideOnly: true,
    },
    {
      ...{ id: "failed", head: "Failed", sort: "failures", width: "6rem", isNumber: true },
      cell: (row) => formatExact(row.failures),
    },
    {
      ...{ id: "refused", head: "Refused", width: "6rem", isNumber: true, isWideOnly: true },
      cell: (row) => <Count value={row.refused} />,
    },
    {
      ...{ id: "average", head: "Average", width: "7rem", isNumber: true },
      cell: (row) => <Duration value={row.average_latency_ms} />,
    },
  ];
  // What limits refuse is not known by model.
  return columns.filter(({ id }) => id !== "refused" || group !== "model");
}

interface NameProps {
  readonly row: UsageRow;
  readonly group: Group;
  readonly state: ViewState;
}

function Name({ row, group, state }: NameProps) {
  const id = idOfRow(row, group);
  const name = nameOfRow(row, group);
  if (id === "") return <span className="text-muted">{name}</span>;
  const { range, until, model, key, user, channel } = state;
  const search = { range, until, model, key, user, channel, [group]: id };
  const given = Object.entries(search).filter(([, value]) => value !== "");
  return (
    <Link to="/requests" search={Object.fromEntries(given)}>
      <span title={id}>{name}</span>
    </Link>
  );
}
