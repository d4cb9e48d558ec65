import type { Settings } from "../../config/settings.ts";
import type { Db } from "../../db/context.ts";
import type { Clock } from "../../lib/clock.ts";
import { createHttpClient } from "../../lib/http/create-http-client.ts";
import type { Log } from "../../lib/log.ts";
import { deliverEvents, type EventDelivery } from "../deliver-events.ts";
import type { DeliveryFigures } from "../delivery-figures.ts";
import { giveUpUnpostedAlerts } from "./give-up-unposted-alerts.ts";
import { postWebhook, type Webhook } from "./post-webhook.ts";
import { WEBHOOK_PAUSES_MS } from "./webhook-pauses.ts";

export interface OpenAlertWebhookOptions {
  readonly settings: Pick<
    Settings,
    | "ALERT_WEBHOOK_URL"
    | "ALERT_WEBHOOK_SECRET"
    | "OUTBOX_BACKOFF_SCALE"
    | "OUTBOX_TRY_TIMEOUT_MS"
    | "REDIS_URL"
  >;
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  /** Where tries are counted. */
  readonly deliveries?: DeliveryFigures | undefined;
}

export interface AlertWebhook {
  /** Undefined without an address: nothing is to be stored for it then. */
  readonly delivery: Pick<EventDelivery, "wake"> | undefined;
  readonly close: () => Promise<void>;
}

/** Posts stored alerts to the operator's address from now on; without one, gives up what is stored. */
export function openAlertWebhook(options: OpenAlertWebhookOptions): AlertWebhook {
  const { settings, clock, ...rest } = options;
  const { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: secret } = settings;
  if (url === undefined) {
    const { stop } = giveUpUnpostedAlerts(options);
    return { delivery: undefined, close: async () => stop() };
  }
  const client = createHttpClient();
  const timeoutMs = settings.OUTBOX_TRY_TIMEOUT_MS;
  const webhook: Webhook = { url, secret, client, clock, timeoutMs };
  const delivery = deliverEvents({
    ...rest,
    clock,
    sink: "alert_webhook",
    tryTimeoutMs: timeoutMs,
    pausesMs: WEBHOOK_PAUSES_MS,
    scale: settings.OUTBOX_BACKOFF_SCALE,
    deliver: (event, stopping) => postWebhook(webhook, event, stopping),
  });
  return {
    delivery,
    async close() {
      await delivery.close();
      await client.close();
    },
  };
}
