// Measures reads of the views in the schema `data` over many usage rows, by the role that a BI key gets.
// Usage: bun bench/bi/data-views.ts [--rows 10000000] [--database URL] [--plans] [--check], or with node --import tsx.
// Takes some minutes and about 600 bytes of disk per row in the temporary folder, and cleans up. A database that is
// given is filled once and keeps what it has, for the next run. With --check it fails where a goal is missed.
import { parseArgs } from "node:util";
import { eq, sql } from "drizzle-orm";
import { createDatasetTable, tableOf } from "../../src/data/datasets/dataset-tables.ts";
import type { CopiedByDays } from "../../src/data/views/data-view.ts";
import { datasetViewText } from "../../src/data/views/dataset-view.ts";
import { readExtents } from "../../src/data/views/list-views.ts";
import { BUILT_IN_VIEWS } from "../../src/data/views/registry.ts";
import { writeView } from "../../src/data/views/view-statements.ts";
import type { Db } from "../../src/db/context.ts";
import { DAY_MS, dayOf } from "../../src/db/days/day-table.ts";
import { datasets } from "../../src/db/tables/datasets.ts";
import { openReadStage, readRequest } from "../../tests/support/data/read-stage.ts";
import { type DataStage, measureQuery, openDataStage, PRINCIPAL } from "./data-stage.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "10000000" },
    database: { type: "string" },
    plans: { type: "boolean" },
    check: { type: "boolean" },
  },
});
const MB = 1_000_000;
/** Of a CSV of all requests this much is read, which takes some seconds. */
const CSV_BYTES = 300 * MB;
const today = dayOf(Date.now());
const dayText = (ago: number) => new Date(today - ago * DAY_MS).toISOString().slice(0, 10);
const KEY = `key_${"3".padStart(22, "0")}`;
const YEAR = `day_start > '${dayText(365)}'`;
const DAY = `started_at >= '${dayText(10)}T00:00Z' and started_at < '${dayText(9)}T00:00Z'`;

/** What is read, with the most milliseconds that it may take. */
const READS: readonly (readonly [name: string, query: string, limitMs: number])[] = [
  [
    "usage_by_day of a year, by day",
    `select day, sum(requests), sum(input_tokens) from data.usage_by_day where day > '${dayText(365)}' group by day order by day`,
    200,
  ],
  [
    "usage_by_day of a year, by day, by day_start",
    `select day_start, sum(requests), sum(input_tokens) from data.usage_by_day where ${YEAR} group by 1 order by 1`,
    200,
  ],
  [
    "usage_by_day of a year, of a key",
    `select * from data.usage_by_day where ${YEAR} and key_id = '${KEY}'`,
    200,
  ],
  [
    "usage_by_day of a month, by model",
    `select model, sum(requests) from data.usage_by_day where day_start >= '${dayText(30)}' group by 1`,
    200,
  ],
  [
    "usage_by_day with names of keys",
    `select name, sum(requests) from data.usage_by_day join data.keys on id = key_id where day_start >= '${dayText(30)}' group by 1`,
    200,
  ],
  [
    "requests of a day, of a key",
    `select * from data.requests where ${DAY} and key_id = '${KEY}'`,
    500,
  ],
  [
    "requests of a day, by key",
    `select key_id, count(*), sum(latency_ms) from data.requests where ${DAY} group by 1`,
    500,
  ],
  [
    "requests, the last page",
    "select * from data.requests order by started_at desc, id desc limit 1000",
    500,
  ],
  [
    "requests, a page in the middle",
    `select * from data.requests where (started_at, id) > ('${dayText(70)}T12:00Z', 'r') order by started_at, id limit 10000`,
    500,
  ],
];

let isReached = true;

async function run(): Promise<void> {
  const stage = await openDataStage(values.database, Number(values.rows));
  try {
    const [found] = await stage.db.execute<{ rows: number }>(
      sql`select count(*)::int as rows from usage_days`,
    );
    say(`${values.rows} requests, ${found?.rows} sums by day of two years`);
    await measureReads(stage.reader.db);
    await measureCsv(stage.readerUrl);
    await measureCopy(stage.db);
    await measureDataset(stage);
  } finally {
    await stage.close();
  }
  if (values.check === true && !isReached) process.exitCode = 1;
}

function verdict(reached: boolean): string {
  isReached &&= reached;
  return reached ? "yes" : "NO";
}

async function measureReads(db: Db): Promise<void> {
  for (const [name, query, limitMs] of READS) {
    const { medianMs, processorMs } = await measureQuery(db, query);
    say(
      `${name.padEnd(50)}${shown(medianMs)}, processor ${shown(processorMs)}  < ${limitMs} ms: ` +
        verdict(medianMs < limitMs),
    );
    if (values.plans === true) await sayPlan(db, query);
  }
}

function shown(ms: number): string {
  return `${ms.toFixed(1).padStart(9)} ms`;
}

async function sayPlan(db: Db, query: string): Promise<void> {
  const plan = await db.execute<Record<string, string>>(
    sql.raw(`explain (analyze, buffers, costs off) ${query}`),
  );
  for (const line of plan.slice(0, 14)) say(`    ${line["QUERY PLAN"]}`);
}

/** A CSV of all requests through the code of the data process. */
async function measureCsv(url: string): Promise<void> {
  const stage = await openReadStage(url);
  say("\na CSV of all requests");
  for (const query of [
    "select * from data.requests",
    "select * from data.requests order by started_at, id",
  ]) {
    const request = readRequest({ sql: query, format: "csv", principal: PRINCIPAL });
    const from = performance.now();
    const { body } = await stage.process.request("/read", request, new AbortController().signal);
    let firstMs = 0;
    let bytes = 0;
    for await (const chunk of body) {
      if (bytes === 0) firstMs = performance.now() - from;
      bytes += chunk.length;
      if (bytes > CSV_BYTES) break;
    }
    const rate = bytes / MB / ((performance.now() - from) / 60_000);
    say(
      `${query.padEnd(60)}first bytes after ${firstMs.toFixed(0)} ms, ${rate.toFixed(0)} MB a minute ` +
        `< 1000 ms and >= 100 MB: ${verdict(firstMs < 1_000 && rate >= 100)}`,
    );
  }
  await stage.close();
}

async function measureCopy(db: Db): Promise<void> {
  say("\nwhat a copier and GET /v1/data ask");
  const days = BUILT_IN_VIEWS.filter(({ copied }) => copied.kind === "days");
  for (const view of days) {
    const { fingerprints, ofDay } = view.copied as CopiedByDays;
    const last = `select * from (${fingerprints}) as days where day >= '${dayText(1)}'`;
    const all = `select * from (${fingerprints}) as days`;
    const rows = `select count(*) from data.${view.name} where ${ofDay.replaceAll("$1", `'${dayText(5)}'`)}`;
    const took = [];
    for (const query of [last, all, rows]) took.push((await measureQuery(db, query)).medianMs);
    const [lastMs, allMs, dayMs] = took.map(shown);
    say(`${view.name.padEnd(16)} last two days ${lastMs}, all ${allMs}, rows of a day ${dayMs}`);
  }
  const from = performance.now();
  await readExtents(
    db,
    BUILT_IN_VIEWS.map((view) => ({ ...view, dataset: null })),
  );
  say(`extents of all ${(performance.now() - from).toFixed(1)} ms`);
}

/** A dataset of a million rows, some of which were replaced. */
async function measureDataset({ db, reader }: DataStage): Promise<void> {
  const [id, table, view] = ["ds_bench", "ds_bench_12345678", "data.bench"];
  const columns = [
    { name: "n", type: "integer" },
    { name: "text", type: "text" },
  ] as const;
  await db.execute(sql`drop table if exists ${tableOf(table)} cascade`);
  await db.execute(sql`delete from datasets where id = ${id}`);
  await db.execute(sql`insert into datasets (id, name, columns, key, table_name, rows)
    values (${id}, 'bench', ${JSON.stringify(columns)}, '["n"]', ${table}, 1000000)`);
  await createDatasetTable(db, table, { columns, key: ["n"] });
  await db.execute(sql`insert into ${tableOf(table)}
    select 1, n, case when n % 10 = 0 then 2 end, n, 'text ' || n from generate_series(1, 1000000) as n`);
  await db.execute(sql`vacuum analyze ${tableOf(table)}`);
  const [row] = await db.select().from(datasets).where(eq(datasets.id, id));
  if (row === undefined) throw new Error("the dataset is gone");
  await writeView(db, datasetViewText(row), async () => undefined);
  await db.execute(sql.raw(`grant select on ${view} to public`));
  say("\na dataset of a million rows");
  for (const query of [
    `select * from ${view} where n = 777777`,
    `select * from ${view} where n > 300000 order by n limit 10000`,
    `select * from ${view} where text like 'text 77777%'`,
    `select count(*), sum(n) from ${view}`,
  ]) {
    const { medianMs, processorMs } = await measureQuery(reader.db, query);
    say(`${shown(medianMs)}, processor ${shown(processorMs)}  ${query}`);
    if (values.plans === true) await sayPlan(reader.db, query);
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

await run();
