import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import { openPacedStreams, untilAtMost } from "../../support/clients/load/paced-streams.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import {
  type MeasuredGateway,
  openMeasuredGateway,
} from "../../support/processes/measured-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { watchServer } from "../../support/servers/watch-server.ts";
import { readUsageRows } from "../../support/stages/usage/stored-usage.ts";

const STREAMS = trialSize(80, 300);
const EVENTS = trialSize(8, 20);
const INTERVAL_MS = 500;
/** What a busy machine may add, and the test's own readers with it. */
const DELAY_P99_MS = 15_000;
const GONE_WITHIN_MS = 30_000;
// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
const isFull = process.env["RELIABILITY_FULL"] === "1";

vi.setConfig({ testTimeout: isFull ? 600_000 : 400_000 });
const seconds = (EVENTS * INTERVAL_MS) / 1_000;
const table = createCaseTable({
  S08: `${STREAMS} streams, an event each ${INTERVAL_MS} ms for ${seconds} s`,
});
let simulator: TestSimulator;
let measured: MeasuredGateway;
beforeAll(async () => {
  simulator = await startSimulator({ tokensPerSecond: 1_000 / INTERVAL_MS });
  simulator.script({ times: "always", text: "word", repeat: EVENTS, fragmentCharacters: 4 });
  measured = await openMeasuredGateway({ LLM_BASE_URL: simulator.url });
});
afterAll(async () => {
  await measured.close();
  await simulator.stop();
});

describe("many streams at once", async () => {
  const sentence = "all come whole and in time; when their clients leave, so does the gateway";
  table.shows("S08", "chat", sentence, async () => {
    const { gateway, store } = measured;
    const { port } = gateway;
    const pace = { port, streams: STREAMS, events: EVENTS, intervalMs: INTERVAL_MS };
    const watch = watchServer(gateway);
    const report = await (await openPacedStreams(pace)).finish();
    const idle = simulator.openSockets();
    const left = await openPacedStreams(pace);
    await left.begun();
    expect(simulator.openSockets()).toBeGreaterThanOrEqual(STREAMS);
    left.drop();
    const goneMs = await untilAtMost(simulator.openSockets, idle, GONE_WITHIN_MS);
    const figures = { ...report, goneMs, ...(await watch.finish()) };
    // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
    console.info(`S08 ${JSON.stringify(figures)}`);
    expect(report).toMatchObject({ done: STREAMS, broken: 0 });
    expect(report.delayP99Ms).toBeLessThan(DELAY_P99_MS);
    expect(goneMs).toBeLessThan(GONE_WITHIN_MS);
    await gateway.stop();
    const rows = await readUsageRows(store);
    expect(rows.filter(({ success }) => success)).toHaveLength(STREAMS);
    expect(rows.filter(({ outcome }) => outcome === "aborted")).toHaveLength(STREAMS);
  });

  if (isFull) {
    const { showManyStreamsUnderFullLoad } = await import("./many-streams-full.ts");
    showManyStreamsUnderFullLoad(table);
  } else table.leavesOut("S08", "chat, full load", "left out: set RELIABILITY_FULL=1");
});
