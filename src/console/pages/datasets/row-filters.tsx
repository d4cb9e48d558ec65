import { Download, ListFilter, X } from "lucide-react";
import { useState } from "react";
import { type Dataset, filteredRowsAddress } from "../../api/queries/datasets.ts";
import {
  describeCondition,
  isFiltered,
  type RowFilter,
  writeConditions,
} from "../../lib/tables/row-filter.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { downloadFrom } from "../../ui/buttons/save-file.ts";
import { Select } from "../../ui/forms/select.tsx";
import { OnceOpen } from "../../ui/overlays/once-open.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Time } from "../../ui/text/time.tsx";
import { SMALL, useMedia } from "../../ui/use-media.ts";

const ConditionDialog = lazyPart(
  async () => (await import("./condition-dialog.tsx")).ConditionDialog,
);

interface RowFiltersProps {
  readonly dataset: Dataset;
  readonly filter: RowFilter;
  /** The time of the rows that are shown, in Unix milliseconds; undefined while there are none. */
  readonly asOf: number | undefined;
  readonly onChange: (change: { readonly where?: string; readonly sort?: string }) => void;
}

/** The conditions that rows are shown by, and the way to more of them. */
export function RowFilters({ dataset, filter, asOf, onChange }: RowFiltersProps) {
  const [isAdding, setAdding] = useState(false);
  const isSmall = useMedia(SMALL);
  const { conditions, sort } = filter;
  return (
    <search className="flex flex-wrap items-center gap-2">
      {conditions.map((condition, index) => {
        const text = describeCondition(condition);
        return (
          <Button
            key={text}
            aria-label={`Take away: ${text}`}
            onClick={() => onChange({ where: writeConditions(conditions.toSpliced(index, 1)) })}
          >
            <bdi className="min-w-0 truncate">{text}</bdi>
            <X size={14} aria-hidden className="shrink-0" />
          </Button>
        );
      })}
      <Button onClick={() => setAdding(true)}>
        <ListFilter size={16} aria-hidden />
        Add filter
      </Button>
      {isSmall && (
        <Select
          label="Order"
          value={sort}
          onChange={(next) => onChange({ sort: next })}
          choices={ordersOf(dataset)}
        />
      )}
      {isFiltered(filter) && (
        <>
          <Button look="quiet" onClick={() => onChange({ where: "", sort: "" })}>
            Clear filters
          </Button>
          <Button
            look="quiet"
            onClick={() => downloadFrom(filteredRowsAddress(dataset.name, filter))}
          >
            <Download size={16} aria-hidden />
            Download these rows
          </Button>
          {asOf !== undefined && (
            <span className="text-sm text-muted">
              As of <Time value={asOf} />
            </span>
          )}
        </>
      )}
      <OnceOpen isOpen={isAdding}>
        <ConditionDialog
          isOpen={isAdding}
          onClose={() => setAdding(false)}
          dataset={dataset}
          onAdd={(condition) => onChange({ where: writeConditions([...conditions, condition]) })}
        />
      </OnceOpen>
    </search>
  );
}

/** Cards have no heads to sort by. */
function ordersOf({ columns }: Dataset) {
  return [
    { value: "", label: "As stored" },
    ...columns.flatMap(({ name, type }) =>
      type === "json"
        ? []
        : [
            { value: name, label: `${name}, least first` },
            { value: `-${name}`, label: `${name}, most first` },
          ],
    ),
  ];
}
