import type { Part } from "../../core/part.ts";
import type { Db } from "../../db/context.ts";
import type { InternalEvents } from "../../queue/internal-events.ts";
import type { WorkflowStore } from "../workflow-store.ts";

export interface TriggerParts {
  readonly store: WorkflowStore;
  readonly events: Pick<InternalEvents, "subscribe">;
}

/** Schedules, and the events that start workflows. */
export function openTriggers(_parts: TriggerParts): Part<Db> {
  return {};
}
