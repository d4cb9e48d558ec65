import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { CaseTable } from "../../support/case-table.ts";
import { untilAtMost } from "../../support/clients/load/paced-streams.ts";
import { buildLoadTools, type LoadTools } from "../../support/clients/load/stream-clients.ts";
import { countEstablished } from "../../support/faults/queued-bytes.ts";
import { openMeasuredGateway } from "../../support/processes/measured-gateway.ts";
import { memoryMb } from "../../support/processes/process-use.ts";
import { watchServer } from "../../support/servers/watch-server.ts";

/** Two processes, because of what one may have open. */
const PROCESSES = 2;
const STREAMS = 9_000;
const EVENTS = 24;
const INTERVAL_MS = 5_000;
const DELAY_P99_MS = 500;
const HEALTH_P99_MS = 100;
const MEMORY_MAX_MB = process.versions["bun"] === undefined ? 1_200 : 700;
const GONE_WITHIN_MS = 5_000;
/** Bun keeps so many for the next calls. */
const KEPT_CONNECTIONS = 64;
/** Connections to the engine that belong to no stream: looks for its models and its health. */
const ON_THE_SIDE = 10;

/** S08 in full; minutes. */
export function showManyStreamsUnderFullLoad({ shows, leavesOut, tells }: CaseTable): void {
  const tools = buildLoadTools();
  if (tools === undefined) {
    leavesOut("S08", "chat, full load", "left out: no C compiler here");
    return;
  }
  const sentence =
    "all come whole and in time, in bounded memory; when their clients leave, so does the gateway";
  shows("S08", `chat, ${STREAMS} streams, full load`, sentence, () => runFullLoad(tools, tells));
}

async function runFullLoad(tools: LoadTools, tells: CaseTable["tells"]): Promise<void> {
  const engine = await tools.startEngine();
  const { gateway, close } = await openMeasuredGateway({
    LLM_BASE_URL: `http://127.0.0.1:${engine.port}`,
    STREAM_KEEPALIVE_MS: String(4 * INTERVAL_MS),
  });
  const pace = {
    port: gateway.port,
    streams: STREAMS / PROCESSES,
    events: EVENTS,
    intervalMs: INTERVAL_MS,
  };
  const start = () => Array.from({ length: PROCESSES }, () => tools.startClients(pace));
  const watch = watchServer(gateway, { keptConnections: KEPT_CONNECTIONS });
  const reports = await Promise.all(start().map((clients) => clients.finish()));
  const { memoryMb: memory, healthP99Ms } = await watch.finish();
  const sum = (field: "started" | "done" | "broken" | "refused" | "unfinished") =>
    reports.reduce((total, report) => total + report[field], 0);
  const delayP99Ms = Math.max(...reports.map(({ gapMs }) => gapMs.p99)) - INTERVAL_MS;

  const left = start();
  await sleep(3 * INTERVAL_MS);
  const openBefore = countEstablished(engine.port);
  for (const clients of left) clients.kill();
  const goneMs = await untilAtMost(
    () => countEstablished(engine.port),
    ON_THE_SIDE,
    4 * GONE_WITHIN_MS,
  );
  const figures = {
    started: sum("started"),
    done: sum("done"),
    broken: sum("broken"),
    refused: sum("refused"),
    unfinished: sum("unfinished"),
    delayP99Ms,
    firstP99Ms: Math.max(...reports.map(({ firstMs }) => firstMs.p99)),
    healthP99Ms,
    memory,
    openBefore,
    goneMs,
    memoryAfterMb: Math.round(memoryMb(gateway.pid)),
  };
  // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
  console.info(`S08 full ${JSON.stringify(figures)}`);
  const { done, broken, memoryAfterMb } = figures;
  tells(
    "S08",
    `${STREAMS} streams, an event each ${INTERVAL_MS / 1_000} s for ${(EVENTS * INTERVAL_MS) / 1_000} s: ${done} whole, ` +
      `${broken} broken, an event at most ${Math.round(delayP99Ms)} ms late at p99, health ${healthP99Ms} ms at p99, ` +
      `memory ${memory.peak} MB at most and ${memoryAfterMb} MB after it; ` +
      `of ${openBefore} connections to the engine none ${goneMs} ms after the clients had left`,
  );
  await close();
  engine.stop();
  expect(figures).toMatchObject({ done: STREAMS, broken: 0, refused: 0, unfinished: 0 });
  expect(delayP99Ms).toBeLessThan(DELAY_P99_MS);
  expect(healthP99Ms).toBeLessThan(HEALTH_P99_MS);
  expect(memory.peak).toBeLessThanOrEqual(MEMORY_MAX_MB);
  expect(openBefore).toBeGreaterThanOrEqual(STREAMS);
  expect(goneMs).toBeLessThan(GONE_WITHIN_MS);
}
