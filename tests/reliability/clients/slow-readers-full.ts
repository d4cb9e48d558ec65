import { expect } from "vitest";
import type { CaseTable } from "../../support/case-table.ts";
import { holdSlowReaders, startOfferingEngine } from "../../support/clients/load/slow-readers.ts";
import { openMeasuredGateway } from "../../support/processes/measured-gateway.ts";
import { startPassThrough } from "../../support/servers/start-pass-through.ts";

const LOAD = { readers: 200, healthy: 100 } as const;
const OFFERED_MB = 64;
const SLOW_CLIENT_MS = 60_000;
/** One, and what a quarter of it may be: Bun's sockets bring half a megabyte in a read, and stop after the next. */
const HELD_MAX_MB = 1.25;
/** Of the bare proxy's memory. */
const SHARE_MAX = 1.3;
/** Below this a first byte is as good as at once, whatever its double. */
const FIRST_BYTE_FLOOR_MS = 20;

/** S07 in full: beside a bare pass-through on Bun, in the same run. */
export function showSlowReadersUnderFullLoad({ shows, tells }: CaseTable): void {
  const sentence = "the memory is bounded, healthy clients do not notice";
  shows("S07", `chat, ${LOAD.readers} readers, full load`, sentence, async () => {
    const engine = await startOfferingEngine(OFFERED_MB);
    const bare = await startPassThrough(engine.url);
    const measuredBare = bare && (await holdSlowReaders({ target: bare, engine, ...LOAD }));
    for (const client of measuredBare?.clients ?? []) client.close();
    await bare?.stop();

    const { gateway, close } = await openMeasuredGateway({
      LLM_BASE_URL: engine.url,
      SLOW_CLIENT_TIMEOUT_MS: String(SLOW_CLIENT_MS),
    });
    const measured = await holdSlowReaders({ target: gateway, engine, ...LOAD });
    const share =
      measuredBare === undefined ? undefined : measured.memoryMb.peak / measuredBare.memoryMb.peak;
    const figures = {
      ...measured,
      clients: undefined,
      bareMemoryMb: measuredBare?.memoryMb,
      share,
    };
    // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
    console.info(`S07 full ${JSON.stringify(figures)}`);
    tells(
      "S07",
      `${LOAD.readers} readers that stop, ${OFFERED_MB} MB offered to each: ${measured.heldPerStreamMb} MiB held for each, ` +
        `the engine ${measured.isBlocked ? "blocked" : "not blocked"}, memory ${share?.toFixed(2) ?? "?"} of a bare ` +
        `pass-through's, first byte for others ${measured.healthyFirstP99Ms.before} ms before and ` +
        `${measured.healthyFirstP99Ms.during} ms meanwhile at p99`,
    );
    await expect
      .poll(async () => (await engine.stats()).open, { timeout: 2 * SLOW_CLIENT_MS })
      .toBe(0);
    for (const client of measured.clients) client.close();
    await close();
    await engine.stop();
    expect(measured.isBlocked).toBe(true);
    expect(measured.open).toBe(LOAD.readers);
    expect(measured.heldPerStreamMb).toBeLessThanOrEqual(HELD_MAX_MB);
    const { before, during } = measured.healthyFirstP99Ms;
    expect(during).toBeLessThan(Math.max(FIRST_BYTE_FLOOR_MS, 2 * before));
    if (share !== undefined) expect(share).toBeLessThanOrEqual(SHARE_MAX);
  });
}
