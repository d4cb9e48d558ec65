// Measures the cost of the usage journal.
// Usage: bun bench/usage/journal.ts [postgres url], or the same with node --import tsx.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { loadConfig } from "../../src/config/load-config.ts";
import { connect } from "../../src/db/connect.ts";
import type { Database } from "../../src/db/database.ts";
import { openEmbedded } from "../../src/db/embedded/open-embedded.ts";
import { migrate } from "../../src/db/migrate.ts";
import { embeddedArchive } from "../../src/db/open-db.ts";
import { createRequestIds } from "../../src/lib/id.ts";
import { createLog } from "../../src/lib/log.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import {
  type OpenUsageJournal,
  openUsageJournal,
} from "../../src/usage/journal/open-usage-journal.ts";
import { makeUsageDays } from "../../src/usage/sums/usage-days.ts";
import type { UsageRecord } from "../../src/usage/usage-record.ts";

const CALLS = 40_000;
const CALLS_A_TURN = 50;
const WAIT_MS = 10_000;
const STATEMENT_MS = 60_000;

const log = createLog("error");
const nextId = createRequestIds();

function usageRecord(): UsageRecord {
  const startedAt = Date.now();
  return {
    id: nextId(startedAt),
    keyId: "key_0123456789abcdefABCDEF",
    channel: "chat",
    model: "qwen3-8b-instruct",
    startedAt,
    inputTokens: 123,
    outcome: "ok",
    status: 200,
    outputTokens: 128,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: false,
    // From 50 ms to 20 s, because latencies spread over the histogram cost more.
    latencyMs: Math.round(50 * 400 ** Math.random()),
    firstTokenMs: 12,
  };
}

async function writeCall(journal: OpenUsageJournal, record: UsageRecord): Promise<void> {
  const { id, keyId, channel, model, startedAt, inputTokens } = record;
  const entry = await journal.open({ id, keyId, channel, model, startedAt, inputTokens });
  await entry.close(record);
}

/** Returns the nanoseconds for opening and closing one call, when this many calls begin and end in the same turn. */
async function measureCalls(journal: OpenUsageJournal, restMs: number): Promise<number> {
  let spentMs = 0;
  for (let done = 0; done < CALLS; done += CALLS_A_TURN) {
    const records = Array.from({ length: CALLS_A_TURN }, usageRecord);
    const from = performance.now();
    await Promise.all(records.map((record) => writeCall(journal, record)));
    if (journal.isRefusing) throw new Error("the journal's disk refuses");
    spentMs += performance.now() - from;
    await new Promise((resolve) => setTimeout(resolve, restMs));
  }
  return (spentMs / CALLS) * 1e6;
}

async function measure(name: string, database: Database): Promise<void> {
  await migrate(database);
  await makeUsageDays(database.db, Date.now());
  for (const fsync of ["off", "group"] as const) {
    await database.db.execute(sql`truncate usage_records`);
    const folder = mkdtempSync(join(tmpdir(), "journal-"));
    const settings = {
      ...loadConfig({}).settings,
      DATA_DIR: folder,
      JOURNAL_DIR: folder,
      JOURNAL_FSYNC: fsync,
      INSTANCE_ID: "bench",
      DB_POOL_WAIT_MS: WAIT_MS,
    };
    const journal = await openUsageJournal(
      { settings, database, log, clock: systemClock },
      { settleLost: (_calls, store) => store() },
    );
    await measureCalls(journal, 0);
    await journal.flush();
    const from = performance.now();
    const cpu = process.cpuUsage();
    const callNs = await measureCalls(journal, 0);
    await journal.flush();
    const { user, system } = process.cpuUsage(cpu);
    const rowsPerSecond = CALLS / ((performance.now() - from) / 1_000);
    const [row] = await database.db.execute<{ count: number }>(
      sql`select count(*)::int as count from usage_records`,
    );
    const isExact = row?.count === 2 * CALLS;
    report({
      database: name,
      fsync,
      "open+close ns": callNs,
      "rows/s written and flushed": rowsPerSecond,
      "process CPU us/row": (user + system) / CALLS,
      rows: isExact ? "exact" : `${row?.count} of ${2 * CALLS}`,
    });
    await journal.drain(WAIT_MS);
    rmSync(folder, { recursive: true });
  }
}

function report(figures: Record<string, string | number>): void {
  const words = Object.entries(figures).map(
    ([name, value]) => `${name} ${typeof value === "number" ? value.toPrecision(4) : value}`,
  );
  process.stdout.write(
    `${process.versions["bun"] === undefined ? "node" : "bun"}: ${words.join(", ")}\n`,
  );
}

const url = process.argv[2];
if (url !== undefined) {
  const database = connect({ kind: "postgres", url, waitMs: WAIT_MS, driver: { max: 4 } });
  await measure("postgres", database);
  await database.close();
}
const archive = embeddedArchive();
const embedded = await openEmbedded({
  dataFolder: undefined,
  archive,
  waitMs: WAIT_MS,
  limitMs: () => STATEMENT_MS,
  log,
});
await measure("embedded", embedded);
await embedded.close();
