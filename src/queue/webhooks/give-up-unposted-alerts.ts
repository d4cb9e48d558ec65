import type { Settings } from "../../config/settings.ts";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import { giveUpEvents } from "../give-up-events.ts";

/** What a replica with an address has not tried for so long is nobody's; it is also the pause between two looks. */
const OVERDUE_MS = 600_000;
const REASON =
  "ALERT_WEBHOOK_URL is not set: set it and restart, then redeliver the event if it still matters";

export interface GiveUpUnpostedAlertsOptions {
  readonly settings: Pick<Settings, "REDIS_URL">;
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Gives up the alerts that an earlier configuration has left to be posted: the only replica all of them now, one of
 * several those alone, now and from time to time, that no other posts. They are kept as given up for a while, for
 * somebody to see.
 */
export function giveUpUnpostedAlerts(options: GiveUpUnpostedAlertsOptions): {
  readonly stop: () => void;
} {
  const { settings, db, clock, log } = options;
  // Without it, this is the only replica.
  const areOthers = settings.REDIS_URL !== undefined;
  const giveUp = async (dueBefore: number | undefined) => {
    try {
      const now = clock.now();
      const events = await giveUpEvents(db, {
        sink: "alert_webhook",
        dueBefore,
        reason: REASON,
        now,
      });
      if (events > 0) log.warn({ events, reason: REASON }, "stored alerts are given up");
    } catch (thrown) {
      const cause = toDatabaseError(thrown).message;
      log.warn({ cause }, "stored alerts could not be given up; they will be in a while");
    }
  };
  const giveUpOverdue = () => giveUp(clock.now() - OVERDUE_MS);
  void (areOthers ? giveUpOverdue() : giveUp(undefined));
  return repeat(OVERDUE_MS, giveUpOverdue);
}
