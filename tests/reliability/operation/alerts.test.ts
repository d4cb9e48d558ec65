import { afterAll, afterEach, beforeAll, describe, expect, vi } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import { startTcpFault, type TcpFault } from "../../support/faults/tcp-fault.ts";
import { type KeptPlace, makeKeptPlace } from "../../support/servers/databases/kept-place.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { answer, startWebhookReceiver } from "../../support/servers/webhook-receiver.ts";
import { passLooks } from "../../support/stages/alert-looks.ts";
import { expectCleanOutput } from "../../support/stages/engine-stage.ts";
import { createMovedClock, type MovedClock } from "../../support/stages/moved-clock.ts";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 240_000 });

const HOUR_MS = 3_600_000;
const WAIT = { timeout: 120_000, interval: 20 };
/** Before a window's end: longer than a few looks for alerts and a start, on a slow machine too. */
const MARGIN_MS = 300_000;
const CASE = "6.1";

const table = createCaseTable({ [CASE]: "a look for alerts every second" });
const receiver = await startWebhookReceiver();
afterAll(() => receiver.stop());

const alertsOf = (type: string) => receiver.posts().filter(({ json }) => json.type === type);
/** The lines of a log that tell of one type of alert; those about its delivery name their event. */
const linesOf = (gateway: TestGateway, type: string, level: string) =>
  gateway
    .output()
    .split("\n")
    .filter((line) => line.includes(`"level":"${level}"`) && line.includes(`"type":"${type}"`))
    .filter((line) => !line.includes('"event":'));

describe("alerts of a server", () => {
  let simulator: TestSimulator;
  let engine: TcpFault;
  let clock: MovedClock;
  let place: KeptPlace;
  let gateway: TestGateway;

  beforeAll(async () => {
    simulator = await startSimulator();
    engine = await startTcpFault({ port: simulator.port });
    place = await makeKeptPlace();
    clock = await createMovedClock();
    gateway = await start();
  });
  afterEach(() => receiver.use(answer(204)));
  afterAll(async () => {
    await gateway.stop();
    expectCleanOutput(gateway);
    await engine.stop();
    await simulator.stop();
    await clock.remove();
    await place.remove();
  });

  const start = (webhook = receiver.url) =>
    startGateway({
      ...clock.environment,
      ...place.settings,
      ADMIN_PASSWORD: "password of this test",
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: engine.url,
      ALERT_WEBHOOK_URL: webhook,
      ALERT_CHECK_INTERVAL_SEC: "1",
      METRICS_ENABLED: "1",
    });
  const restart = async (webhook = receiver.url) => {
    await gateway.stop();
    expectCleanOutput(gateway);
    gateway = await start(webhook);
  };
  /** Sets the server's clock to this moment. */
  const moveTo = (at: number) => clock.moveTo(at - Date.now(), [gateway]);
  const figure = async (name: string) => {
    const { text } = await callGateway(gateway.port, { method: "GET", path: "/metrics" });
    return Number(new RegExp(`^svc_event_outbox_${name} (\\S+)$`, "m").exec(text)?.[1]);
  };

  table.shows(
    CASE,
    "llm_backend_down",
    "once an hour, over restarts, until it is back",
    async () => {
      const type = "llm_backend_down";
      await passLooks([gateway]);
      expect(receiver.posts()).toHaveLength(0);

      await engine.down();
      await vi.waitFor(() => expect(alertsOf(type)).toHaveLength(1), WAIT);
      const sentAt = clock.now();
      expect(alertsOf(type)[0]?.json).toEqual({
        text: expect.stringContaining("does not answer"),
        type,
        details: { backend: "vllm", at: expect.any(String) },
      });
      await vi.waitFor(() => expect(linesOf(gateway, type, "warn")).toHaveLength(1), WAIT);

      await moveTo(sentAt + HOUR_MS - MARGIN_MS);
      await passLooks([gateway]);
      expect(alertsOf(type)).toHaveLength(1);
      await restart();
      await passLooks([gateway], 1);
      expect(alertsOf(type)).toHaveLength(1);
      await moveTo(sentAt + HOUR_MS + 1_000);
      await vi.waitFor(() => expect(alertsOf(type)).toHaveLength(2), WAIT);
      expect(new Set(alertsOf(type).map(({ id }) => id)).size).toBe(2);

      await engine.up();
      await vi.waitFor(
        () => expect(gateway.output()).toContain("the local engine answers again"),
        WAIT,
      );
      await moveTo(clock.now() + 2 * HOUR_MS);
      await passLooks([gateway]);
      expect(alertsOf(type)).toHaveLength(2);
    },
  );

  table.shows(
    CASE,
    "event_outbox_backlog",
    "once its receiver is back, and no more of it",
    async () => {
      const type = "event_outbox_backlog";
      const limitMs = 600_000;
      // An alert that is refused; its next try is hours of retries away from being given up.
      receiver.use(answer(500));
      await moveTo(clock.now() + 2 * HOUR_MS);
      await engine.down();
      await vi.waitFor(() => expect(gateway.output()).toContain("will be retried"), WAIT);
      await engine.up();
      const storedAt = clock.now();
      await moveTo(storedAt + limitMs - MARGIN_MS);
      await passLooks([gateway]);
      expect(linesOf(gateway, type, "warn")).toHaveLength(0);

      await moveTo(storedAt + limitMs + 1_000);
      await vi.waitFor(() => expect(linesOf(gateway, type, "warn")).toHaveLength(1), WAIT);
      for (let hour = 1; hour <= 3; hour += 1) {
        await moveTo(storedAt + limitMs + hour * (HOUR_MS + 2_000));
        await vi.waitFor(() => expect(linesOf(gateway, type, "warn")).toHaveLength(hour + 1), WAIT);
      }
      // The refused alert and one about it.
      await vi.waitFor(
        () => expect(new Set(alertsOf(type).map(({ id }) => id)).size).toBe(1),
        WAIT,
      );
      expect(await figure("pending")).toBe(2);

      receiver.use(answer(204));
      await moveTo(clock.now() + 10 * HOUR_MS);
      await vi.waitFor(async () => expect(await figure("pending")).toBe(0), WAIT);
      await vi.waitFor(() => expect(linesOf(gateway, type, "info")).toHaveLength(1), WAIT);
    },
  );

  table.shows(
    CASE,
    "no ALERT_WEBHOOK_URL",
    "what is stored is given up with a reason",
    async () => {
      receiver.use(answer(500));
      await moveTo(clock.now() + 2 * HOUR_MS);
      await engine.down();
      await vi.waitFor(async () => expect(await figure("pending")).toBe(1), WAIT);
      const dead = await figure("dead");
      await restart("");
      await vi.waitFor(async () => expect(await figure("dead")).toBe(dead + 1), WAIT);
      expect(await figure("pending")).toBe(0);
      await vi.waitFor(
        () => expect(gateway.output()).toContain("ALERT_WEBHOOK_URL is not set"),
        WAIT,
      );
      // The log goes on.
      await moveTo(clock.now() + 2 * HOUR_MS);
      await vi.waitFor(
        () => expect(linesOf(gateway, "llm_backend_down", "warn")).not.toHaveLength(0),
        WAIT,
      );
      expect(await figure("pending")).toBe(0);
    },
  );
});

for (const type of [
  "mcp_server_error",
  "pipeline_failed",
  "pipeline_consecutive_failures",
  "pipeline_queue_backlog",
])
  table.leavesOut(CASE, type, "not in this suite");
