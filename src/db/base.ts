import type { Settings } from "../config/settings.ts";
import type { Log } from "../lib/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Database } from "./database.ts";

/** What every area is opened with. */
export interface Base {
  readonly settings: Settings;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}
