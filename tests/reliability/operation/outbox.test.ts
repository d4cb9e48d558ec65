import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { WEBHOOK_PAUSES_MS } from "../../../src/queue/backoff.ts";
import { createCaseTable } from "../../support/case-table.ts";
import { callGateway, chatBody } from "../../support/clients/call-gateway.ts";
import { issueKey } from "../../support/clients/issue-key.ts";
import { expireLeases } from "../../support/faults/expire-leases.ts";
import { startTcpFault, type TcpFault } from "../../support/faults/tcp-fault.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { freePort } from "../../support/processes/free-port.ts";
import { makeKeptPlace } from "../../support/servers/databases/kept-place.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { callWithKey } from "../../support/servers/start-replicas.ts";
import {
  type AnswerPost,
  answer,
  signatureOf,
  startWebhookReceiver,
  type WebhookPost,
  type WebhookReceiver,
} from "../../support/servers/webhook-receiver.ts";
import { expectCleanOutput, type Stage, startStage } from "../../support/stages/engine-stage.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const SECRET = "the secret of this receiver";
/** So that ten tries take some seconds, or half a minute. */
const SCALE = trialSize(0.000_02, 0.000_1);
/** What a try may take. */
const TRY_TIMEOUT_MS = 4_000;
const WAIT = { timeout: 120_000, interval: 20 };
/** So long nothing more comes where nothing is to come: several looks at the outbox. */
const QUIET_MS = 2_500;
const TRIES = WEBHOOK_PAUSES_MS.length + 1;

const table = createCaseTable({ W08: `one alert a fault, pauses scaled by ${SCALE}` });

interface Told {
  /** All posts of the alert, in order, once no more are to come. */
  readonly posts: readonly WebhookPost[];
  /** What the log says of tries that failed, in order. */
  readonly reasons: readonly string[];
}

describe("an alert whose receiver is at fault", () => {
  let receiver: WebhookReceiver;
  let relay: TcpFault;
  let stage: Stage;
  /** How the posts about a key are answered. */
  const answers = new Map<string, AnswerPost>();
  /** Every fault at once, each with an alert of its own. */
  const told = new Map<string, Promise<Told>>();
  const pendings: number[] = [];

  const keyOf = ({ json }: WebhookPost) => (json.details as { key_id: string }).key_id;
  const postsOf = (keyId: string) => receiver.posts().filter((post) => keyOf(post) === keyId);
  const figure = async (name: string) => {
    const { text } = await callGateway(stage.gateway.port, { method: "GET", path: "/metrics" });
    return Number(new RegExp(`^svc_event_outbox_${name} (\\S+)$`, "m").exec(text)?.[1]);
  };
  /** What the log says of an event's tries that failed; it may come a moment after what it tells. */
  const reasonsOf = (eventId: string) =>
    stage.gateway
      .output()
      .split("\n")
      .filter((line) => line.includes("a job failed") && line.includes(eventId))
      .map((line) => (JSON.parse(line) as { reason: string }).reason);

  /** Raises an alert: a key with a month of nothing is asked with. Its posts are answered so. */
  async function raise(answerPost: AnswerPost): Promise<string> {
    const { id, key } = await issueKey(stage.gateway, { monthly_token_limit: 0 });
    answers.set(id, answerPost);
    expect((await callWithKey(stage.gateway, key, { body: chatBody("any") })).status).toBe(429);
    return id;
  }

  /** Answers the first posts with these faults and those after them well; waits until one was answered well. */
  async function delivered(faults: readonly AnswerPost[]): Promise<Told> {
    let tries = 0;
    const id = await raise((post) => {
      const fault = faults[tries] ?? answer(204);
      tries += 1;
      fault(post);
    });
    await vi.waitFor(() => expect(postsOf(id).length).toBeGreaterThan(faults.length), WAIT);
    return quiet(id, faults.length > 0);
  }

  /** What there is of a key's alert when it is quiet. */
  async function quiet(keyId: string, hasFailed: boolean): Promise<Told> {
    await sleep(QUIET_MS);
    const posts = postsOf(keyId);
    const eventId = posts[0]?.id ?? "";
    if (hasFailed) await vi.waitFor(() => expect(reasonsOf(eventId)).not.toEqual([]), WAIT);
    return { posts, reasons: reasonsOf(eventId) };
  }

  function expectSameEvent(posts: readonly WebhookPost[]): void {
    expect(new Set(posts.map(({ id }) => id)).size).toBe(1);
    expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
    for (const post of posts) {
      expect(post.path).toBe("/hook");
      expect(Object.keys(post.json)).toEqual(["text", "type", "details"]);
      expect(post.json.type).toBe("key_budget_exceeded");
      expect(post.header("webhook-signature")).toBe(signatureOf(post, Buffer.from(SECRET)));
      // Signed again at each try, so that a receiver may refuse old ones.
      const ageMs = Math.abs(Number(post.header("webhook-timestamp")) * 1_000 - post.receivedAt);
      expect(ageMs).toBeLessThan(90_000);
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

  /** Each resolves with what came of it; a failure is told by the test of its name. */
  const begin = (name: string, work: () => Promise<Told>) => {
    const done = work();
    done.catch(() => undefined);
    told.set(name, done);
  };
  const came = (name: string) => told.get(name) as Promise<Told>;

  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    receiver.use((post) => answers.get(keyOf(post))?.(post));
    relay = await startTcpFault({ port: receiver.port });
    stage = await startStage({
      engine: "vllm",
      models: ["any"],
      environment: {
        ALERT_WEBHOOK_URL: `${relay.url.replace("//", "//hook:canary-of-the-receiver@")}/hook`,
        ALERT_WEBHOOK_SECRET: SECRET,
        OUTBOX_BACKOFF_SCALE: String(SCALE),
        OUTBOX_TRY_TIMEOUT_MS: String(TRY_TIMEOUT_MS),
        METRICS_ENABLED: "1",
      },
    });
    // The first one, with nothing wrong, and one with nobody there: both while the relay is theirs alone.
    expect((await delivered([])).posts).toHaveLength(1);
    await relay.down();
    const refused = await raise(answer(204));
    await vi.waitFor(() => expect(stage.gateway.output()).toContain("the connection failed"), WAIT);
    expect(postsOf(refused)).toEqual([]);
    await relay.up();
    begin("refused", async () => {
      await vi.waitFor(() => expect(postsOf(refused)).not.toEqual([]), WAIT);
      return quiet(refused, true);
    });

    for (const [name, fault] of faults) begin(name, () => delivered([fault, fault]));
    begin("429", () => delivered([answer(429, ["retry-after: 2"])]));
    begin("timeout", () => delivered([() => undefined]));
    begin("410", async () => {
      const id = await raise(answer(410));
      await vi.waitFor(() => expect(postsOf(id)).not.toEqual([]), WAIT);
      return quiet(id, true);
    });
    begin("never", async () => {
      const id = await raise(answer(500));
      await vi.waitFor(async () => {
        pendings.push(await figure("pending"));
        expect(postsOf(id)).toHaveLength(TRIES);
      }, WAIT);
      return quiet(id, true);
    });
  });

  afterAll(async () => {
    await stage?.finish();
    expect(stage.gateway.output()).not.toContain("canary-of-the-receiver");
    await relay.stop();
    await receiver.stop();
  });

  for (const [name, , reason] of faults) {
    table.shows("W08", name, "tried again with the same id, then done once", async () => {
      const { posts, reasons } = await came(name);
      expect(posts).toHaveLength(3);
      expectSameEvent(posts);
      // Said at the first try alone.
      expect(reasons).toEqual([expect.stringContaining(reason)]);
    });
  }

  table.shows("W08", "refused", "tried again until somebody listens", async () => {
    const { posts, reasons } = await came("refused");
    expect(posts).toHaveLength(1);
    expectSameEvent(posts);
    expect(reasons).toEqual([expect.stringContaining("the connection failed")]);
  });

  table.shows("W08", "429 and Retry-After", "not tried before that is over", async () => {
    const { posts } = await came("429");
    expect(posts).toHaveLength(2);
    expectSameEvent(posts);
    const pauseMs = (posts[1]?.receivedAt ?? 0) - (posts[0]?.receivedAt ?? 0);
    expect(pauseMs).toBeGreaterThanOrEqual(1_990);
  });

  table.shows("W08", "timeout", "tried again, and nothing else waits for it", async () => {
    const { posts, reasons } = await came("timeout");
    expect(posts).toHaveLength(2);
    expectSameEvent(posts);
    const [hung, again] = posts;
    expect(reasons).toEqual([`no answer within ${TRY_TIMEOUT_MS / 1_000} s`]);
    expect(receiver.mostAtOnce(hung?.id ?? "")).toBe(1);
    const meanwhile = receiver
      .posts()
      .filter(({ id, receivedAt }) => id !== hung?.id && receivedAt < (again?.receivedAt ?? 0));
    expect(meanwhile.some(({ receivedAt }) => receivedAt > (hung?.receivedAt ?? 0))).toBe(true);
  });

  table.shows("W08", "410", "stops it permanently", async () => {
    const { posts } = await came("410");
    expect(posts).toHaveLength(1);
    expect(await figure("dead")).toBeGreaterThanOrEqual(1);
  });

  table.shows(
    "W08",
    "never anything but 500",
    `dead after ${TRIES} tries, by schedule`,
    async () => {
      const { posts } = await came("never");
      await vi.waitFor(async () => expect(await figure("dead")).toBe(2), WAIT);
      expect(posts).toHaveLength(TRIES);
      expectSameEvent(posts);
      const waits = posts
        .slice(1)
        .map((post, index) => post.receivedAt - (posts[index]?.receivedAt ?? 0));
      for (const [index, pauseMs] of WEBHOOK_PAUSES_MS.entries()) {
        // The clock's own grain, and a fifth either way.
        expect(waits[index]).toBeGreaterThanOrEqual(Math.floor(pauseMs * SCALE * 0.8) - 10);
      }
    },
  );

  table.shows("W08", "all of them", "leave nothing waiting", async () => {
    await Promise.allSettled(told.values());
    await vi.waitFor(async () => expect(await figure("pending")).toBe(0), WAIT);
    expect(await figure("dead")).toBe(2);
    const alerts = new Set(receiver.posts().map(({ id }) => id));
    expect(alerts.size).toBe(answers.size);
    expect(Math.max(...pendings)).toBeGreaterThan(0);
    expect(Math.min(...pendings)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...pendings)).toBeLessThanOrEqual(answers.size);
  });
});

describe("an alert whose gateway is killed", () => {
  table.shows("W08", "kill -9 between post and record", "posted again, the same", async () => {
    const place = await makeKeptPlace();
    const receiver = await startWebhookReceiver();
    const start = async (): Promise<TestGateway> =>
      startGateway({
        ...place.settings,
        LLM_BACKEND: "vllm",
        // Nobody listens, and nobody is asked.
        LLM_BASE_URL: `http://127.0.0.1:${await freePort()}`,
        ADMIN_PASSWORD: "password of this test",
        ALERT_WEBHOOK_URL: receiver.url,
        ALERT_WEBHOOK_SECRET: SECRET,
        OUTBOX_TRY_TIMEOUT_MS: String(TRY_TIMEOUT_MS),
      });
    let gateway = await start();
    receiver.use((post) => {
      gateway.kill("SIGKILL");
      // The receiver has it; nobody is there to hear so.
      gateway.exited.then(() => answer(204)(post)).catch(() => undefined);
    });
    const { key } = await issueKey(gateway, { monthly_token_limit: 0 });
    // The kill may come before its answer.
    callWithKey(gateway, key, { body: chatBody("any") }).catch(() => undefined);
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(1), WAIT);
    await gateway.exited;
    receiver.use(answer(204));
    await expireLeases(place.settings);
    gateway = await start();
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(2), WAIT);
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
    await place.remove();
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
