import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callGateway, chatBody } from "../../support/clients/call-gateway.ts";
import { type IssuedKey, issueKey, readLimitUse } from "../../support/clients/issue-key.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { createMigratedDatabase } from "../../support/servers/databases/test-database.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

const MODEL = "sim-chat";
const DEATHS = 3;
const CALLS_A_LIFE = 20;
/** Short words: an engine counts more tokens than characters / 4, which the row of an embedding states. */
const SHORT_WORDS = "a b c d ".repeat(100);

// A journal whose process was killed is replayed by the next start, before its first limited call is admitted.
describe("A key's limits", () => {
  let dataDir: string;
  let simulator: TestSimulator;
  let store: Awaited<ReturnType<typeof createMigratedDatabase>> | undefined;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "limits-restart-"));
    simulator = await startSimulator();
    if (databaseServerUrl !== undefined) store = await createMigratedDatabase(databaseServerUrl);
  });
  afterAll(async () => {
    await simulator.stop();
    await store?.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  function start(): Promise<TestGateway> {
    return startGateway({
      DATA_DIR: dataDir,
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: simulator.url,
      ...(store !== undefined && { DATABASE_URL: store.url }),
    });
  }

  /** Asks once; resolves with the answer's tokens, or with the code of the refusal. */
  async function ask(gateway: TestGateway, { key }: IssuedKey): Promise<number | string> {
    const answer = await callGateway(gateway.port, {
      body: chatBody(MODEL, { max_tokens: 16 }),
      headers: { authorization: `Bearer ${key}` },
    });
    const body = answer.json() as { usage?: { total_tokens: number }; error?: { code: string } };
    return body.usage?.total_tokens ?? body.error?.code ?? "nothing";
  }

  it("count every answered call once, however often the server is killed right after it", async () => {
    let gateway = await start();
    const key = await issueKey(gateway, {
      request_limit: DEATHS * CALLS_A_LIFE + 1,
      token_limit: 1_000_000,
    });
    let tokens = 0;
    for (let death = 0; death < DEATHS; death += 1) {
      const asking = Array.from({ length: CALLS_A_LIFE }, () => ask(gateway, key));
      for (const answer of await Promise.all(asking)) tokens += Number(answer);
      gateway.kill("SIGKILL");
      await gateway.exited;
      gateway = await start();
    }
    try {
      expect(await readLimitUse(gateway, key, "tokens")).toMatchObject({ used: tokens });
      const requests = await readLimitUse(gateway, key, "requests");
      expect(requests).toMatchObject({ used: DEATHS * CALLS_A_LIFE, remaining: 1 });
      expect(await ask(gateway, key)).toBeTypeOf("number");
      expect(await ask(gateway, key)).toBe("request_limit_exceeded");
    } finally {
      await gateway.stop();
    }
  }, 120_000);

  it("keep what was charged beyond the row of a call, killed or stopped", async () => {
    let gateway = await start();
    const key = await issueKey(gateway, { token_limit: 1_000_000 });
    const embedding = await callGateway(gateway.port, {
      path: "/v1/embeddings",
      body: { model: "sim-embed", input: SHORT_WORDS },
      headers: { authorization: `Bearer ${key.key}` },
    });
    expect(embedding.status).toBe(200);
    const used = await readLimitUse(gateway, key, "tokens");
    // The engine counts a token for each word.
    expect(used?.used).toBeGreaterThan(SHORT_WORDS.length / 4);
    gateway.kill("SIGKILL");
    await gateway.exited;
    // The first start counts the call from the journal, the second from the rows and their sums.
    for (let starts = 0; starts < 2; starts += 1) {
      gateway = await start();
      try {
        expect(await readLimitUse(gateway, key, "tokens")).toEqual(used);
      } finally {
        await gateway.stop();
      }
    }
  }, 120_000);
});
