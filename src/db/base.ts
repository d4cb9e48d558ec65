import type { Settings } from "../config/settings.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Database } from "./database.ts";

/** What every area is opened with. */
export interface Base {
  readonly settings: Settings;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}
