import type { UpstreamFigures } from "../../backends/upstream/upstream-figures.ts";
import type { Database } from "../../db/database.ts";
import type { OpenCalls } from "../../gateway/open-calls.ts";
import type { License } from "../../license/license.ts";
import type { GuardedLimits } from "../../limits/guard-limits.ts";
import type { OpenUsageJournal } from "../../usage/journal/open-usage-journal.ts";
import type { DailyReconciliation } from "../../usage/sums/daily-reconciliation.ts";
import type { UsageUpkeep } from "../../usage/sums/usage-upkeep.ts";
import type { Figures } from "./figures.ts";
import type { ProcessFigures } from "./process-figures.ts";
import type { StoredFigures } from "./stored-figures.ts";

/** What is asked at the moment of a scrape, from memory. */
export interface LiveParts extends Figures {
  readonly version: string;
  readonly backend: string;
  readonly license: Pick<License, "state">;
  readonly limits: Pick<GuardedLimits, "openReservations" | "isAvailable">;
  readonly database: Pick<Database, "figures">;
  readonly journal: Pick<
    OpenUsageJournal,
    "unflushedRecords" | "oldestUnflushedAgeSeconds" | "isRefusing"
  >;
  readonly openCalls: Pick<OpenCalls, "count" | "streams">;
  /** The local engine's come first. */
  readonly upstreams: readonly UpstreamFigures[];
  readonly usageUpkeep: Pick<UsageUpkeep, "figures">;
  readonly usageReconciliation: Pick<DailyReconciliation, "figures">;
}

/** All figures of one scrape. */
export interface Snapshot extends LiveParts {
  /** As the database last told them; undefined before it did. */
  readonly stored: StoredFigures | undefined;
  /** The database told them for this scrape. */
  readonly isDatabaseUp: boolean;
  /** Seconds since it did last, or since the start. */
  readonly storedAgeSeconds: number;
  /** The local engine answers. */
  readonly isEngineUp: boolean;
  readonly process: ProcessFigures;
}
