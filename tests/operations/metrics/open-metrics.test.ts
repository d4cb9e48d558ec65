import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";
import { single } from "../../../src/core/metric.ts";
import type { Part } from "../../../src/core/part.ts";
import type { Base } from "../../../src/db/base.ts";
import type { Db } from "../../../src/db/context.ts";
import { createLog } from "../../../src/lib/log.ts";
import { openMetrics } from "../../../src/operations/metrics/open-metrics.ts";
import { readScrape, type Scrape } from "../../support/clients/scrape-metrics.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

const NOW = Date.parse("2027-03-02T12:05:00Z");
const WAIT_MS = 300;
/** What a busy machine may take beyond the wait. */
const GENEROUS_MS = 20_000;

/** Scrapes these parts once, on a database of its own. */
async function scrape(parts: readonly Part<Db>[], times = 1): Promise<readonly Scrape[]> {
  const database = await openTestDatabase();
  const { settings } = loadConfig({ DB_POOL_WAIT_MS: String(WAIT_MS) });
  const base: Base = { settings, database, clock: { now: () => NOW }, log: createLog("silent") };
  const scrapes: Scrape[] = [];
  try {
    for (let count = 0; count < times; count += 1) {
      const list = [...parts];
      const metrics = openMetrics(base, list);
      list.push(metrics);
      scrapes.push(readScrape(await metrics.collect()));
    }
  } finally {
    await database.close();
  }
  return scrapes;
}

const gauge = (name: string, read: () => number | undefined) => ({
  name,
  type: "gauge" as const,
  help: "A gauge.",
  labels: [],
  read: () => single(read()),
});

describe("a scrape", () => {
  it("shows what each part brings, from memory and from one turn in the database", async () => {
    let two: number | undefined;
    let running = 0;
    const turns: (readonly [string, number])[] = [];
    const stored = (name: string): Part<Db> => ({
      async refreshStored(db, now) {
        running += 1;
        turns.push([name, running]);
        expect(now).toBe(NOW);
        const [row] = await db.execute<{ two: number }>("select 2 as two");
        two = row?.two;
        running -= 1;
      },
      metrics: [gauge(`svc_${name}`, () => two)],
    });
    const parts = [{ metrics: [gauge("svc_live", () => 1)] }, stored("one"), stored("other")];
    const [figures] = await scrape(parts);
    expect(figures?.get("svc_live")).toBe(1);
    expect(figures?.get("svc_database_up")).toBe(1);
    expect(figures?.get("svc_one")).toBe(2);
    // One after the other.
    expect(turns).toEqual([
      ["one", 1],
      ["other", 1],
    ]);
  });

  it("shows what was read last, where the database refuses now or another process does not answer", async () => {
    let reads = 0;
    let stored: number | undefined;
    let live = 7;
    const never = new Promise<void>(() => undefined);
    const part: Part<Db> = {
      async refreshStored() {
        reads += 1;
        if (reads > 1) throw new Error("it is away");
        stored = 5;
      },
      async refresh() {
        if (reads > 0) await never;
        live = 8;
      },
      metrics: [gauge("svc_stored", () => stored), gauge("svc_live", () => live)],
    };
    const startedAt = performance.now();
    const [first, second] = await scrape([part], 2);
    expect(performance.now() - startedAt).toBeLessThan(2 * WAIT_MS + GENEROUS_MS);
    expect([first?.get("svc_stored"), first?.get("svc_live")]).toEqual([5, 8]);
    expect(second?.get("svc_stored")).toBe(5);
    expect(second?.get("svc_live")).toBe(8);
    expect([first, second].map((figures) => figures?.get("svc_database_up"))).toEqual([1, 0]);
  });

  it("omits what was never read", async () => {
    const [figures] = await scrape([
      {
        refreshStored: () => Promise.reject(new Error("it is away")),
        metrics: [gauge("svc_stored", () => undefined)],
      },
    ]);
    expect(figures?.has("svc_stored")).toBe(false);
  });
});
