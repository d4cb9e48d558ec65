import type { Tokens } from "marked";
import { type ReactNode, useState } from "react";
import { formatExact } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";

interface AnswerTableProps {
  readonly table: Tokens.Table;
  /** Draws what stands in a cell. */
  readonly inside: (cell: Tokens.TableCell) => ReactNode;
}

/** Columns, and cells of all rows, that are shown before somebody asks for more: browsers lay out whole tables. */
const SHOWN_COLUMNS = 30;
const SHOWN_CELLS = 1_000;
const LEAST_ROWS = 10;

/** A table of an answer. Its first rows and columns are shown, and more of them when somebody asks. */
export function AnswerTable({ table, inside }: AnswerTableProps) {
  const { header, rows, align } = table;
  const [columns, setColumns] = useState(SHOWN_COLUMNS);
  const [steps, setSteps] = useState(1);
  const step = Math.max(LEAST_ROWS, Math.floor(SHOWN_CELLS / Math.min(header.length, columns)));
  const moreRows = rows.length - steps * step;
  const moreColumns = header.length - columns;
  const cells = (row: readonly Tokens.TableCell[], Cell: "th" | "td") =>
    row.slice(0, columns).map((cell, index) => (
      <Cell
        // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
        key={index}
        data-align={align[index] ?? "start"}
        {...(Cell === "th" && { scope: "col" })}
      >
        {inside(cell)}
      </Cell>
    ));
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section className="answer-table" tabIndex={0} aria-label="Table">
        <table>
          <thead>
            <tr>{cells(header, "th")}</tr>
          </thead>
          <tbody>
            {rows.slice(0, steps * step).map((row, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no names, and only the last one changes
              <tr key={index}>{cells(row, "td")}</tr>
            ))}
          </tbody>
        </table>
      </section>
      {(moreRows > 0 || moreColumns > 0) && (
        <div className="flex flex-wrap gap-2">
          {moreRows > 0 && (
            <Button onClick={() => setSteps(steps + 1)}>
              Show more of {formatExact(moreRows)} rows
            </Button>
          )}
          {moreColumns > 0 && (
            <Button onClick={() => setColumns(columns + SHOWN_COLUMNS)}>
              Show more of {formatExact(moreColumns)} columns
            </Button>
          )}
        </div>
      )}
    </>
  );
}
