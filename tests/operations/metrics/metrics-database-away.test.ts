import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Scrape, scrapeMetrics } from "../../support/clients/scrape-metrics.ts";
import { openSeverableDatabase } from "../../support/servers/databases/severable-database.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";

const PASSWORD = "the password of this test";
const WAIT_MS = 1_500;
/** What a busy machine may take beyond the wait. */
const GENEROUS_MS = 20_000;
const SOON = { timeout: 60_000, interval: 100 };
const ALL_KEYS = 'svc_api_keys{state="active"}';

const severable = await openSeverableDatabase();
afterAll(() => severable?.remove());
if (severable === undefined) {
  process.stderr.write("there is no PostgreSQL: metrics without a database are left out\n");
}

/** Holds a table, so that whoever reads it has to wait, until the work is done. */
async function whileLocked(
  table: string,
  work: (sql: postgres.Sql) => Promise<void>,
): Promise<void> {
  const sql = postgres(severable?.directUrl ?? "", { max: 2, onnotice: () => undefined });
  try {
    await sql.begin(async (transaction) => {
      await transaction`lock table ${sql(table)} in access exclusive mode`;
      await work(sql);
    });
  } finally {
    await sql.end();
  }
}

describe.runIf(severable !== undefined)("GET /metrics, on a PostgreSQL", () => {
  let dataDir: string;
  let gateway: TestGateway;
  let session: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "metrics-away-"));
    gateway = await startGateway({
      DATA_DIR: dataDir,
      DATABASE_URL: severable?.url ?? "",
      DB_POOL_WAIT_MS: String(WAIT_MS),
      DB_POOL_MAX: "3",
      METRICS_ENABLED: "1",
      ADMIN_PASSWORD: PASSWORD,
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: "http://127.0.0.1:1",
    });
    const login = await fetch(`${gateway.url}/api/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: "admin", password: PASSWORD }),
    });
    session = ((await login.json()) as { token: string }).token;
  });
  afterAll(async () => {
    await gateway?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** A scrape that has to be there in time, whatever is away. */
  const scrapeInTime = async (): Promise<Scrape> => {
    const begunAt = performance.now();
    const scrape = await scrapeMetrics(gateway);
    expect(performance.now() - begunAt).toBeLessThan(WAIT_MS + GENEROUS_MS);
    return scrape;
  };
  const isUpAgain = () =>
    expect.poll(async () => (await scrapeMetrics(gateway)).get("svc_database_up"), SOON).toBe(1);

  const expectOld = (scrape: Scrape, before: Scrape) => {
    expect(scrape.get("svc_database_up")).toBe(0);
    expect(scrape.get("svc_database_figures_age_seconds")).toBeGreaterThan(0.5);
    // What it told last is shown, and what needs no database is of now.
    expect(scrape.get(ALL_KEYS)).toBe(1);
    expect([...scrape.keys()]).toEqual([...before.keys()]);
    expect(scrape.get("svc_process_cpu_seconds_total")).toBeGreaterThan(
      before.get("svc_process_cpu_seconds_total") ?? Number.POSITIVE_INFINITY,
    );
  };

  it("shows what the database told last, and says so, while it is away", async () => {
    const before = await scrapeInTime();
    expect(before.get("svc_database_up")).toBe(1);
    expect(before.get("svc_database_figures_age_seconds")).toBeLessThan(GENEROUS_MS / 1_000);
    await severable?.connection.down();
    expectOld(await scrapeInTime(), before);
    await severable?.connection.up();
    await isUpAgain();
  }, 120_000);

  it("does the same while it hangs, and asks it for one thing at a time", async () => {
    const before = await scrapeInTime();
    await whileLocked("usage_slots", async (sql) => {
      for (let scrapes = 0; scrapes < 4; scrapes += 1) expectOld(await scrapeInTime(), before);
      // Scrapes that were given up take no further connection of the gateway's own work.
      const waiting = await sql`
        select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      expect(waiting).toHaveLength(1);
    });
    await isUpAgain();
    // A connection that falls silent is no different.
    severable?.connection.set("down", { stall: true });
    expectOld(await scrapeInTime(), before);
    severable?.connection.clear();
    await isUpAgain();
  }, 120_000);

  it("D04: is fresh while slow queries hold every connection of callers", async () => {
    const headers = { authorization: `Bearer ${session}` };
    let pending = 0;
    const ask = async () => {
      pending += 1;
      const response = await fetch(`${gateway.url}/api/admin/audit`, { headers });
      pending -= 1;
      return response.status;
    };
    const asked: Promise<number>[] = [];
    // The last scrape may be shown again for a second.
    await scrapeMetrics(gateway);
    await whileLocked("audit_log", async () => {
      const figures = async () => {
        if (pending === 0) asked.push(...Array.from({ length: 30 }, ask));
        const scrape = await scrapeInTime();
        const of = (name: string) => scrape.get(`svc_database_${name}`) ?? 0;
        const isWaiting = of("queries_waiting") > 0;
        return [of("up"), of("connections_max"), of("queries_running"), isWaiting];
      };
      await expect.poll(figures, SOON).toEqual([1, 3, 3, true]);
      expect(new Set(await Promise.all(asked))).toEqual(new Set([503]));
    });
    const { length } = asked;
    const answered = 'svc_http_requests_total{kind="api",status_class="5xx"}';
    await expect.poll(async () => (await scrapeMetrics(gateway)).get(answered), SOON).toBe(length);
    const after = await scrapeMetrics(gateway);
    expect(after.get("svc_database_queries_refused_total")).toBeGreaterThanOrEqual(
      Math.floor(0.9 * length),
    );
  }, 120_000);
});
