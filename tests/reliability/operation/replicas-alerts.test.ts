import { afterAll, describe, expect, vi } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import { freePort } from "../../support/processes/free-port.ts";
import { type Replicas, startReplicas } from "../../support/servers/start-replicas.ts";
import { startWebhookReceiver } from "../../support/servers/webhook-receiver.ts";
import { passLooks } from "../../support/stages/alert-looks.ts";
import { createMovedClock } from "../../support/stages/moved-clock.ts";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

const HOUR_MS = 3_600_000;
/** Beyond the window of the alert before, however long that took. */
const MARGIN_MS = 600_000;
const WAIT = { timeout: 120_000, interval: 20 };
const CASE = "6.1";

const table = createCaseTable({ [CASE]: "a look for alerts every second, by each of three" });
const clock = await createMovedClock();
const receiver = await startWebhookReceiver();
afterAll(async () => {
  await receiver.stop();
  await clock.remove();
});
const replicas = await startReplicas({
  environment: {
    ...clock.environment,
    // Nobody listens.
    LLM_BASE_URL: `http://127.0.0.1:${await freePort()}`,
    ALERT_WEBHOOK_URL: receiver.url,
    ALERT_CHECK_INTERVAL_SEC: "1",
    METRICS_ENABLED: "1",
  },
});

describe("alerts of three replicas", () => {
  if (replicas === undefined)
    table.leavesOut(CASE, "3 replicas", "left out: no PostgreSQL or no Redis");
  else oneOfThree(replicas);
});

function oneOfThree({ gateways, finish }: Replicas): void {
  afterAll(finish);
  const { posts } = receiver;
  /** Over all three; a line about a delivery names its event. */
  const warnings = () =>
    gateways
      .flatMap((gateway) => gateway.output().split("\n"))
      .filter((line) => line.includes('"level":"warn"') && line.includes('"llm_backend_down"'))
      .filter((line) => !line.includes('"event":')).length;

  table.shows(CASE, "3 replicas", "one of them sends, in each window", async () => {
    await vi.waitFor(() => expect(posts()).toHaveLength(1), WAIT);
    await passLooks(gateways);
    expect(posts()).toHaveLength(1);
    await vi.waitFor(() => expect(warnings()).toBe(1), WAIT);
    await clock.moveTo(HOUR_MS + MARGIN_MS, gateways);
    await vi.waitFor(() => expect(posts()).toHaveLength(2), WAIT);
    await passLooks(gateways);
    expect(posts()).toHaveLength(2);
    await vi.waitFor(() => expect(warnings()).toBe(2), WAIT);
    expect(new Set(posts().map(({ id }) => id)).size).toBe(2);
  });
}
