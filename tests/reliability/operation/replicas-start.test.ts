import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { callGateway, chatBody } from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import {
  openSeverableDatabase,
  type SeverableDatabase,
} from "../../support/servers/databases/severable-database.ts";
import { createDatabase } from "../../support/servers/databases/test-database.ts";
import { type RedisServer, startRedisServer } from "../../support/servers/redis-server.ts";
import {
  startGateway,
  startRefused,
  type TestGateway,
} from "../../support/servers/start-gateway.ts";
import { callWithKey } from "../../support/servers/start-replicas.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { expectCleanOutput, expectUnhurt } from "../../support/stages/engine-stage.ts";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 240_000 });

const redis = databaseServerUrl === undefined ? undefined : await startRedisServer();
afterAll(() => redis?.remove());

describe.runIf(redis !== undefined)("replicas on one database", () => {
  const { url: redisUrl } = redis as RedisServer;
  const running: TestGateway[] = [];
  let simulator: TestSimulator;
  let database: SeverableDatabase;
  let root: string;

  beforeAll(async () => {
    simulator = await startSimulator();
  });
  afterAll(async () => {
    await simulator.stop();
  });
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "replicas-"));
    database = (await openSeverableDatabase()) as SeverableDatabase;
  });
  afterEach(async () => {
    for (const gateway of running.splice(0)) {
      gateway.kill("SIGKILL");
      await gateway.exited;
    }
    await database.remove();
    await rm(root, { recursive: true, force: true });
  });

  const settings = (name: string, more: Record<string, string> = {}) => ({
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    APP_SECRET: "the secret of all these replicas",
    DATABASE_URL: database.directUrl,
    DATA_DIR: join(root, name),
    ...more,
  });
  const start = async (name: string, more?: Record<string, string>) => {
    const gateway = await startGateway(settings(name, more));
    running.push(gateway);
    return gateway;
  };
  const refused = (name: string, more?: Record<string, string>) =>
    startRefused({ ...settings(name, more), HOST: "127.0.0.1", PORT: "0" });
  const shared = { REDIS_URL: redisUrl };

  it("a second one without REDIS_URL refuses to start, and says what to do", async () => {
    const first = await start("first");
    const { code, output } = await refused("second");
    expect(code).toBeGreaterThan(0);
    expect(output).toMatch(/another replica.*REDIS_URL/is);
    expect(output).not.toMatch(/\n\s+at /);
    await expectUnhurt(first);
    expect((await callGateway(first.port, { body: chatBody("sim-chat") })).status).toBe(200);
  });

  it("one that shares its limits and one that does not never run together", async () => {
    const first = await start("first", shared);
    const { output } = await refused("second");
    expect(output).toMatch(/another replica.*REDIS_URL/is);
    await first.stop();
    await start("second");
    const { code, output: second } = await refused("first", shared);
    expect(code).toBeGreaterThan(0);
    expect(second).toMatch(/a replica without REDIS_URL/i);
  });

  it("three with REDIS_URL start at once on an empty database", async ({ onTestFinished }) => {
    const { url, drop } = await createDatabase(databaseServerUrl ?? "");
    onTestFinished(drop);
    const settings = { ...shared, DATABASE_URL: url };
    const three = await Promise.all(["one", "two", "three"].map((name) => start(name, settings)));
    for (const gateway of three) {
      const ready = await callGateway(gateway.port, { method: "GET", path: "/api/ready" });
      expect([ready.status, ready.json()]).toEqual([
        200,
        { ready: true, checks: { db: true, migrations: true, llm: true } },
      ]);
      expectCleanOutput(gateway);
    }
  });

  it("one takes over at once from one that was killed", async () => {
    const killed = await start("first");
    killed.kill("SIGKILL");
    const heir = await start("first");
    expect(heir.output()).not.toContain("waiting until it stops");
    expect((await callGateway(heir.port, { body: chatBody("sim-chat") })).status).toBe(200);
  });

  it("one goes on when its connection is lost, and has its lock again", async () => {
    const gateway = await start("first", { DATABASE_URL: database.url });
    await database.connection.down();
    await expect
      .poll(() => gateway.output(), { timeout: 60_000 })
      .toContain("lock on the database was lost");
    await database.connection.up();
    await expect.poll(() => gateway.output(), { timeout: 60_000 }).toContain("is held again");
    const { output } = await refused("second");
    expect(output).toMatch(/another replica.*REDIS_URL/is);
    await expectUnhurt(gateway);
  });

  it("keys with limits are refused while another one has taken the database, and only so long", async () => {
    const gateway = await start("first", { DATABASE_URL: database.url });
    const body = { name: "limited", request_limit: 100 };
    const issued = await callGateway(gateway.port, { path: "/v1/api-keys", body });
    const { key } = issued.json() as { readonly key: string };
    const call = () => callWithKey(gateway, key, { body: chatBody("sim-chat") });
    expect((await call()).status).toBe(200);

    await database.connection.down();
    const other = await start("second");
    // Not known yet: limits go on from memory while the database is away.
    expect((await call()).status).toBe(200);
    await database.connection.up();
    await expect.poll(async () => (await call()).status, { timeout: 60_000 }).toBe(503);
    const refusal = await call();
    expectChatError(refusal, 503, "storage_unavailable");
    expect(Number(refusal.header("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await callGateway(gateway.port, { body: chatBody("sim-chat") })).status).toBe(200);
    const ready = await callGateway(gateway.port, { method: "GET", path: "/api/ready" });
    expect(ready.json()).toMatchObject({ limits: "unavailable" });
    await expect
      .poll(() => gateway.output(), { timeout: 60_000 })
      .toMatch(/"level":"error".*REDIS_URL/);

    await other.stop();
    await expect.poll(async () => (await call()).status, { timeout: 60_000 }).toBe(200);
  });
});
