import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { freePort } from "../../support/processes/free-port.ts";
import {
  openSeverableDatabase,
  type SeverableDatabase,
} from "../../support/servers/databases/severable-database.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

const license = {
  valid: true,
  in_grace: false,
  expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  days_left: 30,
  warning: expect.stringContaining("No license is set"),
};
const SOON_MS = 15_000;

describe("4.6 health, without a key", () => {
  let simulator: TestSimulator;
  let gateway: TestGateway;

  beforeAll(async () => {
    const port = await freePort();
    gateway = await startGateway({
      LLM_BACKEND: "ollama",
      LLM_BASE_URL: `http://127.0.0.1:${port}`,
    });
    simulator = await startSimulator({ engine: "ollama", port });
  });
  afterAll(async () => {
    await gateway?.stop();
    await simulator?.stop();
  });

  const get = async (path: string) => {
    const response = await fetch(gateway.url + path);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-request-id")).toBeTruthy();
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  /** The engine's state is known as of a moment ago. */
  const getOnce = (path: string, status: number, isSo: (body: object) => boolean) =>
    expect
      .poll(
        async () => {
          const answer = await get(path);
          return answer.status === status && isSo(answer.body);
        },
        { timeout: SOON_MS },
      )
      .toBe(true);

  const cases = (reachable: boolean) => {
    it("GET /v1/health is 200 and tells whether calls can be answered", async () => {
      await getOnce("/v1/health", 200, (body) => "ok" in body && body.ok === reachable);
      expect(await get("/v1/health")).toEqual({
        status: 200,
        body: { ok: reachable, license, llm: { backend: "ollama", reachable } },
      });
    });

    it("GET /api/health is 200 with the version, the backend and the license", async () => {
      expect(await get("/api/health")).toEqual({
        status: 200,
        body: { status: "ok", version: packageJson.version, backend: "ollama", license },
      });
    });
  };

  describe("with the engine there", () => {
    cases(true);

    it("GET /api/ready is 200 with every check", async () => {
      expect(await get("/api/ready")).toEqual({
        status: 200,
        body: { ready: true, checks: { db: true, migrations: true, llm: true } },
      });
    });
  });

  describe("with the engine gone", () => {
    beforeAll(() => simulator.stop());
    cases(false);

    it("GET /api/ready is 503 and names the check that failed", async () => {
      await getOnce("/api/ready", 503, () => true);
      expect(await get("/api/ready")).toEqual({
        status: 503,
        body: {
          ready: false,
          failed: ["llm"],
          checks: { db: true, migrations: true, llm: false },
          hints: { llm: expect.stringMatching(/\(ollama\).*LLM_BASE_URL/) },
        },
      });
    });
  });

  describe("with the engine back", () => {
    beforeAll(async () => {
      simulator = await startSimulator({ engine: "ollama", port: simulator.port });
    });

    it("is ready again without a restart", async () => {
      await getOnce("/api/ready", 200, () => true);
    });
  });
});

describe("health, with everything it asks hanging", () => {
  const engine = createServer(() => undefined);
  let database: SeverableDatabase | undefined;
  let gateway: TestGateway;

  beforeAll(async () => {
    await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
    const { port } = engine.address() as AddressInfo;
    database = await openSeverableDatabase();
    gateway = await startGateway({
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: `http://127.0.0.1:${port}`,
      ...(database !== undefined && { DATABASE_URL: database.url }),
    });
    database?.connection.set("up", { stall: true });
    database?.connection.set("down", { stall: true });
  });
  afterAll(async () => {
    database?.connection.clear();
    engine.closeAllConnections();
    await gateway?.stop();
    engine.close();
    await database?.remove();
  });

  /** How long many answers take, twenty at the same time: a wait in each round adds up. */
  const roundsMs = async (path: string, status: number, rounds: number) => {
    const startedAt = performance.now();
    for (let round = 0; round < rounds; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => fetch(gateway.url + path)),
      );
      expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => status));
      await Promise.all(answers.map((answer) => answer.text()));
    }
    return performance.now() - startedAt;
  };

  it("GET /v1/health tells at once that the engine does not answer", async () => {
    expect(await roundsMs("/v1/health", 200, 3)).toBeLessThan(10_000);
    const body = await (await fetch(`${gateway.url}/v1/health`)).json();
    expect(body).toMatchObject({ ok: false, llm: { backend: "vllm", reachable: false } });
  });

  it("GET /api/health waits for nobody", async () => {
    expect(await roundsMs("/api/health", 200, 12)).toBeLessThan(10_000);
  });

  it("GET /api/ready is 503 soon, and says what to do about each", async () => {
    expect(await roundsMs("/api/ready", 503, 3)).toBeLessThan(10_000);
    const body = await (await fetch(`${gateway.url}/api/ready`)).json();
    const failed = database === undefined ? ["llm"] : ["db", "llm"];
    expect(body).toMatchObject({ ready: false, failed });
    expect(Object.keys((body as { hints: object }).hints)).toEqual(failed);
  });
});
