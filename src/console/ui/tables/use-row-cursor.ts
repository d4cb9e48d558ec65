import { useState } from "react";
import { useKeys } from "../use-keys.ts";
import { COVERED } from "../use-media.ts";

interface RowCursor {
  /** The row that Tab reaches. */
  readonly active: number;
  readonly setActive: (index: number) => void;
}

interface Moving<Row> {
  readonly rows: readonly Row[];
  readonly rowId: (row: Row) => string;
  readonly openId: string | undefined;
  readonly onOpen: ((id: string) => void) | undefined;
  /** Brings a row into sight and focuses it. */
  readonly focusRow: (index: number) => void;
}

/** j and k: the rows one by one; while a row is open they open its neighbours. */
export function useRowCursor<Row>(moving: Moving<Row>): RowCursor {
  const { rows, rowId, openId, onOpen, focusRow } = moving;
  const [chosen, setActive] = useState(0);
  const active = Math.min(chosen, Math.max(0, rows.length - 1));
  const move = (step: number) => {
    const isInRows = document.activeElement?.closest("[data-rows]") != null;
    const from = openId === undefined ? active : rows.findIndex((row) => rowId(row) === openId);
    const next = Math.max(0, Math.min(rows.length - 1, isInRows || openId ? from + step : active));
    const row = rows[next];
    if (row === undefined) return;
    const id = rowId(row);
    setActive(next);
    const isCovered = openId !== undefined && window.matchMedia(COVERED).matches;
    if (!isCovered) focusRow(next);
    if (openId !== undefined && openId !== id) onOpen?.(id);
  };
  const isMovable = onOpen !== undefined && rows.length > 0;
  useKeys(
    isMovable
      ? [
          { keys: "j", label: "Next row", run: () => move(1) },
          { keys: "k", label: "Row before", run: () => move(-1) },
        ]
      : [],
  );
  return { active, setActive };
}
