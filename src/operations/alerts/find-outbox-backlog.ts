import type { AlertRule } from "./alert-rule.ts";

export const OUTBOX_BACKLOG = "event_outbox_backlog";

/**
 * The outbox, when an event is undelivered for longer than ALERT_EVENT_OUTBOX_AGE_SEC. Alerts of this type do not
 * count: when it is their own receiver that is away, they would be the backlog that they tell of.
 */
export const findOutboxBacklog: AlertRule["find"] = async (facts, settings, now) => {
  const limitSeconds = settings.ALERT_EVENT_OUTBOX_AGE_SEC;
  const overdue = await facts.overdueEvents(now - limitSeconds * 1_000, OUTBOX_BACKLOG);
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
};
