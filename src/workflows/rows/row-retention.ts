import type { Settings } from "../../config/settings.ts";
import { DAY_MS, dayOf } from "../../db/days/day-table.ts";
import type { Clock } from "../../lib/time/clock.ts";

type RowSettings = Pick<Settings, "WORKFLOW_ROWS_RETENTION_DAYS" | "WORKFLOW_RUN_RETENTION_DAYS">;

/** What decides until when rows are kept. */
export interface RowRetention {
  readonly settings: RowSettings;
  readonly clock: Clock;
}

interface RunOfDay {
  /** Its UTC day, as `2026-11-23`. */
  readonly day: string;
  readonly endedAt: Date | null;
  readonly rowsDropped: boolean;
}

/** Rows without a record of their run could not be found. */
export function rowRetentionDays(settings: RowSettings): number {
  return Math.min(settings.WORKFLOW_ROWS_RETENTION_DAYS, settings.WORKFLOW_RUN_RETENTION_DAYS);
}

/**
 * Returns the record of a run that tells whether its rows were deleted: as its workflow says, or, once it has ended, with
 * all rows of their day, of which the stored record knows nothing.
 */
export function withRowState<Run extends RunOfDay>(
  run: Run,
  { settings, clock }: RowRetention,
): Run {
  const first = new Date(dayOf(clock.now()) - rowRetentionDays(settings) * DAY_MS);
  const isOver = run.endedAt !== null && run.day < first.toISOString().slice(0, 10);
  return isOver && !run.rowsDropped ? { ...run, rowsDropped: true } : run;
}
