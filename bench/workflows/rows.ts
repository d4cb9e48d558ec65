// Measures the row process: `bun bench/workflows/rows.ts [rows]`. 10,000 rows through filter, map and aggregate; then a CSV of a
// million rows through map, a join with 50,000 and aggregate. Chunks lie in files between the steps, as the database
// would hold them; the process's memory, the server's growth and its event loop are watched meanwhile.
import {
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../src/lib/json/json.ts";
import { openRowProcess } from "../../src/workflows/row-process/open-row-process.ts";
import { packRows } from "../../src/workflows/rows/pack-rows.ts";
import type { Row, RowChunk, StepInput } from "../../src/workflows/rows/row.ts";

const MIB = 1024 * 1024;
const ROWS = Number(process.argv[2] ?? 1_000_000);
const scope = { trigger: { kind: "manual" }, run: {} };
const limits = { signal: new AbortController().signal, timeMs: 600_000 };
const rowProcess = openRowProcess({ processes: 2 });
const folder = mkdtempSync(join(tmpdir(), "bench-rows-"));

async function step(program: string, settings: JsonObject, inputs: readonly StepInput[]) {
  const startedMs = performance.now();
  const job = { program, settings, scope, onRowError: "fail" } as const;
  const chunks = async function* () {
    for await (const result of rowProcess.run(job, inputs, limits)) {
      if (result.kind !== "chunk") throw new Error(JSON.stringify(result));
      yield result.chunk;
    }
  };
  const output = await store(program, chunks());
  console.log(`  ${program}: ${output.rows} rows, ${seconds(startedMs)} s`);
  return output;
}

/** Puts chunks into a file, from which they are read as often as one likes. */
async function store(name: string, chunks: AsyncIterable<RowChunk>): Promise<StepInput> {
  const file = openSync(join(folder, `${name}.chunks`), "w+");
  const stored: StoredChunk[] = [];
  let at = 0;
  for await (const { rows, bytes, data } of chunks) {
    writeSync(file, data, 0, data.length, at);
    stored.push({ rows, bytes, at, length: data.length });
    at += data.length;
  }
  const rows = stored.reduce((sum, chunk) => sum + chunk.rows, 0);
  const bytes = stored.reduce((sum, chunk) => sum + chunk.bytes, 0);
  return { name, rows, bytes, chunks: () => readStored(file, stored) };
}

interface StoredChunk extends Omit<RowChunk, "data"> {
  readonly at: number;
  readonly length: number;
}

async function* readStored(file: number, stored: readonly StoredChunk[]) {
  for (const { rows, bytes, at, length } of stored) {
    const data = Buffer.alloc(length);
    readSync(file, data, 0, length, at);
    yield { rows, bytes, data };
  }
}

function seconds(startedMs: number): string {
  return ((performance.now() - startedMs) / 1_000).toFixed(2);
}

/** The most resident memory of this process's children, and the longest pause of this process. */
function watch() {
  const start = process.memoryUsage.rss();
  let ownPeak = start;
  let childPeak = 0;
  let stallMs = 0;
  let lastMs = performance.now();
  const ticks = setInterval(() => {
    const now = performance.now();
    stallMs = Math.max(stallMs, now - lastMs - 5);
    lastMs = now;
  }, 5);
  const looks = setInterval(() => {
    ownPeak = Math.max(ownPeak, process.memoryUsage.rss());
    for (const pid of children()) childPeak = Math.max(childPeak, residentOf(pid));
  }, 100);
  return () => {
    clearInterval(ticks);
    clearInterval(looks);
    console.log(
      `  process ${Math.round(childPeak / MIB)} MiB, server + ${Math.round((ownPeak - start) / MIB)} MiB, longest pause ${stallMs.toFixed(0)} ms`,
    );
  };
}

function children(): string[] {
  const own = String(process.pid);
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/stat`, "latin1").split(") ")[1]?.split(" ")[1] === own;
    } catch {
      return false;
    }
  });
}

function residentOf(pid: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

const AGGREGATE = {
  by: ["region"],
  values: { orders: { op: "count" }, revenue: { op: "sum", field: "total" } },
};

async function small(): Promise<void> {
  console.log("10,000 rows: filter, map, aggregate");
  const made = Array.from({ length: 10_000 }, (_, n) => ({
    n,
    price: n / 10,
    quantity: n % 7,
    region: `r${n % 20}`,
  }));
  const rows = await store("rows", packRows(made));
  const startedMs = performance.now();
  const kept = await step("filter", { where: "row.quantity > 0" }, [rows]);
  const mapped = await step("map", { set: { total: "row.price * row.quantity" } }, [kept]);
  await step("aggregate", AGGREGATE, [mapped]);
  console.log(`  all: ${seconds(startedMs)} s with the start of the process`);
}

async function large(): Promise<void> {
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  const bytes = writeOrders(join(workspace, "orders.csv"));
  console.log(`CSV of ${ROWS} rows, ${Math.round(bytes / 1_000_000)} MB: map, join, aggregate`);
  const customers = await store("customers", packRows(customerRows()));
  const end = watch();
  const startedMs = performance.now();
  const place = {
    connection: "workspace",
    folder: workspace,
    hidden: { data: folder, written: [] },
  };
  const file = { place, path: "orders.csv", format: "auto", types: "infer" };
  const read = await step("read_file", file, []);
  const mapped = await step("map", { set: { total: "row.price * row.quantity" } }, [read]);
  const joining = { with: "customers", on: { customer: "id" }, how: "inner" };
  const joined = await step("join", joining, [mapped, customers]);
  await step("aggregate", AGGREGATE, [joined]);
  console.log(`  all: ${seconds(startedMs)} s`);
  end();
  for (const [program, settings] of [
    ["sort", { by: [{ field: "note", order: "desc" }] }],
    ["dedupe", { by: ["customer", "quantity"] }],
    ["aggregate", { by: ["id"], values: { orders: { op: "count" } } }],
    ["sql", { select: "SELECT customer, sum(total) AS total FROM map GROUP BY customer" }],
  ] as const) {
    const done = watch();
    await step(program, settings as unknown as JsonObject, [mapped]);
    done();
  }
}

function writeOrders(path: string): number {
  const descriptor = openSync(path, "w");
  let bytes = writeSync(descriptor, "id,customer,price,quantity,note\n");
  for (let from = 0; from < ROWS; from += 10_000) {
    const lines = Array.from({ length: Math.min(10_000, ROWS - from) }, (_, at) => {
      const n = from + at;
      return `${n},${(n * 7_919) % 50_000},${(n % 1_000) / 10},${n % 9},${"a note about this order ".repeat(4)}${n % 977}\n`;
    });
    bytes += writeSync(descriptor, lines.join(""));
  }
  return bytes;
}

function* customerRows(): Generator<Row> {
  for (let id = 0; id < 50_000; id += 1)
    yield { id, name: `Customer ${id}`, region: `r${id % 20}` };
}

try {
  await small();
  await large();
} finally {
  rowProcess.close();
  rmSync(folder, { recursive: true });
}
process.exit(0);
