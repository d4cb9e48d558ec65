import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { connect } from "../../../../src/db/connect.ts";
import type { Database } from "../../../../src/db/database.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { systemClock } from "../../../../src/lib/time/clock.ts";
import type { Limits } from "../../../../src/limits/limits.ts";
import {
  type OpenUsageJournal,
  openUsageJournal,
} from "../../../../src/usage/journal/open-usage-journal.ts";
import type { UsageEntry, UsageRecord, UsageStart } from "../../../../src/usage/usage-record.ts";

export const silentLog = createLog("silent");

/** For a journal whose lost calls nobody counts. */
export const uncounted: Pick<Limits, "settleLost"> = { settleLost: (_calls, store) => store() };

/** A folder for journals, and the removal of it. */
export function journalRoot(): { readonly root: string; readonly remove: () => void } {
  const root = mkdtempSync(join(tmpdir(), "journal-"));
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** A pool on the server at `url`, whether or not it is up. */
export function connectTo(url: string): Database {
  return connect({
    kind: "postgres",
    url,
    waitMs: 2_000,
    driver: { max: 4, connect_timeout: 2, backoff: () => 0.1 },
  });
}

export function openTestJournal(
  root: string,
  database: Database,
  fsync: "off" | "group" | "wait" = "off",
): Promise<OpenUsageJournal> {
  const settings = {
    ...loadConfig({}).settings,
    DATA_DIR: root,
    JOURNAL_DIR: root,
    JOURNAL_FSYNC: fsync,
    INSTANCE_ID: "test",
    DB_POOL_WAIT_MS: 2_000,
  };
  const base = { settings, database, log: silentLog, clock: systemClock };
  return openUsageJournal(base, uncounted);
}

export function usageStart(id: string): UsageStart {
  const startedAt = 1_790_000_000_000;
  return { id, keyId: "key_1", channel: "chat", model: "modèle ☃", startedAt, inputTokens: 7 };
}

export function usageRecord(id: string, change: Partial<UsageRecord> = {}): UsageRecord {
  return {
    ...usageStart(id),
    outcome: "ok",
    status: 200,
    outputTokens: 11,
    cachedTokens: 3,
    reasoningTokens: 2,
    estimated: false,
    latencyMs: 1_234,
    firstTokenMs: 56,
    ...change,
  };
}

/** Opens a call and records its start, as before the first byte of its answer. */
export async function startCall(journal: OpenUsageJournal, id: string): Promise<UsageEntry> {
  const call = await journal.open(usageStart(id));
  await call.recordStart();
  return call;
}

/** `id outcome outputTokens` of every row, by id. */
export async function ledger(database: Database): Promise<string[]> {
  const rows = await database.db.execute<{ line: string }>(
    sql`select id || ' ' || outcome || ' ' || output_tokens as line from usage_records order by id collate "C"`,
  );
  return rows.map((row) => row.line);
}

export async function countRows(database: Database): Promise<number> {
  const [row] = await database.db.execute<{ count: number }>(
    sql`select count(*)::int as count from usage_records`,
  );
  return row?.count ?? 0;
}

/** Waits for something that comes by itself. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  const limit = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > limit) throw new Error("it never came");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
