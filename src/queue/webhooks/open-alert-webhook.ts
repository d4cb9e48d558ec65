import type { Settings } from "../../config/settings.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import { createHttpClient } from "../../lib/http/create-http-client.ts";
import { repeat } from "../../lib/time/repeat.ts";
import { WEBHOOK_PAUSES_MS } from "../backoff.ts";
import { giveUpJobs } from "../end-jobs.ts";
import type { DeliveryFigures } from "../figures.ts";
import { type QueueParts, type TopicWorker, workTopic } from "../work-topic.ts";
import { postWebhook, type Webhook } from "./post-webhook.ts";

/**
 * An alert that no replica with an address has tried for this long counts as orphaned; also the pause between two
 * checks.
 */
const OVERDUE_MS = 600_000;
const REASON =
  "ALERT_WEBHOOK_URL is not set: set it and restart, then redeliver the event if it still matters";

export interface OpenAlertWebhookOptions extends QueueParts {
  readonly settings: Pick<
    Settings,
    | "ALERT_WEBHOOK_URL"
    | "ALERT_WEBHOOK_SECRET"
    | "OUTBOX_BACKOFF_SCALE"
    | "OUTBOX_TRY_TIMEOUT_MS"
    | "REDIS_URL"
  >;
  /** Counters of the tries. */
  readonly deliveries?: DeliveryFigures | undefined;
}

export interface AlertWebhook {
  /** Undefined without an address: alerts must not be stored for it then. */
  readonly delivery: Pick<TopicWorker, "wake"> | undefined;
  readonly close: () => Promise<void>;
}

/** Starts to post stored alerts to the operator's address; without one, gives up the stored alerts. */
export function openAlertWebhook(options: OpenAlertWebhookOptions): AlertWebhook {
  const { settings, clock, deliveries } = options;
  const { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: secret } = settings;
  if (url === undefined) {
    const { stop } = giveUpUnpostedAlerts(options);
    return { delivery: undefined, close: async () => stop() };
  }
  const client = createHttpClient();
  const timeoutMs = settings.OUTBOX_TRY_TIMEOUT_MS;
  const webhook: Webhook = { url, secret, client, clock, timeoutMs };
  const worker = workTopic(options, {
    name: "alert_webhook",
    pausesMs: WEBHOOK_PAUSES_MS,
    scale: settings.OUTBOX_BACKOFF_SCALE,
    counts: deliveries?.alert_webhook,
    work: (job, { signal }) => postWebhook(webhook, job, signal),
  });
  return {
    delivery: worker,
    async close() {
      await worker.close();
      await client.close();
    },
  };
}

/**
 * Gives up the alerts that an earlier configuration has left, now and from time to time. The only replica gives up all
 * of them, one of several only those that no other posts. They are kept as given up for a while.
 */
function giveUpUnpostedAlerts(options: OpenAlertWebhookOptions): { readonly stop: () => void } {
  const { settings, db, clock, log } = options;
  // Without Redis, this is the only replica.
  const areOthers = settings.REDIS_URL !== undefined;
  const giveUp = async (dueBefore: number | undefined) => {
    try {
      const now = clock.now();
      const events = await giveUpJobs(db, {
        topic: "alert_webhook",
        dueBefore,
        reason: REASON,
        now,
      });
      if (events > 0) log.warn({ events, reason: REASON }, "stored alerts will not be sent");
    } catch (thrown) {
      const cause = toDatabaseError(thrown).message;
      log.warn({ cause }, "stored alerts could not be given up, it is retried in ten minutes");
    }
  };
  const giveUpOverdue = () => giveUp(clock.now() - OVERDUE_MS);
  void (areOthers ? giveUpOverdue() : giveUp(undefined));
  return repeat(OVERDUE_MS, giveUpOverdue);
}
