import { and, between, eq, isNull, not, notInArray, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { alertSuppressions, outboxEvents } from "../../db/tables/outbox.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { enqueue } from "../../queue/enqueue.ts";

const DAY_MS = 86_400_000;
/** Longer than any window that is a length of time. */
const KEEP_MS = 30 * DAY_MS;

export interface Alert {
  /** `key_budget_warning` and so on. */
  readonly type: string;
  /** Human-readable; posted with `&`, `<` and `>` as entities. */
  readonly text: string;
  readonly details: JsonObject;
}

export interface AlertOccasion {
  /** The id of the alert's subject: one alert of a type is sent about it in a window. */
  readonly subject: string;
  /** The window's beginning, in Unix milliseconds. */
  readonly windowFrom: number;
  /** Unix milliseconds. */
  readonly now: number;
  /** False: alerts are only logged. */
  readonly hasWebhook: boolean;
  /** Only logs the alert while another of its type is still to be posted. */
  readonly waitsForItself?: boolean;
}

/**
 * Sends an alert in the caller's transaction, unless one was sent in the same window. Concurrent replicas wait for the
 * first one's row, so exactly one of them sends.
 * @returns whether it is sent, once the transaction is committed. The caller that sent it logs it.
 */
export async function sendAlert(
  transaction: Db,
  { type, text, details }: Alert,
  { subject, windowFrom, now, hasWebhook, waitsForItself = false }: AlertOccasion,
): Promise<boolean> {
  const taken = await transaction
    .insert(alertSuppressions)
    .values({ type, subject, lastSentAt: new Date(now) })
    .onConflictDoUpdate({
      target: [alertSuppressions.type, alertSuppressions.subject],
      set: { lastSentAt: new Date(now), count: sql`${alertSuppressions.count} + 1` },
      // A time further ahead than replicas differ was written under a wrong clock: it suppresses nothing.
      setWhere: not(
        between(alertSuppressions.lastSentAt, new Date(windowFrom), new Date(now + DAY_MS)),
      ),
    })
    .returning({ count: alertSuppressions.count });
  if (taken.length === 0) return false;
  if (!hasWebhook || (waitsForItself && (await isPending(transaction, type)))) return true;
  // The alert may arrive hours later, when the receiver was unavailable.
  const body = {
    text: forChat(text),
    type,
    details: { ...details, at: new Date(now).toISOString() },
  };
  await enqueue(transaction, { topic: "alert_webhook", kind: type, body }, now);
  return true;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Chats such as Slack read `<!channel>` and `<address|text>` as commands, and anybody may choose the name of a key. */
function forChat(text: string): string {
  return text.replaceAll(/[&<>]/g, (character) => ENTITIES[character] ?? character);
}

async function isPending(transaction: Db, type: string): Promise<boolean> {
  const { id, sink, kind, deliveredAt, deadAt } = outboxEvents;
  const [event] = await transaction
    .select({ id })
    .from(outboxEvents)
    .where(and(eq(sink, "alert_webhook"), eq(kind, type), isNull(deliveredAt), isNull(deadAt)))
    .limit(1);
  return event !== undefined;
}

/**
 * Deletes records that suppress nothing any more: alerts sent long ago, and those sent under a clock that was far
 * ahead.
 * @param now Unix milliseconds.
 * @param lasting `type subject` of findings that an alert of any age suppresses.
 */
export async function pruneSuppressions(
  db: Db,
  now: number,
  lasting: readonly string[],
): Promise<void> {
  const { type, subject, lastSentAt } = alertSuppressions;
  await db
    .delete(alertSuppressions)
    .where(
      and(
        not(between(lastSentAt, new Date(now - KEEP_MS), new Date(now + DAY_MS))),
        notInArray(sql`${type} || ' ' || ${subject}`, [...lasting]),
      ),
    );
}
