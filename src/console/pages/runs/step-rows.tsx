import { ApiError } from "../../api/errors.ts";
import {
  type FlowRow,
  useStepRows,
  type WorkflowRunWithSteps,
} from "../../api/queries/workflow-runs.ts";
import { countOf } from "../../lib/count.ts";
import { inLine } from "../../lib/json/json-format.ts";
import type { JsonValue } from "../../lib/json/json-schema.ts";
import { csvAddress } from "../../lib/tables/csv.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";

interface StepRowsProps {
  readonly run: WorkflowRunWithSteps;
  readonly step: string;
  readonly output: string;
  /** How many there are by now. */
  readonly rows: number;
}

const LINK =
  "inline-flex min-h-(--control) items-center rounded-md border border-edge bg-surface px-3 font-medium hover:bg-sunken";
const MOST_COLUMNS = 30;
const LONGEST = 500;

/** The rows of an output as a table, and all of them as a file. */
export function StepRows({ run, step, output, rows }: StepRowsProps) {
  const list = useStepRows({ runId: run.runId, step, output, rows });
  const isGone = list.error instanceof ApiError && list.error.status === 404;
  const path = `/api/pipeline/runs/${run.runId}/steps/${step}/rows`;
  const columns = [...new Set(list.rows.flatMap((row) => Object.keys(row)))];
  return (
    <section aria-label={`Rows of ${step}`} className="grid min-w-0 gap-3">
      <h3 className="font-medium">{countOf(list.total ?? rows, "row")}</h3>
      {list.isLoading && <Skeleton shape="rows" count={3} label="The rows are loading" />}
      {isGone && (
        <p className="text-muted">
          Its rows were deleted, by keep_rows or by WORKFLOW_ROWS_RETENTION_DAYS.
        </p>
      )}
      {list.error !== null && !isGone && (
        <ErrorCard what="The rows could not be loaded" error={list.error} onRetry={list.retry} />
      )}
      {list.rows.length > 0 && (
        <>
          <RowTable label={`Rows of ${step}`} columns={columns} rows={list.rows} />
          {columns.length > MOST_COLUMNS && (
            <p className="text-sm text-muted">
              {columns.length - MOST_COLUMNS} more columns are in the files.
            </p>
          )}
          <div className="flex flex-wrap gap-2">
            {list.hasMore && <Button onClick={list.more}>Show more rows</Button>}
            <a className={LINK} href={csvAddress(path, { output })} download>
              Save CSV
            </a>
            <a
              className={LINK}
              href={`${path}?${new URLSearchParams({ format: "ndjson", output })}`}
              download
            >
              Save NDJSON
            </a>
          </div>
        </>
      )}
    </section>
  );
}

interface RowTableProps {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly FlowRow[];
}

function RowTable({ label, columns, rows }: RowTableProps) {
  const shown = columns.slice(0, MOST_COLUMNS);
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
      tabIndex={0}
      className="max-h-96 overflow-auto rounded-lg border border-line"
    >
      <table className="border-collapse text-sm">
        <thead className="sticky top-0 bg-surface">
          <tr>
            <th
              scope="col"
              className="border-b border-line px-2 py-1 text-end font-medium text-muted"
            >
              #
            </th>
            {shown.map((name) => (
              <th
                key={name}
                scope="col"
                className="border-b border-line px-2 py-1 text-start font-medium text-muted"
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no ids and keep their places
            <tr key={index} className="border-b border-line last:border-b-0">
              <td className="px-2 py-1 text-end text-muted">{index + 1}</td>
              {shown.map((name) => (
                <td key={name} className="max-w-72 truncate px-2 py-1" title={textOf(row[name])}>
                  {textOf(row[name])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function textOf(value: unknown): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : inLine(value as JsonValue);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
