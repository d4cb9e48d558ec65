import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { createCaseTable, noteLaterRoutes } from "../../support/case-table.ts";
import { CHAT_PATH, callGateway } from "../../support/clients/call-gateway.ts";
import { CLIENT_FAMILIES } from "../../support/clients/client-family.ts";
import { logIn } from "../../support/clients/http-session.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import {
  CANARIES,
  HOSTILE_MODEL,
  leaveCalls,
  scriptHostileAnswers,
  sendHostileCalls,
  sendRawAttacks,
} from "../../support/faults/hostile-calls.ts";
import {
  openSeverableDatabase,
  type SeverableDatabase,
} from "../../support/servers/databases/severable-database.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { readUsageRows, type StoredUsage } from "../../support/stages/usage/stored-usage.ts";

const ROUNDS = 12;
const EVENTUALLY_MS = 120_000;
vi.setConfig({ testTimeout: 240_000, hookTimeout: 400_000 });

const table = createCaseTable();
const { shows } = table;
noteLaterRoutes(table, ["O04"]);

let simulator: TestSimulator;
let database: SeverableDatabase | undefined;
let gateway: TestGateway;
let session: string;
let rows: readonly StoredUsage[];
let lines: readonly LogLine[];
const answers: RawResponse[] = [];
let metrics = "";

interface LogLine extends Readonly<Record<string, unknown>> {
  readonly level: string;
  readonly msg: string;
}

beforeAll(async () => {
  database = await openSeverableDatabase();
  simulator = await startSimulator({
    models: [{ name: HOSTILE_MODEL, contextLength: 32_768, capabilities: ["completion", "tools"] }],
  });
  scriptHostileAnswers(simulator);
  const url = database && new URL(database.url);
  // The server of the tests trusts who comes over loopback.
  if (url?.password === "") url.password = CANARIES.databasePassword;
  gateway = await startGateway({
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    LLM_API_KEY: CANARIES.engineKey,
    ADMIN_PASSWORD: CANARIES.adminPassword,
    OPENAI_API_KEY: CANARIES.vendorKey,
    OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
    OPENAI_MODELS: "gpt-5",
    METRICS_ENABLED: "1",
    METRICS_TOKEN: CANARIES.metricsToken,
    LOG_LEVEL: "debug",
    ...(url !== undefined && { DATABASE_URL: url.href }),
  });
  session = await logIn(gateway.url, "admin", CANARIES.adminPassword);
  for (let round = 0; round < ROUNDS; round += 1)
    answers.push(...(await sendHostileCalls(gateway, session, round)));
  await leaveCalls(gateway);
  await sendRawAttacks(gateway);
  await breakDatabase();
  metrics = await readMetrics();
  const { dataDir } = gateway;
  await stopAndRead(dataDir);
});
afterAll(async () => {
  gateway?.kill("SIGKILL");
  await gateway?.exited;
  await simulator?.stop();
  await rm(gateway?.dataDir ?? "", { recursive: true, force: true });
  await database?.remove();
});

async function send(request: Parameters<typeof callGateway>[1]): Promise<RawResponse> {
  const response = await callGateway(gateway.port, request);
  answers.push(response);
  return response;
}

/** Calls, logins and changes whose queries fail. */
async function breakDatabase(): Promise<void> {
  if (database === undefined) return;
  await database.connection.down();
  const token = { authorization: `Bearer ${session}` };
  await Promise.all([
    send({
      path: "/api/auth/login",
      body: { username: "admin", password: CANARIES.adminPassword },
    }),
    send({
      path: "/api/admin/users",
      headers: token,
      body: { username: CANARIES.prompt, password: CANARIES.adminPassword, role: "user" },
    }),
    send({ path: "/v1/api-keys", headers: token, body: { name: CANARIES.prompt } }),
    send({ path: CHAT_PATH, body: CLIENT_FAMILIES[0]?.body(HOSTILE_MODEL) }),
    send({
      path: CHAT_PATH,
      headers: { authorization: `Bearer ${CANARIES.foreignKey}` },
      body: CLIENT_FAMILIES[0]?.body(HOSTILE_MODEL),
    }),
    send({ method: "GET", path: "/api/ready" }),
  ]);
  await sleep(2_000);
  await database.connection.up();
  const until = Date.now() + EVENTUALLY_MS;
  while ((await callGateway(gateway.port, { method: "GET", path: "/api/ready" })).status !== 200) {
    if (Date.now() > until) throw new Error("it was never ready again");
    await sleep(100);
  }
}

async function readMetrics(): Promise<string> {
  const headers = { authorization: `Bearer ${CANARIES.metricsToken}` };
  const refused = await send({ method: "GET", path: "/metrics" });
  expect(refused.status).toBe(401);
  const response = await callGateway(gateway.port, { method: "GET", path: "/metrics", headers });
  expect(response.status).toBe(200);
  return response.text;
}

/** Every line, and every usage row, as they are at the end. */
async function stopAndRead(dataDir: string): Promise<void> {
  gateway.kill("SIGTERM");
  expect(await gateway.exited).toBe(0);
  rows = await readUsageRows({ DATA_DIR: dataDir, DATABASE_URL: database?.directUrl });
  lines = gateway
    .output()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LogLine);
}

const requestLines = () => lines.filter(({ msg }) => msg === "request");

describe("the log after calls of every kind", () => {
  const foundIn = (text: string) =>
    [...Object.values(CANARIES), session].filter(
      (secret) => text.includes(secret) || text.includes(encodeURIComponent(secret)),
    );

  shows(
    "O04",
    "log: secrets",
    "holds no prompt, answer, key, cookie, password or query",
    async () => {
      expect(foundIn(gateway.output())).toEqual([]);
    },
  );

  shows("O04", "error bodies", "hold none of our secrets", async () => {
    const failed = answers.filter(({ status }) => status >= 400);
    expect(failed.length).toBeGreaterThan(100);
    // An engine may repeat the prompt in its words, to the client whose prompt it is.
    const foundOfOurs = (text: string) => foundIn(text).filter((one) => one !== CANARIES.prompt);
    for (const { text } of failed) expect([text, foundOfOurs(text)]).toEqual([text, []]);
  });

  shows("O04", "metrics", "hold none of our secrets, and no text of a client", async () => {
    expect(foundIn(metrics)).toEqual([]);
    expect(metrics).not.toMatch(/forged|canary/);
  });

  shows("O04", "log: forgery", "has only lines of our own, in printable characters", async () => {
    for (const line of gateway.output().split("\n"))
      expect(line).toMatch(/^[^\p{Cc}\u2028\u2029]*$/u);
    expect(lines.filter(({ level, msg }) => level === "fatal" || msg === "forged")).toEqual([]);
    for (const line of lines) expect(Object.keys(line).at(-1)).toBe("msg");
  });

  shows("O04", "log: one line a request", "has one line for each request", async () => {
    const ids = requestLines().map((line) => line["request_id"]);
    expect(new Set(ids).size).toBe(ids.length);
    const seen = answers.map((answer) => answer.header("x-request-id"));
    expect(seen.filter((id) => !ids.includes(id))).toEqual([]);
    for (const line of requestLines()) {
      expect(line).toMatchObject({
        method: expect.stringMatching(/^[A-Z-]{1,16}$/),
        status: expect.any(Number),
        duration_ms: expect.any(Number),
        client: "127.0.0.1",
      });
      expect(String(line["route"] ?? line["path"])).toMatch(/^\/[\x21-\x7e]{0,400}$/);
    }
  });

  shows("O04", "log: usage rows", "tells of a metered call what its usage row tells", async () => {
    expect(rows.length).toBeGreaterThan(100);
    const byId = new Map(requestLines().map((line) => [line["request_id"], line]));
    for (const row of rows) {
      expect(byId.get(row.id)).toMatchObject({
        key_id: row.keyId,
        channel: row.channel,
        model: row.model,
        input_tokens: row.inputTokens,
        output_tokens: row.outputTokens,
        outcome: row.outcome,
        ttft_ms: row.firstTokenMs,
      });
    }
  });

  shows(
    "O04",
    "log: aborts",
    "tells whose client left, and none of those is an error",
    async () => {
      const aborted = requestLines().filter((line) => line["aborted"] === true);
      expect(aborted).toHaveLength(2 * CLIENT_FAMILIES.length);
      expect(new Set(aborted.map(({ level }) => level))).toEqual(new Set(["info"]));
      const statuses = aborted.map((line) => line["status"]);
      expect(statuses.toSorted()).toEqual([200, 200, 200, 499, 499, 499]);
    },
  );

  shows("O04", "log: levels", "has probes that succeed at debug, and calls at info", async () => {
    const levelsOf = (route: string, status: number) =>
      new Set(
        requestLines()
          .filter((line) => line["route"] === route && line["status"] === status)
          .map(({ level }) => level),
      );
    for (const route of ["/api/health", "/api/ready", "/v1/health", "/metrics"])
      expect([route, ...levelsOf(route, 200)]).toEqual([route, "debug"]);
    expect([...levelsOf(CHAT_PATH, 200)]).toEqual(["info"]);
    expect([...levelsOf(CHAT_PATH, 502)]).toEqual(["info"]);
  });
});
