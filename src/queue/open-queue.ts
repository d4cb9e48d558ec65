import { byLabel, eachWith, type Metric, single } from "../core/metric.ts";
import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import { pruneEvents } from "./end-jobs.ts";
import {
  createDeliveryFigures,
  type DeliveryFigures,
  outboxFigures,
  type QueueFigures,
} from "./figures.ts";
import { createInternalEvents, type InternalEvents } from "./internal-events.ts";
import { outboxBacklogAlert } from "./outbox-backlog.ts";
import { openWatchedFolders, type WatchedFolders } from "./watched-folders/open-watched-folders.ts";
import { type AlertWebhook, openAlertWebhook } from "./webhooks/open-alert-webhook.ts";

export interface Queue extends Part<Db> {
  /** Events between parts of the gateway. */
  readonly events: InternalEvents;
  readonly watchedFolders: WatchedFolders;
  readonly alertWebhook: AlertWebhook["delivery"];
  /** Counters of the tries, also for the topics whose workers are opened elsewhere. */
  readonly deliveries: DeliveryFigures;
}

const PRUNE_PAUSE_MS = 600_000;

/**
 * Starts to post alerts and to watch the folders of WATCH_DIRS. Events between parts are delivered from `events.start` on,
 * after all parts have subscribed.
 */
export function openQueue(base: Base): Queue {
  const { settings, clock } = base;
  const { db } = base.database;
  const { OUTBOX_BACKOFF_SCALE: scale, OUTBOX_TRY_TIMEOUT_MS: tryTimeoutMs } = settings;
  const deliveries = createDeliveryFigures();
  const events = createInternalEvents({ ...base, db, scale, tryTimeoutMs, deliveries });
  const watchedFolders = openWatchedFolders({ ...base, db, onFired: events.wake });
  const webhook = openAlertWebhook({ ...base, db, deliveries });
  let outbox: QueueFigures | undefined;
  return {
    events,
    watchedFolders,
    alertWebhook: webhook.delivery,
    deliveries,
    jobs: [
      {
        name: "prune events",
        pauseMs: PRUNE_PAUSE_MS,
        run: () => pruneEvents(db, clock.now()),
      },
    ],
    metrics: queueMetrics(deliveries, () => outbox),
    async refreshStored(store, now) {
      outbox = await outboxFigures(store, now);
    },
    alerts: [outboxBacklogAlert(db, settings)],
    async close() {
      await Promise.all([events.close(), watchedFolders.close(), webhook.close()]);
    },
  };
}

function queueMetrics(
  deliveries: DeliveryFigures,
  outbox: () => QueueFigures | undefined,
): readonly Metric[] {
  return [
    {
      name: "svc_event_outbox_pending",
      type: "gauge",
      help: "Events neither delivered nor given up.",
      labels: [],
      read: () => single(outbox()?.pending),
    },
    {
      name: "svc_event_outbox_oldest_age_seconds",
      type: "gauge",
      help: "Age of the oldest of them; 0 when there is none.",
      labels: [],
      read: () => single(outbox()?.oldestAgeSeconds),
    },
    {
      name: "svc_event_outbox_dead",
      type: "gauge",
      help: "Events for which retries were abandoned, as long as they are kept.",
      labels: [],
      read: () => single(outbox()?.dead),
    },
    {
      name: "svc_event_deliveries_total",
      type: "counter",
      help: "Tries to deliver an event: failed is tried again, given_up is not.",
      labels: ["sink", "outcome"],
      read: () => eachWith("sink", deliveries, (results) => byLabel("outcome", results)),
    },
  ];
}
