import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { WEBHOOK_PAUSES_MS } from "../../src/events/webhook-pauses.ts";
import { callGateway } from "../support/call-gateway.ts";
import { createCaseTable } from "../support/case-table.ts";
import { expectCleanOutput, type Stage, startStage } from "../support/engine-stage.ts";
import { freePort } from "../support/free-port.ts";
import { createMovedClock, type MovedClock } from "../support/moved-clock.ts";
import { startGateway, type TestGateway } from "../support/start-gateway.ts";
import { startTcpFault, type TcpFault } from "../support/tcp-fault.ts";
import {
  type AnswerPost,
  answer,
  signatureOf,
  startWebhookReceiver,
  type WebhookPost,
  type WebhookReceiver,
} from "../support/webhook-receiver.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const SECRET = "the secret of this receiver";
const HOUR_MS = 3_600_000;
/** So that ten tries take half a minute. */
const SCALE = 0.000_1;
/** A look for alerts is due every second, and asks an engine that does not answer twice. */
const WAIT = { timeout: 60_000, interval: 20 };
/** So long nothing more comes where nothing is to come: several looks at the outbox. */
const QUIET_MS = 2_500;
const TRIES = WEBHOOK_PAUSES_MS.length + 1;

const table = createCaseTable({ W08: "one alert a fault, pauses scaled by 1/10,000" });

describe("an alert whose receiver is at fault", () => {
  let receiver: WebhookReceiver;
  let relay: TcpFault;
  let clock: MovedClock;
  let stage: Stage;
  let aheadMs = 0;
  const pendings: number[] = [];

  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    relay = await startTcpFault({ port: receiver.port });
    clock = await createMovedClock();
    stage = await startStage({
      engine: "vllm",
      models: [],
      // Nobody listens: that the engine is away is what the alerts are about.
      addressOf: async () => `http://127.0.0.1:${await freePort()}`,
      environment: {
        ...clock.environment,
        ALERT_WEBHOOK_URL: `${relay.url.replace("//", "//hook:canary-of-the-receiver@")}/hook`,
        ALERT_WEBHOOK_SECRET: SECRET,
        ALERT_CHECK_INTERVAL_SEC: "1",
        ALERT_EVENT_OUTBOX_AGE_SEC: "604800",
        OUTBOX_BACKOFF_SCALE: String(SCALE),
        METRICS_ENABLED: "1",
      },
    });
    // The first one, with nothing wrong.
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(1), WAIT);
  });

  afterAll(async () => {
    await stage.finish();
    expect(stage.gateway.output()).not.toContain("canary-of-the-receiver");
    await relay.stop();
    await receiver.stop();
    await clock.remove();
  });

  /** Goes beyond the window of the alert before. */
  const moveOn = () => {
    aheadMs += HOUR_MS + 1_000;
    return clock.moveTo(aheadMs);
  };
  const figure = async (name: string) => {
    const { text } = await callGateway(stage.gateway.port, { method: "GET", path: "/metrics" });
    const value = new RegExp(`^svc_event_outbox_${name} (\\S+)$`, "m").exec(text)?.[1];
    if (name === "pending") pendings.push(Number(value));
    return Number(value);
  };
  /** The reasons that the log gives for tries that failed. */
  const reasons = () =>
    stage.gateway
      .output()
      .split("\n")
      .filter((line) => line.includes("was not delivered"))
      .map((line) => (JSON.parse(line) as { reason: string }).reason);

  /** All posts of the alert that is raised now, once one was answered well and no more come. */
  async function postsThrough(faults: readonly AnswerPost[]): Promise<readonly WebhookPost[]> {
    const before = receiver.posts().length;
    let tries = 0;
    receiver.use((post) => {
      const fault = faults[tries] ?? answer(204);
      tries += 1;
      fault(post);
    });
    await moveOn();
    await vi.waitFor(() => expect(tries).toBeGreaterThan(faults.length), WAIT);
    await sleep(QUIET_MS);
    const posts = receiver.posts().slice(before);
    expectSameEvent(posts);
    for (const post of posts) {
      // Signed anew at each try, so that a receiver may refuse old ones.
      const ageMs = Math.abs(Number(post.header("webhook-timestamp")) * 1_000 - clock.now());
      expect(ageMs).toBeLessThan(90_000);
    }
    expect(await figure("pending")).toBe(0);
    return posts;
  }

  function expectSameEvent(posts: readonly WebhookPost[]): void {
    expect(new Set(posts.map(({ id }) => id)).size).toBe(1);
    expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
    for (const post of posts) {
      expect(post.path).toBe("/hook");
      expect(Object.keys(post.json)).toEqual(["text", "type", "details"]);
      expect(post.json.type).toBe("llm_backend_down");
      expect(post.header("webhook-signature")).toBe(signatureOf(post, Buffer.from(SECRET)));
    }
  }

  const faults: [string, AnswerPost, string][] = [
    ["500", answer(500, [], "the receiver's own words"), "answered 500"],
    ["503", answer(503), "answered 503"],
    ["301", answer(301, ["location: /elsewhere"]), "answered 301: redirects are not followed"],
    ["308", answer(308, ["location: /elsewhere"]), "answered 308: redirects are not followed"],
    ["404", answer(404), "answered 404"],
    ["RST after the body", ({ socket }) => void socket.resetAndDestroy(), "the connection failed"],
    ["FIN after the body", ({ socket }) => void socket.end(), "the connection failed"],
    ["garbage", ({ socket }) => void socket.end("\u0000what?\r\n\r\n"), "the connection failed"],
    ["half a head, then RST", halfAHead, "the connection failed"],
    ["an endless answer", endlessAnswer, "answered 500"],
    ["an endless header", endlessHeader, "the connection failed"],
  ];
  for (const [name, fault, reason] of faults) {
    table.shows("W08", name, "tried again with the same id, then done once", async () => {
      const said = reasons().length;
      const posts = await postsThrough([fault, fault]);
      expect(posts).toHaveLength(3);
      // Said at the first try alone.
      expect(reasons().slice(said)).toEqual([expect.stringContaining(reason)]);
    });
  }

  table.shows("W08", "refused", "tried again until somebody listens", async () => {
    const said = reasons().length;
    receiver.use(answer(204));
    const before = receiver.posts().length;
    await relay.down();
    await moveOn();
    await vi.waitFor(() => expect(reasons().length).toBe(said + 1), WAIT);
    await relay.up();
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(before + 1), WAIT);
    await sleep(QUIET_MS);
    expectSameEvent(receiver.posts().slice(before));
    expect(await figure("pending")).toBe(0);
  });

  table.shows("W08", "429 and Retry-After", "not tried before that is over", async () => {
    const [first, second] = await postsThrough([answer(429, ["retry-after: 4"])]);
    const pauseMs = (second?.receivedAt ?? 0) - (first?.receivedAt ?? 0);
    expect(pauseMs).toBeGreaterThanOrEqual(3_990);
  });

  table.shows("W08", "timeout", "tried again, and nothing else waits for it", async () => {
    const said = reasons().length;
    const before = receiver.posts().length;
    let hung: WebhookPost | undefined;
    receiver.use((post) => {
      if (hung === undefined) hung = post;
      else answer(204)(post);
    });
    await moveOn();
    await vi.waitFor(() => expect(hung).toBeDefined(), WAIT);
    const hungAt = Date.now();
    await moveOn();
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(before + 2), WAIT);
    expect(receiver.posts()[before + 1]?.id).not.toBe(hung?.id);
    expect(Date.now() - hungAt).toBeLessThan(14_000);
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(before + 3), WAIT);
    expectSameEvent(receiver.posts().filter(({ id }) => id === hung?.id));
    // The log may come a moment after what it tells.
    await vi.waitFor(() => expect(reasons().slice(said)).toEqual(["no answer within 15 s"]), WAIT);
    expect(receiver.mostAtOnce(hung?.id ?? "")).toBe(1);
    await vi.waitFor(async () => expect(await figure("pending")).toBe(0), WAIT);
  });

  table.shows("W08", "410", "stops it for good", async () => {
    const dead = await figure("dead");
    const before = receiver.posts().length;
    receiver.use(answer(410));
    await moveOn();
    await vi.waitFor(async () => expect(await figure("dead")).toBe(dead + 1), WAIT);
    await sleep(QUIET_MS);
    expect(receiver.posts()).toHaveLength(before + 1);
    expect(await figure("pending")).toBe(0);
  });

  table.shows(
    "W08",
    "never anything but 500",
    `dead after ${TRIES} tries, by schedule`,
    async () => {
      const dead = await figure("dead");
      const before = receiver.posts().length;
      receiver.use(answer(500));
      await moveOn();
      await vi.waitFor(async () => expect(await figure("dead")).toBe(dead + 1), {
        timeout: 120_000,
        interval: 200,
      });
      await sleep(QUIET_MS);
      const posts = receiver.posts().slice(before);
      expect(posts).toHaveLength(TRIES);
      expectSameEvent(posts);
      const waits = posts
        .slice(1)
        .map((post, index) => post.receivedAt - (posts[index]?.receivedAt ?? 0));
      for (const [index, pauseMs] of WEBHOOK_PAUSES_MS.entries()) {
        // The clock's own grain, and a fifth either way.
        expect(waits[index]).toBeGreaterThanOrEqual(Math.floor(pauseMs * SCALE * 0.8) - 10);
      }
      expect(await figure("pending")).toBe(0);
      expect(pendings.length).toBeGreaterThan(10);
      expect(Math.min(...pendings)).toBe(0);
      expect(Math.max(...pendings)).toBeLessThanOrEqual(2);
    },
  );
});

describe("an alert whose gateway is killed", () => {
  table.shows("W08", "kill -9 between post and record", "posted again, the same", async () => {
    const folder = await mkdtemp(join(tmpdir(), "outbox-"));
    const receiver = await startWebhookReceiver();
    const start = async (): Promise<TestGateway> =>
      startGateway({
        DATA_DIR: folder,
        LLM_BACKEND: "vllm",
        LLM_BASE_URL: `http://127.0.0.1:${await freePort()}`,
        ADMIN_PASSWORD: "password of this test",
        ALERT_WEBHOOK_URL: receiver.url,
        ALERT_WEBHOOK_SECRET: SECRET,
        ALERT_CHECK_INTERVAL_SEC: "1",
      });
    let gateway = await start();
    receiver.use((post) => {
      gateway.kill("SIGKILL");
      // The receiver has it; nobody is there to hear so.
      gateway.exited.then(() => answer(204)(post)).catch(() => undefined);
    });
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(1), WAIT);
    await gateway.exited;
    receiver.use(answer(204));
    gateway = await start();
    // Its lease has to run out first.
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(2), {
      timeout: 90_000,
      interval: 50,
    });
    await sleep(QUIET_MS);
    const [first, second, ...more] = receiver.posts();
    expect(more).toEqual([]);
    expect(second?.id).toBe(first?.id);
    expect(second?.body).toBe(first?.body);
    expect(second?.header("webhook-signature")).toBe(
      second && signatureOf(second, Buffer.from(SECRET)),
    );
    await gateway.stop();
    expectCleanOutput(gateway);
    await receiver.stop();
    await rm(folder, { recursive: true, force: true });
  });
});

function halfAHead({ socket }: WebhookPost): void {
  socket.write("HTTP/1.1 200 OK\r\ncontent-le");
  setTimeout(() => socket.resetAndDestroy(), 50);
}

function endlessAnswer({ socket }: WebhookPost): void {
  socket.write("HTTP/1.1 500 No\r\ncontent-type: text/plain\r\n\r\n");
  pour(socket, Buffer.alloc(65_536, "x"));
}

function endlessHeader({ socket }: WebhookPost): void {
  socket.write("HTTP/1.1 200 OK\r\nx-more: ");
  pour(socket, Buffer.alloc(65_536, "x"));
}

/** Writes the same for as long as it is taken. */
function pour(socket: WebhookPost["socket"], piece: Buffer): void {
  const timer = setInterval(() => {
    if (!socket.writableNeedDrain) socket.write(piece);
  }, 1);
  socket.once("close", () => clearInterval(timer));
}
