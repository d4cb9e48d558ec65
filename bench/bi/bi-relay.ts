// Measures a large SELECT through a session of the port and directly: bun bench/bi/bi-relay.ts POSTGRES_URL [MEGABYTES]
import { connect, createServer, type Socket } from "node:net";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { SessionReceiver } from "../../src/data/port/engine.ts";
import { openPostgresEngine } from "../../src/data/port/postgres/postgres-engine.ts";
import { query, terminate } from "../../src/data/port/protocol/frontend-messages.ts";
import { createServeSession } from "../../src/data/port/session/serve-session.ts";

const MB = 1_048_576;
const ROW_BYTES = 110;
const [url = "", megabytes = "200"] = process.argv.slice(2);
const rows = Math.round((Number(megabytes) * MB) / ROW_BYTES);
const SQL = `select n, now(), 'gpt-model-' || n % 7, md5(n::text), n * 3, n * 0.001 from generate_series(1, ${rows}) n`;
const principal = {
  id: "bik_bench",
  name: "bench",
  views: [],
  rowLimit: 1e9,
  timeoutSeconds: 600,
  maxConnections: 10,
  expiresAt: null,
};
const engine = openPostgresEngine({
  now: Date.now,
  mostSessions: 100,
  mostRunning: null,
  failed: console.error,
});
const clock = {
  now: Date.now,
  after: (milliseconds: number, run: () => void) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Opens a session and hands its bytes to `receive`, without anything between. */
async function openDirect(): Promise<number> {
  let bytes = 0;
  const done = new Promise<void>((resolve) => {
    const receiver: SessionReceiver = {
      bytes: (chunk) => {
        bytes += chunk.length;
        if (chunk.at(-6) === 90 && chunk.at(-2) === 5) resolve();
        return true;
      },
      began: () => undefined,
      ended: () => resolve(),
    };
    void engine
      .open({ principal, login: { url }, parameters: new Map() }, receiver)
      .then((session) => session.send(query(SQL)));
  });
  await done;
  return bytes;
}

async function openRelay(): Promise<number> {
  const serveSession = createServeSession({
    clock,
    check: async (sql) => ({ statements: ["read"], normalized: sql, relations: [] }),
    control: { statement: () => undefined, refused: console.error, log: console.error },
  });
  const server = createServer((client: Socket) => {
    client.pause();
    client.on("error", () => undefined);
    let receiver: SessionReceiver | undefined;
    const relayed: SessionReceiver = {
      bytes: (chunk) => receiver?.bytes(chunk) ?? true,
      began: () => receiver?.began(),
      ended: (code, message) => receiver?.ended(code, message),
    };
    void engine
      .open({ principal, login: { url }, parameters: new Map() }, relayed)
      .then((session) =>
        serveSession({
          client,
          principal,
          engine: session,
          leftover: Buffer.alloc(0),
          receive: (given) => {
            receiver = given;
          },
        }),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const worker = new Worker(new URL(import.meta.url), { workerData: { port, sql: SQL } });
  const bytes = await new Promise<number>((resolve) => worker.once("message", resolve));
  await worker.terminate();
  server.close();
  return bytes;
}

/** The client, in a thread of its own. */
function readAll({ port, sql }: { readonly port: number; readonly sql: string }): void {
  let bytes = 0;
  const socket = connect(port, "127.0.0.1", () => socket.write(query(sql)));
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (chunk.at(-6) === 90 && chunk.at(-2) === 5) socket.end(terminate());
  });
  socket.once("close", () => parentPort?.postMessage(bytes));
}

async function measure(name: string, run: () => Promise<number>): Promise<void> {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  const bytes = await run();
  const seconds = (performance.now() - startedAt) / 1000;
  const used = process.cpuUsage(before);
  const processor = (used.user + used.system) / 1e6;
  const rate = bytes / MB / seconds;
  const memory = process.memoryUsage().rss / MB;
  console.log(
    `${name}: ${(bytes / MB).toFixed(0)} MB, ${rate.toFixed(0)} MB/s, ${((processor / bytes) * MB * 1000).toFixed(2)} ms of processor a MB, ${memory.toFixed(0)} MB of memory`,
  );
}

if (isMainThread) {
  await measure("warm-up", openDirect);
  await measure("direct", openDirect);
  await measure("through a session, with its client", openRelay);
  await engine.close();
  process.exit(0);
} else {
  readAll(workerData);
}
