import type { DeliveredEvent } from "../../queue/subscriptions.ts";
import { packRows } from "../rows/pack-rows.ts";
import type { Row, RowChunk } from "../rows/row.ts";

/**
 * The row of `input` that a tick brings: `event` is `schedule.tick`, `occurred_at` the time of the tick, not that of the
 * start.
 *
 * @param due Unix milliseconds.
 */
export function tickRow(due: number): Row {
  return { event: "schedule.tick", occurred_at: new Date(due).toISOString() };
}

/**
 * The row of `input` that an event brings: the event's own facts (`queue/subscriptions.ts`), with `event`, its kind, and
 * `occurred_at` in front. A file of a folder has the name of its file connection as `folder`, as the steps that read
 * files expect it.
 */
export function eventRow(
  { kind, body }: DeliveredEvent,
  { occurredAt, folder }: { readonly occurredAt: Date; readonly folder?: string | undefined },
): Row {
  return {
    event: kind,
    occurred_at: occurredAt.toISOString(),
    ...body,
    ...(folder !== undefined && { folder }),
  };
}

/** Packs the one row of a fact. */
export async function packFact(row: Row): Promise<readonly RowChunk[]> {
  const chunks: RowChunk[] = [];
  for await (const chunk of packRows([row])) chunks.push(chunk);
  return chunks;
}
