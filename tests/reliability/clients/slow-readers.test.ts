import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import {
  holdSlowReaders,
  type OfferingEngine,
  startOfferingEngine,
} from "../../support/clients/load/slow-readers.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { startGateway } from "../../support/servers/start-gateway.ts";
import { watchServer } from "../../support/servers/watch-server.ts";
import { readUsageRows } from "../../support/stages/usage/stored-usage.ts";

const READERS = trialSize(6, 12);
const OFFERED_MB = 64;
const SLOW_CLIENT_MS = trialSize(6_000, 10_000);
const HELD_MAX_MB = 2;
/** What a busy machine may add to a first byte. */
const FIRST_BYTE_GRACE_MS = 10_000;
const GONE_WITHIN_MS = 120_000;
// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
const isFull = process.env["RELIABILITY_FULL"] === "1";

vi.setConfig({ testTimeout: isFull ? 300_000 : 400_000 });
const table = createCaseTable({
  S07: `${READERS} readers that stop, ${OFFERED_MB} MB offered to each`,
});
let engine: OfferingEngine;
let dataDir: string;
beforeAll(async () => {
  engine = await startOfferingEngine(OFFERED_MB);
  dataDir = await mkdtemp(join(tmpdir(), "slow-readers-"));
});
afterAll(async () => {
  await engine.stop();
  await rm(dataDir, { recursive: true, force: true });
});

describe("clients that stop reading", async () => {
  table.shows(
    "S07",
    "chat",
    "hold up the engine and not the memory, hurt nobody else, and are left",
    async () => {
      const gateway = await startGateway({
        LLM_BACKEND: "vllm",
        LLM_BASE_URL: engine.url,
        DATA_DIR: dataDir,
        SLOW_CLIENT_TIMEOUT_MS: String(SLOW_CLIENT_MS),
      });
      const watch = watchServer(gateway);
      const { clients, ...report } = await holdSlowReaders({
        target: gateway,
        engine,
        readers: READERS,
        healthy: 20,
      });
      const lookedAt = performance.now();
      while ((await engine.stats()).open > 0) {
        expect(performance.now() - lookedAt).toBeLessThan(SLOW_CLIENT_MS + GONE_WITHIN_MS);
        await sleep(50);
      }
      const leftAfterMs = Math.round(performance.now() - lookedAt);
      for (const client of clients) client.close();
      const figures = await watch.finish();
      // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
      console.info(`S07 ${JSON.stringify({ ...report, leftAfterMs, ...figures })}`);
      await gateway.stop();
      const rows = await readUsageRows({ DATA_DIR: dataDir });

      expect(report.isBlocked).toBe(true);
      expect(report.outPerStreamMb).toBeLessThan(OFFERED_MB);
      expect(report.heldPerStreamMb).toBeLessThan(HELD_MAX_MB);
      const { before, during } = report.healthyFirstP99Ms;
      expect(during).toBeLessThan(2 * before + FIRST_BYTE_GRACE_MS);
      expect(rows.filter(({ success }) => !success)).toHaveLength(READERS);
      expect(rows.filter(({ outputTokens }) => outputTokens === 0)).toEqual([]);
    },
  );

  if (isFull) {
    const { showSlowReadersUnderFullLoad } = await import("./slow-readers-full.ts");
    showSlowReadersUnderFullLoad(table);
  } else table.leavesOut("S07", "chat, full load", "left out: set RELIABILITY_FULL=1");
});
