import type { Part } from "../../core/part.ts";
import type { Db } from "../../db/context.ts";
import type { FileConnections } from "../../knowledge/file-connections.ts";
import type { InternalEvents } from "../../queue/internal-events.ts";
import type { WorkflowStore } from "../workflow-store.ts";
import { createKnownTriggers } from "./known-triggers.ts";
import { pruneMarks } from "./marks.ts";
import { startByEvent } from "./start-by-event.ts";
import { openTicker } from "./ticker.ts";

export interface TriggerParts {
  readonly store: WorkflowStore;
  readonly events: Pick<InternalEvents, "subscribe">;
  readonly fileConnections: Pick<FileConnections, "list">;
}

const PRUNE_PAUSE_MS = 3_600_000;

/** Schedules, and the events that start workflows. */
export function openTriggers({ store, events, fileConnections }: TriggerParts): Part<Db> {
  const { database } = store;
  const known = createKnownTriggers(database);
  events.subscribe({
    name: "workflow triggers",
    kinds: [
      "file.uploaded",
      "file.deleted",
      "knowledge.ingested",
      "workflow.completed",
      "workflow.failed",
      "dataset.updated",
    ],
    handle: (event, signal) => startByEvent({ store, known, fileConnections }, event, signal),
  });
  const ticker = openTicker(store);
  return {
    isOnTime: ticker.isOnTime,
    jobs: [
      {
        name: "prune workflow marks",
        pauseMs: PRUNE_PAUSE_MS,
        run: () => pruneMarks(database.db),
      },
    ],
    close: ticker.close,
  };
}
