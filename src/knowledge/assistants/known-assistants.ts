import { and, asc, eq, gt } from "drizzle-orm";
import { byLabel, type Metric } from "../../core/metric.ts";
import type { Ask, Database } from "../../db/database.ts";
import { assistants } from "../../db/tables/assistants.ts";
import { changeCounters } from "../../db/tables/change-counters.ts";
import { shareRuns } from "../../lib/concurrency.ts";
import { causeOf, type Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import type { KnownAssistants } from "./assistant.ts";
import { AssistantIndex } from "./assistant-index.ts";
import { toAssistant } from "./assistant-record.ts";

/** The pause between two checks for changes by other replicas. */
const POLL_PAUSE_MS = 500;
/** The number of rows read at once: the instructions of each may have 256,000 characters. */
const PAGE_ROWS = 100;

export interface FollowedAssistants {
  readonly known: KnownAssistants;
  /** Reads the committed changes, so that a change made by this process holds for the next call. Never rejects. */
  readonly catchUp: () => Promise<void>;
  readonly metrics: readonly Metric[];
  readonly close: () => void;
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
  const { database, log } = options;
  let index = new AssistantIndex();
  let upTo = 0;
  let isAway = false;

  const readChanges = async (ask: Ask): Promise<void> => {
    const reached = await readCounter(ask);
    if (reached === upTo) return;
    // A lower number: the database was restored to an earlier state.
    const from = reached < upTo ? 0 : upTo;
    const target = from === 0 ? new AssistantIndex() : index;
    await readRows(ask, target, from);
    // Read last, so that no row read earlier is newer than its deletion.
    if (from > 0) await removeDeleted(ask, target);
    index = target;
    upTo = reached;
  };
  await readChanges((work) => work(database.db));
  const catchUp = shareRuns(async () => {
    try {
      await readChanges(database.askOwn);
      if (isAway) log.info("assistants are read from the database again");
      isAway = false;
    } catch (thrown) {
      if (!isAway) {
        log.warn(
          { cause: causeOf(thrown) },
          "assistants cannot be read from the database; those last read stay in use",
        );
      }
      isAway = true;
    }
  });
  // Only this process writes to the embedded database.
  const polling = database.kind === "embedded" ? undefined : repeat(POLL_PAUSE_MS, catchUp);
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
    close: () => polling?.stop(),
  };
}

async function readCounter(ask: Ask): Promise<number> {
  const [counter] = await ask((db) =>
    db
      .select({ seq: changeCounters.seq })
      .from(changeCounters)
      .where(eq(changeCounters.name, "assistants")),
  );
  return counter?.seq ?? 0;
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
