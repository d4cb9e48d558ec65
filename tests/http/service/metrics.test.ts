import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readScrape, scrapeMetrics } from "../../support/clients/scrape-metrics.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";
import { createMovedClock, type MovedClock } from "../../support/stages/moved-clock.ts";

const TOKEN = "the-scraper's-own-token-0123456789";
const PASSWORD = "the password of this test";
const DAY_MS = 86_400_000;
const NO_ENGINE = { LLM_BACKEND: "vllm", LLM_BASE_URL: "http://127.0.0.1:1" };

/** A server for the tests of one group. */
function withGateway(environment: Readonly<Record<string, string>>): () => TestGateway {
  let gateway: TestGateway | undefined;
  beforeAll(async () => {
    gateway = await startGateway({ ...NO_ENGINE, ADMIN_PASSWORD: PASSWORD, ...environment });
  });
  afterAll(() => gateway?.stop());
  return () => {
    if (gateway === undefined) throw new Error("the gateway is not there");
    return gateway;
  };
}

const get = ({ url }: TestGateway, authorization?: string, method = "GET") =>
  fetch(`${url}/metrics`, {
    method,
    headers: authorization === undefined ? {} : { authorization },
  });

describe("GET /metrics, when METRICS_ENABLED is not set", () => {
  const gateway = withGateway({ METRICS_TOKEN: TOKEN });

  it("is served by nobody, whoever asks", async () => {
    for (const authorization of [undefined, `Bearer ${TOKEN}`, `Bearer ${TEST_KEY}`]) {
      const response = await get(gateway(), authorization);
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({
        error: {
          message: expect.any(String),
          type: "invalid_request_error",
          param: null,
          code: "not_found",
        },
      });
    }
  });
});

describe("GET /metrics, without METRICS_TOKEN", () => {
  const gateway = withGateway({ METRICS_ENABLED: "1" });

  it("is open, in the text format of version 0.0.4", async () => {
    const response = await get(gateway());
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const text = await response.text();
    expect(text).toMatch(/^# HELP svc_build_info /);
    expect(text.endsWith("\n")).toBe(true);
  });

  it("is the text format also for scrapers that would rather have another", async () => {
    const accept =
      "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    const response = await fetch(`${gateway().url}/metrics`, { headers: { accept } });
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  it("is read only", async () => {
    const posted = await get(gateway(), undefined, "POST");
    expect(posted.status).toBe(405);
    expect(posted.headers.get("allow")).toBe("GET");
    const head = await get(gateway(), undefined, "HEAD");
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
  });

  it("collects once for scrapes at the same time, and again a second later", async () => {
    // The figure that grows with each of them tells how often it was looked at.
    const probes = 'svc_http_requests_total{kind="probe",status_class="2xx"}';
    const before = (await scrapeMetrics(gateway())).get(probes) ?? 0;
    let bursts = 0;
    const answersOfBurst = async () => {
      bursts += 1;
      const scrapes = Array.from({ length: 20 }, async () => (await get(gateway())).text());
      return new Set(await Promise.all(scrapes)).size;
    };
    // On a busy machine a burst may take more than that second.
    await expect.poll(answersOfBurst).toBe(1);
    const after = await scrapeMetrics(gateway());
    expect(after.get(probes)).toBe(before + 1 + bursts * 20);
  });

  it("tells what runs here", async () => {
    const scrape = await scrapeMetrics(gateway());
    const info = [...scrape.keys()].find((line) => line.startsWith("svc_build_info"));
    const runtime = process.versions["bun"] === undefined ? "node" : "bun";
    expect(info).toContain(`runtime="${runtime}",runtime_version="${process.versions[runtime]}"`);
    expect(info).toContain('backend="vllm"');
    const startedAt = scrape.get("svc_process_start_time_seconds") ?? 0;
    expect(Math.abs(Date.now() / 1_000 - startedAt)).toBeLessThan(300);
    expect(scrape.get("svc_process_cpu_seconds_total")).toBeGreaterThan(0.05);
    expect(scrape.get("svc_process_resident_memory_bytes")).toBeGreaterThan(20_000_000);
    expect(scrape.get("svc_process_open_fds")).toBeGreaterThan(5);
    expect(scrape.get("svc_process_event_loop_lag_seconds_count")).toBeGreaterThan(0);
  });
});

describe("GET /metrics, with METRICS_TOKEN", () => {
  const gateway = withGateway({ METRICS_ENABLED: "1", METRICS_TOKEN: TOKEN });

  it("lets in who sends the token, whatever the case of the scheme", async () => {
    for (const authorization of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`]) {
      expect((await get(gateway(), authorization)).status).toBe(200);
    }
  });

  it("refuses who sends none or another, and shows no figure and no token", async () => {
    const wrong = [
      undefined,
      "",
      "Bearer",
      TOKEN,
      `Basic ${TOKEN}`,
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(0, -1)}`,
      `Bearer ${TOKEN} ${TOKEN}`,
    ];
    for (const authorization of wrong) {
      const response = await get(gateway(), authorization);
      expect([authorization, response.status]).toEqual([authorization, 401]);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      const text = await response.text();
      expect(text).not.toContain("svc_");
      expect(text).not.toContain(TOKEN);
      expect(JSON.parse(text).error).toMatchObject({
        type: "authentication_error",
        code: "invalid_credentials",
        message: expect.stringContaining("METRICS_TOKEN"),
      });
    }
    const inQuery = await fetch(`${gateway().url}/metrics?token=${TOKEN}`);
    expect(inQuery.status).toBe(401);
  });

  it("takes no API key and no session", async () => {
    const login = await fetch(`${gateway().url}/api/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: "admin", password: PASSWORD }),
    });
    const { token } = (await login.json()) as { token: string };
    expect(token).toMatch(/^ses_/);
    const credentials: Readonly<Record<string, string>>[] = [
      { authorization: `Bearer ${TEST_KEY}` },
      { "x-api-key": TEST_KEY },
      { "x-api-key": TOKEN },
      { authorization: `Bearer ${token}` },
      { cookie: `gateway_session=${token}` },
    ];
    for (const headers of credentials) {
      expect((await fetch(`${gateway().url}/metrics`, { headers })).status).toBe(401);
    }
  });
});

describe("GET /metrics, when the license is invalid", () => {
  let dataDir: string;
  let clock: MovedClock;
  let gateway: TestGateway;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "metrics-license-"));
    clock = await createMovedClock();
    // The evaluation begins, and years go by.
    const settings = { ...NO_ENGINE, DATA_DIR: dataDir, METRICS_ENABLED: "1" };
    await (await startGateway({ ...settings, ...clock.environment })).stop();
    await clock.moveTo(400 * DAY_MS);
    gateway = await startGateway({ ...settings, ...clock.environment });
  });
  afterAll(async () => {
    await gateway?.stop();
    await clock?.remove();
    await rm(dataDir, { recursive: true, force: true });
  });

  it("is served, and says so", async () => {
    const chat = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(chat.status).toBe(403);
    const scrape = readScrape(await (await get(gateway)).text());
    expect(scrape.get('svc_license_state{state="invalid"}')).toBe(1);
    expect(scrape.get('svc_license_state{state="valid"}')).toBe(0);
    expect(scrape.get("svc_license_remaining_seconds")).toBe(0);
    expect(scrape.get('svc_http_requests_total{kind="chat",status_class="4xx"}')).toBe(1);
  });
});
