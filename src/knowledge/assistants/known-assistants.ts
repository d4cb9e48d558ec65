import { and, asc, gt } from "drizzle-orm";
import { byLabel, type Metric } from "../../core/metric.ts";
import type { Ask, Database } from "../../db/database.ts";
import { followChanges } from "../../db/follow-changes.ts";
import type { CaughtUp } from "../../db/keep-caught-up.ts";
import { assistants } from "../../db/tables/assistants.ts";
import type { Log } from "../../lib/log.ts";
import type { KnownAssistants } from "./assistant.ts";
import { AssistantIndex } from "./assistant-index.ts";
import { toAssistant } from "./assistant-record.ts";

/** The number of rows read at once: the instructions of each may have 256,000 characters. */
const PAGE_ROWS = 100;

export interface FollowedAssistants extends CaughtUp {
  readonly known: KnownAssistants;
  readonly metrics: readonly Metric[];
}

export interface FollowOptions {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  readonly log: Log;
}

/**
 * Loads all assistants into memory and follows their changes until closed. Those in memory remain valid while the
 * database is unreachable.
 */
export async function followAssistants(options: FollowOptions): Promise<FollowedAssistants> {
  let index = new AssistantIndex();
  const { catchUp, close } = await followChanges({
    ...options,
    counter: "assistants",
    name: "assistants",
    async read(ask, from) {
      const target = from === 0 ? new AssistantIndex() : index;
      await readRows(ask, target, from);
      // Read last, so that no row read earlier is newer than its deletion.
      if (from > 0) await removeDeleted(ask, target);
      index = target;
    },
  });
  return {
    known: {
      find: (name, caller) => index.find(name, caller),
      list: (caller) => index.list(caller),
    },
    catchUp,
    metrics: [
      {
        name: "svc_assistants",
        type: "gauge",
        help: "Assistants by who may use them.",
        labels: ["visibility"],
        read: () => byLabel("visibility", index.countByVisibility()),
      },
    ],
    close,
  };
}

/** Reads also the changes after the counter was read, so that a row that changed twice is never missed. */
async function readRows(ask: Ask, index: AssistantIndex, from: number): Promise<void> {
  let lastId = "";
  for (;;) {
    const rows = await ask((db) =>
      db
        .select()
        .from(assistants)
        .where(and(gt(assistants.changeSeq, from), gt(assistants.id, lastId)))
        .orderBy(asc(assistants.id))
        .limit(PAGE_ROWS),
    );
    for (const row of rows) index.set(toAssistant(row));
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    lastId = last.id;
  }
}

/** There are no tombstones: the ids of all assistants are few enough to compare. */
async function removeDeleted(ask: Ask, index: AssistantIndex): Promise<void> {
  const rows = await ask((db) => db.select({ id: assistants.id }).from(assistants));
  const present = new Set(rows.map(({ id }) => id));
  for (const id of index.ids()) if (!present.has(id)) index.delete(id);
}
