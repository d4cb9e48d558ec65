import { sql } from "drizzle-orm";
import { byLabel, type Metric, single } from "../../core/metric.ts";
import type { Db } from "../../db/context.ts";
import { vectorStoreFiles } from "../../db/tables/knowledge.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import { INGEST_OUTCOMES, type IngestOutcome } from "./ingest-file.ts";

const STATES = ["in_progress", "completed", "failed", "cancelled"] as const;

/** What this process has ingested, and what the database says of all files. */
export interface IngestFigures {
  readonly countTry: (outcome: IngestOutcome) => void;
  readonly countChunks: (count: number) => void;
  readonly metrics: readonly Metric[];
  /** @param now Unix milliseconds. */
  readonly refreshStored: (db: Db, now: number) => Promise<void>;
}

interface StoredFigures {
  readonly files: Readonly<Record<string, number>>;
  readonly oldestWaitingSeconds: number;
}

export function createIngestFigures(): IngestFigures {
  const tries = zeroCounts(INGEST_OUTCOMES);
  let chunks = 0;
  let stored: StoredFigures | undefined;
  return {
    countTry(outcome) {
      tries[outcome] += 1;
    },
    countChunks(count) {
      chunks += count;
    },
    async refreshStored(db, now) {
      stored = await readStored(db, now);
    },
    metrics: [
      {
        name: "svc_knowledge_files",
        type: "gauge",
        help: "Files in vector stores, by the state of their ingestion.",
        labels: ["state"],
        read: () => byLabel("state", stored?.files),
      },
      {
        name: "svc_knowledge_oldest_waiting_seconds",
        type: "gauge",
        help: "Age of the oldest file whose ingestion has not ended; 0 when there is none.",
        labels: [],
        read: () => single(stored?.oldestWaitingSeconds),
      },
      {
        name: "svc_knowledge_chunks_stored_total",
        type: "counter",
        help: "Chunks that were embedded and stored.",
        labels: [],
        read: () => single(chunks),
      },
      {
        name: "svc_knowledge_ingest_tries_total",
        type: "counter",
        help: "Tries to ingest a file: retried is tried again, dropped had nothing left to do.",
        labels: ["outcome"],
        read: () => byLabel("outcome", tries),
      },
    ],
  };
}

async function readStored(db: Db, now: number): Promise<StoredFigures> {
  const rows = await db.execute<{ status: string; count: number; oldest: number }>(sql`
    select status, count(*)::int as count, extract(epoch from min(created_at))::float8 * 1000 as oldest
    from ${vectorStoreFiles} group by status`);
  const files: Record<string, number> = zeroCounts(STATES);
  let oldestWaitingSeconds = 0;
  for (const { status, count, oldest } of rows) {
    files[status] = count;
    if (status === "in_progress") oldestWaitingSeconds = Math.max(0, (now - oldest) / 1_000);
  }
  return { files, oldestWaitingSeconds };
}
