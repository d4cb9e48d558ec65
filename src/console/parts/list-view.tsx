import type { ReactNode } from "react";
import type { ListState } from "../api/queries/use-list.ts";
import { ErrorCard } from "../ui/error-card.tsx";
import { Skeleton } from "../ui/skeleton.tsx";
import { Table } from "../ui/table.tsx";
import type { RowsProps } from "../ui/table-column.ts";
import { Time } from "../ui/time.tsx";

type Rows<Row> = Omit<RowsProps<Row>, "rows" | "total" | "hasMore" | "onMore">;

interface ListViewProps<Row> extends Rows<Row> {
  readonly list: ListState<Row>;
  /** What is shown where there is nothing, with and without filters. */
  readonly empty: ReactNode;
}

/** A list in each of its states: loading, failed, empty, and its rows, which stay while a refresh fails. */
export function ListView<Row>({ list, empty, ...rows }: ListViewProps<Row>) {
  const { error, isLoading, retry, asOf, searchedFrom } = list;
  if (isLoading) return <Skeleton shape="rows" label={`${rows.label} are loading`} />;
  const what = `${rows.label} could not be loaded`;
  if (list.rows.length === 0 && error !== null) {
    return <ErrorCard what={what} error={error} onRetry={retry} />;
  }
  if (list.rows.length === 0 && !list.hasMore) return empty;
  return (
    <div className="flex min-w-0 flex-1 flex-col gap-2">
      {error !== null && (
        <>
          <ErrorCard what={what} error={error} onRetry={retry} />
          <p className="text-sm text-muted">
            As of <Time value={asOf} />
          </p>
        </>
      )}
      {searchedFrom !== undefined && (
        <p role="status" className="text-sm text-muted">
          Searched back to <Time value={searchedFrom} />, and going on…
        </p>
      )}
      <Table
        {...rows}
        rows={list.rows}
        total={list.total}
        hasMore={list.hasMore}
        onMore={list.more}
      />
    </div>
  );
}
