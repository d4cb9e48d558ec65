import type { Settings } from "../config/settings.ts";
import type { AlertRule } from "../core/part.ts";
import type { Db } from "../db/context.ts";
import { overdueEvents } from "./figures.ts";

const OUTBOX_BACKLOG = "event_outbox_backlog";
const HOUR_MS = 3_600_000;

/**
 * Warns of events that are undelivered for longer than ALERT_EVENT_OUTBOX_AGE_SEC. Alerts of this type do not count:
 * while their own receiver is unavailable, they would be the backlog that they report.
 */
export function outboxBacklogAlert(
  db: Db,
  { ALERT_EVENT_OUTBOX_AGE_SEC: limitSeconds }: Pick<Settings, "ALERT_EVENT_OUTBOX_AGE_SEC">,
): AlertRule {
  return {
    type: OUTBOX_BACKLOG,
    window: HOUR_MS,
    waitsForItself: true,
    async find(now) {
      const overdue = await overdueEvents(db, now - limitSeconds * 1_000, OUTBOX_BACKLOG);
      if (overdue.length === 0) return [];
      const count = overdue.reduce((sum, sink) => sum + sink.count, 0);
      const oldest = Math.min(...overdue.map(({ oldestCreatedAt }) => oldestCreatedAt));
      const isOne = count === 1;
      const ageSeconds = Math.floor((now - oldest) / 1_000);
      const what = isOne
        ? `An event is undelivered for ${ageSeconds} s, the limit being ${limitSeconds} s.`
        : `${count} events are undelivered for longer than ${limitSeconds} s, the oldest for ${ageSeconds} s.`;
      return [
        {
          subject: "outbox",
          text: `${what} ${isOne ? "It is" : "They are"} tried on; GET /api/admin/events?state=pending says why.`,
          details: {
            undelivered: count,
            oldest_age_seconds: ageSeconds,
            limit_seconds: limitSeconds,
            sinks: Object.fromEntries(overdue.map(({ sink, count: events }) => [sink, events])),
          },
          over: "no event is undelivered for too long any more",
        },
      ];
    },
  };
}
