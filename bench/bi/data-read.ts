import postgres from "postgres";
import { openReadStage, readRequest } from "../../tests/support/data/read-stage.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";

/**
 * Reads rows like those of `requests` through the data process' code on a unix socket, in this one process:
 * `bun bench/bi/data-read.ts [rows]`. The goal is 50 MB/s on one core, and 100 MB at most for a reader that stalls.
 */
const ROWS = Number(process.argv[2] ?? 1_000_000);
const STALL_MS = 3_000;
const MB = 1024 * 1024;

const cluster = await startPostgresCluster();
if (cluster === undefined) throw new Error("PostgreSQL is not installed.");
const sql = postgres(cluster.url, { max: 1 });
await sql.unsafe(`create table many as select n as id, timestamptz '2026-01-01Z' + n * interval '1.234 s' as at,
  'key_' || n % 100 as key_id, 'a model with a name' as model, n % 3000 as input_tokens, (n % 977)::numeric / 1000 as cost,
  case when n % 50 = 0 then 'a "quoted", text' end as note from generate_series(1, ${ROWS}) as n`);
const stage = await openReadStage(cluster.url);
const signal = new AbortController().signal;
const ask = (format: "csv" | "ndjson") => {
  const principal = { ...readRequest({}).principal, rowLimit: ROWS, timeoutSeconds: 600 };
  return stage.process.request(
    "/read",
    readRequest({ sql: "select * from many", format, principal }),
    signal,
  );
};

for (const format of ["csv", "ndjson", "csv"] as const) {
  const startedAt = performance.now();
  const { body } = await ask(format);
  const begunMs = performance.now() - startedAt;
  const cpu = process.cpuUsage();
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  const seconds = (performance.now() - startedAt) / 1_000;
  const used = process.cpuUsage(cpu);
  const cpuSeconds = (used.user + used.system) / 1_000_000;
  const rate = `${Math.round(ROWS / seconds)} rows/s, ${(bytes / MB / seconds).toFixed(1)} MB/s`;
  const perCpu = `${(bytes / MB / cpuSeconds).toFixed(1)} MB per second of processor`;
  console.log(`${format}: ${rate}, ${perCpu}, begun after ${begunMs.toFixed(0)} ms`);
}

const before = process.memoryUsage().rss;
const { body } = await ask("csv");
await new Promise((resolve) => setTimeout(resolve, STALL_MS));
const grown = (process.memoryUsage().rss - before) / MB;
console.log(`a reader that stalls: ${grown.toFixed(1)} MB more`);
await body[Symbol.asyncIterator]().return?.();
await stage.close();
await sql.end();
await cluster.remove();
