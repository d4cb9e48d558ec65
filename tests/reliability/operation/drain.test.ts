import { readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { createCaseTable, noteLaterRoutes } from "../../support/case-table.ts";
import { callGateway, openCall } from "../../support/clients/call-gateway.ts";
import {
  CLIENT_FAMILIES,
  type ClientFamily,
  isErrorOf,
} from "../../support/clients/client-family.ts";
import { openRawClient, type RawClient, rawRequest } from "../../support/clients/raw-client.ts";
import { readScrape, sumOf } from "../../support/clients/scrape-metrics.ts";
import type { TcpFault } from "../../support/faults/tcp-fault.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { compareLedger } from "../../support/ledger.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { placeMigratedDatabase } from "../../support/servers/databases/prepared-database.ts";
import { openSeverableDatabase } from "../../support/servers/databases/severable-database.ts";
import {
  createMigratedDatabase,
  createOwnDatabase,
} from "../../support/servers/databases/test-database.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { expectCleanOutput } from "../../support/stages/engine-stage.ts";
import {
  readUsageRows,
  type StoredUsage,
  withStore,
} from "../../support/stages/usage/stored-usage.ts";
import { openTestJournal } from "../../support/stages/usage/usage-journal.ts";

// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
const isFull = process.env["RELIABILITY_FULL"] === "1";
const MODEL = "drained";
const STREAMS = isFull ? 200 : trialSize(12, 40);
/** Long enough for a short stream, also on a machine that does much else: the file waits most of the time. */
const DRAIN_MS = isFull ? 30_000 : 12_000;
/** What a stream takes, in pieces of a twentieth of a second: from well within the drain to well beyond it. */
const SHORT_PIECES = DRAIN_MS / 50 / 4;
const LONG_PIECES = (DRAIN_MS / 50) * 8;
/** The plan says 100 ms and drain + 2 s, which the report tells; a machine that does much else may be late. */
const LATE_MS = 60_000;
const WAIT = { timeout: 2 * LATE_MS, interval: 20 };

vi.setConfig({ testTimeout: 400_000, hookTimeout: 240_000 });

const table = createCaseTable();
const { shows, leavesOut } = table;
/** Small ones wait most of the time, so they run side by side. */
const describeScenes = isFull ? describe : describe.concurrent;
noteLaterRoutes(table, ["O01", "O02"]);

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "drain-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

type Environment = Readonly<Record<string, string>> & { readonly DATA_DIR: string };

interface Scene {
  readonly simulator: TestSimulator;
  readonly gateway: TestGateway;
  readonly environment: Environment;
}

interface SceneOptions {
  readonly databaseUrl?: string | undefined;
  readonly drainMs?: number;
}

async function startScene(
  name: string,
  { databaseUrl, drainMs = DRAIN_MS }: SceneOptions = {},
): Promise<Scene> {
  const simulator = await startSimulator({
    uniqueUsage: true,
    tokensPerSecond: 20,
    models: [{ name: MODEL, contextLength: 32_768, capabilities: ["completion"] }],
  });
  for (const pieces of [SHORT_PIECES, LONG_PIECES])
    simulator.script({
      match: { body: `pieces:${pieces};` },
      times: "always",
      text: "word ",
      repeat: pieces,
    });
  const dataDir = join(root, name);
  await mkdir(dataDir, { mode: 0o700 });
  if (databaseUrl === undefined) await placeMigratedDatabase(dataDir);
  const environment: Environment = {
    DATA_DIR: dataDir,
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    ADMIN_PASSWORD: "password of the drain 51",
    APP_SECRET: "the secret of all these servers",
    DRAIN_TIMEOUT_MS: String(drainMs),
    METRICS_ENABLED: "1",
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
  };
  return { simulator, environment, gateway: await startGateway(environment) };
}

interface RunningStream {
  readonly family: ClientFamily;
  readonly isLong: boolean;
  readonly client: RawClient;
}

/** A stream whose first words are there. */
async function startStream(port: number, index: number): Promise<RunningStream> {
  const family = CLIENT_FAMILIES[index % CLIENT_FAMILIES.length] as ClientFamily;
  const isLong = index % 2 === 1;
  const text = `pieces:${isLong ? LONG_PIECES : SHORT_PIECES};`;
  const body = family.body(MODEL, { stream: true }, text);
  const client = await openCall(port, { path: family.path, body });
  await client.readUntil((received) => received.includes(family.saidMark), 60_000);
  return { family, isLong, client };
}

function startStreams(port: number, count: number): Promise<RunningStream[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => startStream(port, index)));
}

/** Short ones end well; long ones with the error of their family; none with a bare close. */
async function expectProperEnds(streams: readonly RunningStream[]): Promise<void> {
  for (const { family, isLong, client } of streams) {
    const response = await client.readResponse({ method: "POST", timeoutMs: DRAIN_MS + LATE_MS });
    const { isFinished, error } = family.readStream(response);
    expect([family.name, isLong, isFinished]).toEqual([family.name, isLong, !isLong]);
    if (isLong) expect([error, isErrorOf(family, error, "overloaded")]).toEqual([error, true]);
    client.close();
  }
}

/** Every call the engine saw has its one row with the engine's figures. */
function expectExactLedger(
  simulator: TestSimulator,
  rows: readonly StoredUsage[],
  unended: number,
): void {
  const { missing, duplicate, unexpected, wrong } = compareLedger(simulator.ledger(), rows);
  expect({ missing, duplicate, unexpected, wrong }).toEqual({
    missing: [],
    duplicate: [],
    unexpected: [],
    wrong: [],
  });
  expect(rows.filter(({ success }) => !success)).toHaveLength(unended);
}

interface Upload {
  readonly client: RawClient;
  readonly finish: () => void;
}

/** Half a request, whose other half the test sends or not. */
async function startUpload(port: number): Promise<Upload> {
  const said = JSON.stringify(CLIENT_FAMILIES[0]?.body(MODEL, {}, `pieces:${SHORT_PIECES};`));
  // The larger a body is said to be, the longer it may take: these are to outlast the drain on a slow machine.
  const body = said + " ".repeat(100_000);
  const client = await openRawClient(port);
  const headers = {
    authorization: `Bearer ${TEST_KEY}`,
    "content-type": "application/json",
    "content-length": String(body.length),
  };
  client.send(rawRequest("POST", "/v1/chat/completions", headers) + body.slice(0, 20));
  return { client, finish: () => client.send(body.slice(20)) };
}

async function exitOf(gateway: TestGateway, limitMs: number): Promise<number | null | "late"> {
  return Promise.race([gateway.exited, sleep(limitMs, "late" as const, { ref: false })]);
}

function report(id: string, figures: object): void {
  // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
  console.info(`${id} ${JSON.stringify(figures)}`);
}

/** Several of them, once the server has read their heads. */
async function startUploads(port: number, count: number): Promise<readonly Upload[]> {
  const uploads = await Promise.all(Array.from({ length: count }, () => startUpload(port)));
  await vi.waitFor(async () => {
    const { text } = await callGateway(port, { method: "GET", path: "/metrics" });
    expect(sumOf(readScrape(text), "svc_gateway_open_calls")).toBe(count);
  }, WAIT);
  return uploads;
}

/** Its own journal's folder is gone once all of it is in the database. */
function journalFolders(environment: Environment): readonly string[] {
  return readdirSync(join(environment.DATA_DIR, "journal"));
}

async function expectDrain(place: "embedded" | "PostgreSQL"): Promise<void> {
  const url = place === "PostgreSQL" ? databaseServerUrl : undefined;
  const store = url === undefined ? undefined : await createMigratedDatabase(url);
  const { simulator, gateway, environment } = await startScene(place, { databaseUrl: store?.url });
  const { port } = gateway;
  const idle = await openRawClient(port);
  idle.send(rawRequest("GET", "/api/health", {}));
  expect((await idle.readResponse()).status).toBe(200);
  const unused = await openRawClient(port);
  const uploads = await startUploads(port, 4);
  const whole = await openCall(port, {
    body: CLIENT_FAMILIES[0]?.body(MODEL, {}, `pieces:${SHORT_PIECES};`),
  });
  const streams = await startStreams(port, STREAMS);

  const stoppedAt = performance.now();
  gateway.kill("SIGTERM");
  await vi.waitFor(
    async () => {
      const { status } = await callGateway(port, { method: "GET", path: "/api/ready" });
      expect(status).toBe(503);
    },
    { ...WAIT, interval: 5 },
  );
  const unreadyMs = performance.now() - stoppedAt;
  const ready = await callGateway(port, { method: "GET", path: "/api/ready" });
  expect(ready.json()).toMatchObject({
    ready: false,
    failed: ["stopping"],
    hints: { stopping: expect.any(String) },
  });
  expect(ready.header("connection")).toBe("close");
  const health = await callGateway(port, { method: "GET", path: "/api/health" });
  expect(health.status).toBe(200);
  for (const family of CLIENT_FAMILIES) {
    const refused = await callGateway(port, { path: family.path, body: family.body(MODEL) });
    family.expectError(refused, 503, "overloaded");
    expect(Number(refused.header("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(refused.header("connection")).toBe("close");
  }
  idle.send(rawRequest("GET", "/v1/models", { authorization: `Bearer ${TEST_KEY}` }));
  expect((await idle.readResponse()).status).toBe(503);
  for (const { finish } of uploads.slice(1)) finish();

  await expectProperEnds(streams);
  const { status, isComplete } = await whole.readResponse({ method: "POST" });
  expect([status, isComplete]).toEqual([200, true]);
  const [never, ...finished] = uploads;
  for (const { client } of finished)
    expect((await client.readResponse({ method: "POST" })).status).toBe(200);
  const unsent = await never?.client.readResponse({ method: "POST" });
  expect(unsent?.status).toBe(503);

  expect(await exitOf(gateway, LATE_MS)).toBe(0);
  report("O01", { unreadyMs, exitAfterDrainMs: performance.now() - stoppedAt - DRAIN_MS });
  unused.close();
  expectCleanOutput(gateway);
  expect(gateway.output()).not.toMatch(/"level":"(?:error|fatal)"/);
  await storeLeftJournal(environment);
  expect(journalFolders(environment)).toEqual([]);
  expectExactLedger(simulator, await readUsageRows(environment), STREAMS / 2);
  await simulator.stop();
  await store?.drop();
}

describeScenes("a server that is told to stop", () => {
  for (const place of ["embedded", "PostgreSQL"] as const) {
    const where = `${STREAMS} streams, ${place}`;
    if (place === "PostgreSQL" && databaseServerUrl === undefined)
      leavesOut("O01", where, "left out: no PostgreSQL here");
    else {
      shows("O01", where, "drains, tells why, and leaves in time", () => expectDrain(place));
    }
  }

  shows("O01", "nothing under way", "leaves at once", async () => {
    const store = await createOwnDatabase();
    const scene = { databaseUrl: store?.url, drainMs: 10 * LATE_MS };
    const { simulator, gateway } = await startScene("idle", scene);
    const idle = await openRawClient(gateway.port);
    idle.send(rawRequest("GET", "/api/health", {}));
    await idle.readResponse();
    const stoppedAt = performance.now();
    gateway.kill("SIGTERM");
    expect(await exitOf(gateway, LATE_MS)).toBe(0);
    report("O01 idle", { exitMs: performance.now() - stoppedAt });
    await simulator.stop();
    await store?.drop();
  });
});

describeScenes("a server that is told to stop while its database is away", () => {
  if (databaseServerUrl === undefined) {
    leavesOut("O01", "PostgreSQL away", "left out: no PostgreSQL here");
    return;
  }
  const severings: Readonly<Record<string, (connection: TcpFault) => Promise<void>>> = {
    down: (connection) => connection.down(),
    async hung(connection) {
      connection.set("up", { stall: true });
      connection.set("down", { stall: true });
    },
  };
  for (const [kind, sever] of Object.entries(severings)) {
    shows("O01", `PostgreSQL ${kind}`, "leaves in time and loses nothing", async () => {
      const severable = await openSeverableDatabase();
      if (severable === undefined) throw new Error("there was a PostgreSQL");
      const { url, directUrl, connection } = severable;
      const { simulator, gateway, environment } = await startScene(`away-${kind}`, {
        databaseUrl: url,
      });
      const streams = await startStreams(gateway.port, 10);
      await sever(connection);
      const stoppedAt = performance.now();
      gateway.kill("SIGTERM");
      await expectProperEnds(streams);
      expect(await exitOf(gateway, LATE_MS)).toBe(0);
      report(`O01 ${kind}`, { exitAfterDrainMs: performance.now() - stoppedAt - DRAIN_MS });
      expectCleanOutput(gateway);
      await connection.down();
      const direct = { ...environment, DATABASE_URL: directUrl };
      await storeLeftJournal(direct);
      expectExactLedger(simulator, await readUsageRows(direct), streams.length / 2);
      await simulator.stop();
      await severable.remove();
    });
  }
});

describeScenes("a server that is told twice to stop", () => {
  for (const second of ["SIGTERM", "SIGINT"] as const) {
    shows("O02", `streams, ${second}`, "leaves at once, and its journal is whole", async () => {
      const store = await createOwnDatabase();
      const { simulator, gateway, environment } = await startScene(`twice-${second}`, {
        databaseUrl: store?.url,
      });
      const streams = await startStreams(gateway.port, 12);
      gateway.kill("SIGTERM");
      await vi.waitFor(() => expect(gateway.output()).toContain('"stopping"'), WAIT);
      const toldAt = performance.now();
      // A signal just after the first is the same request, told by somebody else.
      const again = setInterval(() => gateway.kill(second), 100);
      expect(await exitOf(gateway, LATE_MS)).toBe(1);
      clearInterval(again);
      report("O02", { exitMs: performance.now() - toldAt });
      for (const { client } of streams) client.close();

      await storeLeftJournal(environment);
      const rows = await readUsageRows(environment);
      expect(rows.map(({ success }) => success)).toEqual(streams.map(() => false));
      await simulator.stop();
      await store?.drop();
    });
  }
});

/**
 * What a next start does with the journal that a stop has left, as one that is short of time does: brings all of it to
 * the database, and finds no damage, which it would keep aside.
 */
async function storeLeftJournal(environment: Environment): Promise<void> {
  if (journalFolders(environment).length === 0) return;
  await withStore(environment, async (database) => {
    const journal = await openTestJournal(join(environment.DATA_DIR, "journal"), database);
    await journal.adopted;
    await journal.drain(LATE_MS);
  });
  expect(journalFolders(environment)).toEqual([]);
}
