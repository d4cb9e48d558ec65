import { useMemo } from "react";
import { type Dataset, type DatasetRow, useDatasetRows } from "../../api/queries/datasets.ts";
import { ListView } from "../../parts/list-view.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import type { Column } from "../../ui/table-column.ts";
import { Value } from "../../ui/value-table.tsx";

interface NumberedRow {
  readonly number: number;
  readonly values: DatasetRow;
}

const NUMBERS: ReadonlySet<string> = new Set(["integer", "decimal", "number"]);

/** The rows in their order, fetched as they come into sight. */
export function DatasetRows({ dataset }: { readonly dataset: Dataset }) {
  const list = useDatasetRows(dataset);
  const { rows } = list;
  const numbered = useMemo(
    () => rows.map((values, index): NumberedRow => ({ number: index + 1, values })),
    [rows],
  );
  const columns = useMemo(() => columnsOf(dataset), [dataset]);
  return (
    <ListView
      label="Rows"
      list={{ ...list, rows: numbered, total: dataset.rows }}
      columns={columns}
      rowId={({ number }) => String(number)}
      empty={
        <EmptyState title="No rows yet">
          Import a file, or let a workflow write into it with the step dataset_write.
        </EmptyState>
      }
    />
  );
}

function columnsOf(dataset: Dataset): ReadonlyArray<Column<NumberedRow>> {
  return [
    {
      id: "#",
      head: "Row",
      cell: ({ number }) => <span className="text-muted">{number.toLocaleString("en-GB")}</span>,
      width: "5rem",
      isNumber: true,
    },
    ...dataset.columns.map(
      ({ name, type }): Column<NumberedRow> => ({
        id: name,
        head: name,
        cell: ({ values }) => <Value value={values[name]} />,
        width: "12rem",
        isNumber: NUMBERS.has(type),
      }),
    ),
  ];
}
