import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  callGateway,
  chatBody,
  type GatewayRequest,
  openCall,
} from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { formOf, postLicense, uploadText } from "../../support/clients/license-upload.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { faultRandom } from "../../support/faults/fault-random.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { type KeptPlace, makeKeptPlace } from "../../support/servers/databases/kept-place.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startReplicas } from "../../support/servers/start-replicas.ts";
import { licenseText, vendor } from "../../support/stages/access/test-license.ts";
import { type Stage, startStage } from "../../support/stages/engine-stage.ts";
import { createMovedClock, type MovedClock } from "../../support/stages/moved-clock.ts";

/** Several starts, on a machine that does much else. */
const LIMIT_MS = 400_000;
vi.setConfig({ testTimeout: 60_000, hookTimeout: 240_000 });

/** Of a server, each at a random moment of an upload. */
const KILLS = trialSize(2, 8);
const DAY = 86_400_000;
const HOUR = DAY / 24;
const MODEL = "licensed";
const PASSWORD = "the administrator's password";
const HEADER = "x-service-license-warning";
const LICENSED = {
  ADMIN_PASSWORD: PASSWORD,
  LICENSE_PUBLIC_KEY: vendor.publicKey,
  DB_POOL_WAIT_MS: "30000",
};
/** Before a boundary: longer than a call and a look at the clock take on a machine that does much else. */
const BEFORE_MS = 600_000;

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);
const timeOf = (time: number) => new Date(time).toISOString();

/** What an answer looks like on both sides of a boundary. */
type Change = Readonly<
  Record<"before" | "after", { readonly status: number; readonly warning: string | undefined }>
>;

interface License {
  readonly valid: boolean;
  readonly in_grace: boolean;
  readonly warning: string | null;
}

async function healthOf({
  port,
}: {
  readonly port: number;
}): Promise<{ ok: boolean; license: License }> {
  const answer = await callGateway(port, { method: "GET", path: "/v1/health" });
  expect(answer.status).toBe(200);
  return answer.json() as { ok: boolean; license: License };
}
const licenseOf = async (gateway: { readonly port: number }) => (await healthOf(gateway)).license;
const ask = (gateway: { readonly port: number }) =>
  callGateway(gateway.port, { method: "GET", path: "/v1/models" });

describe("L04 the license's boundaries, on a server", () => {
  /** Of the license; the grace is over two days later. */
  const expiry = Date.now() + 10 * DAY;
  const graceEnd = expiry + 2 * DAY;
  const warning = `License expired on ${dayOf(expiry)}; everything works until ${dayOf(graceEnd)}.`;
  let clock: MovedClock;
  let stage: Stage;
  let folder: string;
  let port: number;

  beforeAll(async () => {
    clock = await createMovedClock();
    await clock.moveTo(0);
    folder = await mkdtemp(join(tmpdir(), "license-"));
    const file = join(folder, "customer.lic");
    await writeFile(file, licenseText({ expires_at: timeOf(expiry) }));
    stage = await startStage({
      engine: "vllm",
      models: [MODEL],
      environment: {
        ...LICENSED,
        ...clock.environment,
        LICENSE_FILE: file,
        LICENSE_GRACE_DAYS: "2",
        GATEWAY_MAX_BODY_BYTES: "100000",
      },
    });
    ({ port } = stage.gateway);
  });
  afterAll(async () => {
    await stage?.finish();
    await clock?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  /** Puts the server's clock to this moment. */
  const setTime = (time: number) => clock.moveTo(time - Date.now(), [stage.gateway]);

  const chat = { body: chatBody(MODEL) };
  const stream = { body: chatBody(MODEL, { stream: true }) };
  const message = { ...chatBody(MODEL), max_tokens: 50 };
  const none = { authorization: undefined };
  /** Every kind of answer there is. */
  const answers: readonly (readonly [string, GatewayRequest, number])[] = [
    ["a chat answer", chat, 200],
    ["a stream", stream, 200],
    ["a message", { path: "/v1/messages", body: message }, 200],
    ["a stream of messages", { path: "/v1/messages", body: { ...message, stream: true } }, 200],
    ["a response", { path: "/v1/responses", body: { model: MODEL, input: "Hello" } }, 200],
    ["the models", { method: "GET", path: "/v1/models" }, 200],
    ["invalid JSON", { body: "{" }, 400],
    [
      "an unknown key",
      { ...chat, headers: { authorization: "Bearer sk-unknown-0123456789" } },
      401,
    ],
    ["no key, for messages", { path: "/v1/messages", body: message, headers: none }, 401],
    ["an administrator's path with a key", { method: "GET", path: "/api/license/device" }, 403],
    ["an unknown path", { method: "GET", path: "/nowhere" }, 404],
    ["an unknown path of /v1", { method: "GET", path: "/v1/nowhere" }, 404],
    ["another method", { method: "DELETE", path: "/v1/chat/completions" }, 405],
    ["a body that is too large", { body: "x".repeat(200_000) }, 413],
    ["another content type", { ...chat, headers: { "content-type": "text/plain" } }, 415],
    ["the gateway's health", { method: "GET", path: "/v1/health" }, 200],
    ["the service's health", { method: "GET", path: "/api/health" }, 200],
    ["readiness", { method: "GET", path: "/api/ready" }, 200],
    ["the reference", { method: "GET", path: "/v1/docs" }, 200],
    ["the document", { method: "GET", path: "/v1/openapi.json" }, 200],
    ["a greeting", { method: "HEAD", path: "/api/hello" }, 200],
    ["a malformed host", { method: "GET", path: "/v1/models", headers: { host: "a b" } }, 400],
    ["a doubled slash", { method: "GET", path: "/v1//models" }, 400],
    [
      "a failed login",
      { path: "/api/auth/login", body: { username: "admin", password: "not this" } },
      401,
    ],
  ];

  it.each(answers)("before the expiry %s has no header", async (_, request, status) => {
    const answer = await callGateway(port, request);
    expect([answer.status, answer.header(HEADER)]).toEqual([status, undefined]);
  });

  /**
   * Calls before the boundary, and from a second before it on until the answer has changed. Each answer must be one of
   * the times in which its call was under way: what is refused is decided when it comes, what is warned of when it goes.
   */
  async function expectChangeAt(boundary: number, { before, after }: Change): Promise<void> {
    const lookedLike = ({ status, header }: RawResponse) => ({ status, warning: header(HEADER) });
    await setTime(boundary - BEFORE_MS);
    expect(lookedLike(await ask(stage.gateway))).toEqual(before);
    expect(clock.now()).toBeLessThan(boundary);
    await setTime(boundary - 1_000);
    for (let answersAfter = 0; answersAfter < 5; await sleep(10)) {
      const from = clock.now();
      const answer = lookedLike(await ask(stage.gateway));
      if (clock.now() < boundary) expect(answer).toEqual(before);
      else if (from >= boundary) expect(answer).toEqual(after);
      else expect([before.status, after.status]).toContain(answer.status);
      if (from >= boundary) answersAfter += 1;
    }
  }

  it("the grace begins in the moment of the expiry", async () => {
    await expectChangeAt(expiry, {
      before: { status: 200, warning: undefined },
      after: { status: 200, warning },
    });
    expect(await licenseOf(stage.gateway)).toMatchObject({
      valid: true,
      in_grace: true,
      days_left: 2,
    });
  });

  it.each(answers)("in the grace %s carries the header", async (_, request, status) => {
    const answer = await callGateway(port, request);
    expect([answer.status, answer.header(HEADER)]).toEqual([status, warning]);
  });

  it("in the grace a stream comes to its end as ever", async () => {
    const answer = await callGateway(port, stream);
    expect(answer.isComplete).toBe(true);
    expect(answer.text).toMatch(/data: \[DONE\]\n\n$/);
  });

  it("the refusals begin in the moment the grace ends", async () => {
    await expectChangeAt(graceEnd, {
      before: { status: 200, warning },
      after: { status: 403, warning: undefined },
    });
    expect(await healthOf(stage.gateway)).toMatchObject({
      ok: false,
      license: { valid: false, in_grace: false, days_left: 0 },
    });
  });

  it.each([
    [chat],
    [stream],
    [{ path: "/v1/responses", body: { model: MODEL, input: "Hello" } }],
    [{ path: "/v1/embeddings", body: { input: "Hello" } }],
    [{ path: "/v1/audio/transcriptions", body: "x" }],
    [{ method: "GET", path: "/v1/models" }],
    [{ method: "GET", path: "/v1/models/a%2Fb" }],
    [{ method: "GET", path: "/v1/api-keys" }],
    [{ method: "GET", path: "/v1/nowhere" }],
    [{ method: "GET", path: "/v1" }],
    [{ method: "GET", path: "/v1/health/more" }],
    [{ method: "GET", path: "/v1/docsearch" }],
    [{ path: "/mcp", body: {} }],
    [{ path: "/api/pipeline/webhook/flow", body: {} }],
    // The router reads these as it reads the plain path.
    [{ ...chat, path: "/%761/chat/completions" }],
    [{ ...chat, path: "/v1/chat/%63ompletions" }],
    [{ ...chat, path: "/%761/chat/completions%ff" }],
    [{ ...chat, headers: none }],
  ] as readonly [GatewayRequest][])(
    "after the grace %j is 403 in the chat form",
    async (request) => {
      const error = expectChatError(await callGateway(port, request), 403, "license_expired");
      expect(error.message).toContain("POST /api/license");
    },
  );

  it.each([
    [{ path: "/v1/messages", body: message }],
    [{ path: "/v1/messages/count_tokens", body: message }],
    [{ path: "/v1/messages?beta=true", body: message }],
    [{ method: "GET", path: "/v1/models", headers: { "anthropic-version": "2023-06-01" } }],
  ] as readonly [GatewayRequest][])(
    "after the grace %j is 403 in the messages form",
    async (request) => {
      const answer = await callGateway(port, request);
      expect(answer.status).toBe(403);
      expect(answer.json()).toMatchObject({ type: "error", error: { type: "permission_error" } });
      expect(answer.header("x-request-id")).toBeTruthy();
    },
  );

  it("after the grace no body is waited for, and no engine is asked", async () => {
    const asked = stage.simulator.ledger().length;
    const client = await openCall(port, { headers: { "content-length": "90000" } });
    expectChatError(await client.readResponse({ method: "POST" }), 403, "license_expired");
    client.close();
    const calls = stage.simulator.ledger().slice(asked);
    expect(calls.filter(({ path }) => path.includes("completions"))).toEqual([]);
  });

  it.each([
    [{ method: "GET", path: "/v1/health" }, 200],
    [{ method: "GET", path: "/api/health" }, 200],
    [{ method: "GET", path: "/api/ready" }, 200],
    [{ method: "GET", path: "/v1/docs" }, 200],
    [{ method: "GET", path: "/v1/openapi.json" }, 200],
    [{ method: "GET", path: "/api/pipeline/runs/run_1" }, 404],
    [{ path: "/api/auth/login", body: { username: "admin", password: PASSWORD } }, 200],
  ] as readonly [GatewayRequest, number][])(
    "after the grace %j still answers %i",
    async (request, status) => {
      expect((await callGateway(port, request)).status).toBe(status);
    },
  );

  it("after the grace a valid license is uploaded and everything works at once", async () => {
    const token = await logIn(stage.gateway.url, "admin", PASSWORD);
    const state = await callHttp(stage.gateway.url, { path: "/api/license", token });
    expect(state.body).toMatchObject({ valid: false, warning: expect.stringContaining("upload") });
    const expired = await uploadText(
      port,
      token,
      licenseText({ expires_at: timeOf(graceEnd - 1) }),
    );
    expectChatError(expired, 400, "invalid_value");
    expect((await ask(stage.gateway)).status).toBe(403);
    const uploaded = await uploadText(
      port,
      token,
      licenseText({ expires_at: timeOf(graceEnd + DAY) }),
    );
    expect(uploaded.status).toBe(200);
    expect((await callGateway(port, chat)).status).toBe(200);
    expect(await healthOf(stage.gateway)).toMatchObject({
      ok: true,
      license: { valid: true, warning: null },
    });
  });
});

describe("L03 a clock that is set back, or was wrong", () => {
  let clock: MovedClock;
  let place: KeptPlace;

  beforeAll(async () => {
    clock = await createMovedClock();
  });
  afterAll(() => clock?.remove());

  /** Starts a server at a time of its own, lets it be looked at and ends it. */
  async function live(
    aheadMs: number,
    look: (gateway: TestGateway) => Promise<void>,
    end: "SIGTERM" | "SIGKILL" = "SIGTERM",
  ): Promise<void> {
    await clock.moveTo(aheadMs, []);
    const gateway = await startGateway({ ...LICENSED, ...clock.environment, ...place.settings });
    try {
      await look(gateway);
    } finally {
      if (end === "SIGTERM") await gateway.stop();
      gateway.kill("SIGKILL");
      await gateway.exited;
    }
  }
  const expectValid = async (gateway: TestGateway) =>
    expect(await licenseOf(gateway)).toMatchObject({ valid: true, in_grace: false, warning: null });
  const expectInvalid = async (gateway: TestGateway) => {
    expect(await licenseOf(gateway)).toMatchObject({ valid: false, in_grace: false });
    expectChatError(await ask(gateway), 403, "license_expired");
  };

  async function inPlace(work: () => Promise<void>): Promise<void> {
    place = await makeKeptPlace();
    try {
      await work();
    } finally {
      await place.remove();
    }
  }
  const putLicense = (expiry: number) =>
    writeFile(
      join(place.settings.DATA_DIR, "license.lic"),
      licenseText({ expires_at: timeOf(expiry), issued_at: "2026-01-01" }),
    );

  it(
    "set back by 30 days after expiry and grace, when the server is killed, ends, or ends and its file is deleted, changes nothing",
    () =>
      inPlace(async () => {
        await putLicense(Date.now() - 14 * DAY - HOUR);
        const expectSetBack = async (gateway: TestGateway) => {
          await expectInvalid(gateway);
          expect((await licenseOf(gateway)).warning).toContain("clock is behind");
        };
        await live(0, expectInvalid, "SIGKILL");
        await live(-30 * DAY, expectSetBack);
        await rm(join(place.settings.DATA_DIR, "seen-time"));
        await live(-30 * DAY, async (gateway) => {
          await expectSetBack(gateway);
          // Nothing else breaks.
          const token = await logIn(gateway.url, "admin", PASSWORD);
          expect((await callHttp(gateway.url, { path: "/api/auth/me", token })).status).toBe(200);
          expect((await uploadText(gateway.port, token, licenseText())).status).toBe(200);
          expect((await ask(gateway)).status).toBe(200);
        });
      }),
    LIMIT_MS,
  );

  it(
    "ten years ahead for a while, while running and over a start, leaves no trace when it is right again",
    () =>
      inPlace(async () => {
        await putLicense(Date.now() + 20 * DAY);
        await live(0, async (gateway) => {
          await expectValid(gateway);
          await clock.moveTo(3_650 * DAY, [gateway]);
          await expectInvalid(gateway);
          await clock.moveTo(0, [gateway]);
          await expectValid(gateway);
          await clock.moveTo(3_650 * DAY, [gateway]);
        });
        await live(3_650 * DAY, expectInvalid);
        await live(0, expectValid);
      }),
    LIMIT_MS,
  );

  it.each([
    ["1970", -Date.now()],
    ["2099", Date.UTC(2099, 0) - Date.now()],
  ])(
    "that begins in %s leaves a whole evaluation when it is right, and set back after its grace all stays refused",
    (_, aheadMs) =>
      inPlace(async () => {
        await live(aheadMs, async (gateway) => {
          expect(await licenseOf(gateway)).toMatchObject({ valid: true, in_grace: false });
          await clock.moveTo(0, [gateway]);
          expect(await licenseOf(gateway)).toMatchObject({ valid: true, days_left: 30 });
        });
        await live(0, async (gateway) => {
          const license = await licenseOf(gateway);
          expect(license).toMatchObject({ valid: true, days_left: 30 });
          expect(license.warning).toContain("No license is set");
        });
        // Once is enough.
        if (aheadMs > 0) return;
        await live(50 * DAY, expectInvalid);
        await live(20 * DAY, expectInvalid);
      }),
    LIMIT_MS,
  );
});

describe("L05 a server that is killed during an upload", () => {
  it(
    "has the license before or the one uploaded afterwards, never none",
    async () => {
      const random = faultRandom("kills, license upload");
      const place = await makeKeptPlace();
      const start = () => startGateway({ ...LICENSED, ...place.settings });
      let gateway = await start();
      try {
        let token = await logIn(gateway.url, "admin", PASSWORD);
        expect((await uploadText(gateway.port, token, licenseText({ max_users: 1 }))).status).toBe(
          200,
        );
        let current = 1;
        for (let next = 2; next <= 1 + KILLS; next += 1) {
          const form = formOf([{ fileName: "a.lic", content: licenseText({ max_users: next }) }]);
          const upload = postLicense(gateway.port, token, form).then(
            ({ status }) => status,
            () => undefined,
          );
          await sleep(random() * 40);
          gateway.kill("SIGKILL");
          await gateway.exited;
          const status = await upload;
          gateway = await start();
          token = await logIn(gateway.url, "admin", PASSWORD);
          const { body } = await callHttp(gateway.url, { path: "/api/license/details", token });
          expect(body.source).toBe("uploaded");
          expect(status === 200 ? [next] : [current, next]).toContain(body.max_users);
          current = body.max_users;
        }
      } finally {
        await gateway.stop();
        await place.remove();
      }
    },
    LIMIT_MS,
  );
});

describe("L04 an upload, with several replicas", () => {
  it(
    "is in force on all of them soon, without a restart",
    async (context) => {
      const clock = await createMovedClock();
      await clock.moveTo(0);
      const environment = { ...LICENSED, ...clock.environment };
      const replicas = await startReplicas({ count: 2, environment });
      if (replicas === undefined) return context.skip();
      try {
        const [first, ...others] = replicas.gateways;
        await clock.moveTo(50 * DAY, replicas.gateways);
        for (const gateway of replicas.gateways) expectChatError(await ask(gateway), 403);
        const token = await logIn(first?.url ?? "", "admin", PASSWORD);
        const text = licenseText({ kind: "perpetual", expires_at: null });
        expect((await uploadText(first?.port ?? 0, token, text)).status).toBe(200);
        expect((await ask(first as TestGateway)).status).toBe(200);
        for (const gateway of others) {
          const status = async () => (await ask(gateway)).status;
          await expect.poll(status, { timeout: 60_000, interval: 20 }).toBe(200);
        }
        for (const gateway of replicas.gateways) {
          expect(await licenseOf(gateway)).toEqual(await licenseOf(first as TestGateway));
        }
      } finally {
        await clock.moveTo(0);
        await replicas.finish();
        await clock.remove();
      }
    },
    LIMIT_MS,
  );
});
