import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chatBody } from "../../support/clients/call-gateway.ts";
import { issueKey } from "../../support/clients/issue-key.ts";
import { scrapeMetrics, sumOf } from "../../support/clients/scrape-metrics.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

const MANY_MODELS = trialSize(300, 10_000);
const MANY_KEYS = trialSize(30, 1_000);
/** The database makes one key after the other. */
const AT_ONCE = { keys: 4, calls: 40 };

describe("O03: whatever clients send", () => {
  let engine: TestSimulator;
  let server: TestGateway;
  beforeAll(async () => {
    engine = await startSimulator({ engine: "vllm" });
    server = await startGateway({
      METRICS_ENABLED: "1",
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: engine.url,
      // On a busy machine a call may wait for the database.
      DB_POOL_WAIT_MS: "30000",
    });
  });
  afterAll(async () => {
    await server?.stop();
    await engine?.stop();
  });

  it(`${MANY_MODELS} names of models and ${MANY_KEYS} keys make no further line, and show in none`, async () => {
    const before = await scrapeMetrics(server);
    const keys = await inTurns(
      MANY_KEYS,
      AT_ONCE.keys,
      async () => (await issueKey(server, {})).key,
    );
    const statuses = await inTurns(MANY_MODELS, AT_ONCE.calls, async (index) => {
      const response = await fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${keys[index % keys.length]}`,
          "content-type": "application/json",
        },
        body: JSON.stringify(chatBody(`model-${index}`, { max_tokens: 1 })),
      });
      await response.arrayBuffer();
      return response.status;
    });
    expect(new Set(statuses)).toEqual(new Set([200]));
    // Unknown paths and methods are names of clients, too.
    await inTurns(200, AT_ONCE.calls, async (index) => {
      const path = index % 2 === 0 ? `/v1/path-${index}` : `/path-${index}`;
      await (await fetch(server.url + path)).arrayBuffer();
    });
    const after = await scrapeMetrics(server);
    expect([...after.keys()]).toEqual([...before.keys()]);
    expect(sumOf(after, "svc_gateway_calls_total")).toBe(MANY_MODELS);
    expect(after.get('svc_api_keys{state="active"}')).toBe(MANY_KEYS + 1);
    expect(after.get('svc_http_requests_total{kind="v1",status_class="4xx"}')).toBe(100);
    expect(after.get('svc_http_requests_total{kind="other",status_class="4xx"}')).toBe(100);
    expect([...after.keys()].join()).not.toMatch(/model-|path-|key_|sk-/);
  }, 300_000);
});

/** Does so many, some of them at once. */
async function inTurns<Result>(
  times: number,
  atOnce: number,
  work: (index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < times) {
      const index = next++;
      results[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
