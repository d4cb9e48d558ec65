// Measures loads of datasets: rows a second, how long the event loop stands, and how long another query waits.
// Usage: bun bench/datasets.ts [--quick], or the same with node --import tsx.
// A million rows on both databases take some minutes and 2 GB in the temporary folder; --quick takes a tenth.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { DatasetChange } from "../src/data/datasets/datasets.ts";
import { withTransaction } from "../src/db/context.ts";
import type { Database } from "../src/db/database.ts";
import { openEmbedded } from "../src/db/embedded/open-embedded.ts";
import { migrate } from "../src/db/migrate.ts";
import { openPostgres } from "../src/db/open-postgres.ts";
import { createLog } from "../src/lib/log.ts";
import { type DatasetStage, openDatasetStage } from "../tests/data/datasets/dataset-stage.ts";
import { startPostgresCluster } from "../tests/support/servers/databases/postgres-cluster.ts";

const ROWS = process.argv.includes("--quick") ? 100_000 : 1_000_000;
const BATCH = 1_000;
/** Pause between two looks at the database. */
const LOOK_MS = 5;
const WAIT_MS = 60_000;
const log = createLog("error");
const COLUMNS = [
  { name: "n", type: "integer" },
  { name: "name", type: "text" },
  { name: "price", type: "decimal" },
  { name: "at", type: "timestamp" },
  { name: "ok", type: "boolean" },
] as const;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function batch(from: number) {
  return Array.from({ length: BATCH }, (_, index) => {
    const n = from + index;
    const at = new Date(1_790_000_000_000 + n * 1_000).toISOString();
    return { n, name: `customer number ${n}`, price: `${n}.50`, at, ok: n % 3 === 0 };
  });
}

/** Runs work while another query asks all the time; tells the longest of its waits and of the stalls. */
async function watched(database: Database, name: string, rows: number, work: () => Promise<void>) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let isOver = false;
  let longest = 0;
  const look = async () => {
    while (!isOver) {
      const startedAt = performance.now();
      await database.ask((db) => db.execute("select 1"));
      longest = Math.max(longest, performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  };
  delay.enable();
  const looking = look();
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  isOver = true;
  await looking;
  delay.disable();
  const stall = Math.round(delay.max / 1e6);
  say(
    `${database.kind} ${name}: ${Math.round(rows / seconds)} rows/s (${seconds.toFixed(1)} s), ` +
      `longest stall ${stall} ms, longest other query ${Math.round(longest)} ms`,
  );
}

async function load(
  { datasets }: DatasetStage,
  database: Database,
  { name, change, rows }: { name: string; change: DatasetChange; rows: number },
): Promise<void> {
  const dataset = await datasets.find(CALLER.current, name);
  const loading = await datasets.load(dataset, change);
  for (let from = 0; from < rows; from += BATCH) await loading.add(batch(from));
  await loading.prepare();
  const startedAt = performance.now();
  await database.askOwn((db) =>
    withTransaction(db, (transaction) => loading.commit(transaction, null)),
  );
  say(`  commit: ${Math.round(performance.now() - startedAt)} ms`);
  await loading.discard();
}

const CALLER: { current: DatasetStage["owner"] } = { current: undefined as never };

async function measure(database: Database): Promise<void> {
  const stage = await openDatasetStage(database);
  CALLER.current = stage.owner;
  await stage.create({ name: "measured", columns: COLUMNS });
  await stage.create({ name: "keyed", columns: COLUMNS, key: ["n"] });
  const steps: readonly (readonly [string, DatasetChange, number])[] = [
    ["measured", "append", ROWS],
    ["measured", "append", 1_000],
    ["measured", "append", 20_000],
    ["measured", "replace", ROWS],
    ["keyed", "append", ROWS],
    ["keyed", "upsert", 20_000],
    ["keyed", "upsert", ROWS / 10],
  ];
  for (const [name, change, rows] of steps) {
    await watched(database, `${name} ${change} ${rows}`, rows, () =>
      load(stage, database, { name, change, rows }),
    );
  }
  await watched(database, `read ${ROWS}`, ROWS, async () => {
    const dataset = await stage.datasets.find(stage.owner, "measured");
    for await (const _ of stage.datasets.read(dataset, new AbortController().signal));
  });
  await stage.close();
}

const cluster = await startPostgresCluster();
if (cluster === undefined) throw new Error("there is no PostgreSQL on this machine");
const postgres = await openPostgres(cluster.url, { DB_POOL_MAX: 4, DB_POOL_WAIT_MS: WAIT_MS }, log);
await migrate(postgres);
await measure(postgres);
await postgres.close();
await cluster.stop();

const dataFolder = await mkdtemp(join(tmpdir(), "datasets-"));
const embedded = await openEmbedded({
  ...{ dataFolder, archive: undefined, waitMs: WAIT_MS, limitMs: () => WAIT_MS, log },
});
await migrate(embedded);
await measure(embedded);
await embedded.close();
await rm(dataFolder, { recursive: true, force: true });
