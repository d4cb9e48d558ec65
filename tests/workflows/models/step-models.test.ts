import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { StepFailure } from "../../../src/workflows/runs/run.ts";
import { chatStep as chat } from "../../../src/workflows/steps/chat.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { type ModelStage, startModelStage } from "../../support/workflows/model-stage.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

describe("chat steps and the gateway's pipeline", () => {
  let stage: ModelStage;
  let runs = 0;
  const ask = { prompt: "Say hello to {{ row.name }}", max_tokens: 20, concurrency: 8 };
  const rows = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `n${index}` }));
  const nextRun = (keyId: string | null) => {
    runs += 1;
    return { id: `run_test_${runs}`, keyId };
  };
  const asked = () => stage.simulator.ledger().filter(({ path }) => path.endsWith("/completions"));

  beforeAll(async () => {
    stage = await startModelStage(databaseServerUrl);
  }, 120_000);
  beforeEach(() => stage.simulator.reset());
  afterAll(() => stage?.close());

  it("writes one usage row with the run for each call that the engine got, and sums them up", async () => {
    const run = nextRun(await stage.createKey());
    const done = await runStep(stage.kind(chat), { settings: ask, rows: rows(40), run });
    expect(done.outputs.main).toHaveLength(40);
    expect(done.outputs.main[7]).toMatchObject({ name: "n7", answer: expect.stringMatching(/./) });
    const found = await stage.requestsOf(run.id, 40);
    expect(found).toHaveLength(40);
    expect(asked()).toHaveLength(40);
    expect(new Set(found.map(({ id }) => id)).size).toBe(40);
    for (const row of found) {
      expect(row).toMatchObject({
        run_id: run.id,
        key_id: run.keyId,
        channel: "chat",
        outcome: "ok",
      });
    }
    const sum = (field: string) => found.reduce((total, row) => total + Number(row[field]), 0);
    expect(done.usage).toEqual({
      calls: 40,
      inputTokens: sum("input_tokens"),
      outputTokens: sum("output_tokens"),
    });
  });

  it("makes exactly as many calls as the key's limit of requests allows, and then fails the step", async () => {
    const run = nextRun(await stage.createKey({ request_limit: 25 }));
    const failing = runStep(stage.kind(chat), {
      settings: ask,
      rows: rows(60),
      run,
      onRowError: "skip",
    });
    await expect(failing).rejects.toMatchObject({
      code: "request_limit_exceeded",
      isRetryable: false,
    });
    expect(await stage.requestsOf(run.id, 25)).toHaveLength(25);
    expect(asked()).toHaveLength(25);
  });

  it("never spends more tokens than the key has, and leaves less than one call needs", async () => {
    const keyId = await stage.createKey({ token_limit: 1_500 });
    const run = nextRun(keyId);
    const failing = runStep(stage.kind(chat), {
      settings: { ...ask, concurrency: 4 },
      rows: rows(200),
      run,
    });
    await expect(failing).rejects.toMatchObject({
      code: "token_limit_exceeded",
      isRetryable: false,
    });
    const found = await stage.requestsOf(run.id, asked().length);
    const spent = found.reduce(
      (total, row) => total + Number(row["input_tokens"]) + Number(row["output_tokens"]),
      0,
    );
    expect(spent).toBeLessThanOrEqual(1_500);
    expect(spent).toBeGreaterThan(1_300);
  }, 60_000);

  it("fails the step by name when its key is deactivated in the middle", async () => {
    const keyId = await stage.createKey();
    const run = nextRun(keyId);
    stage.simulator.script({ times: "always", latencyMs: 20 });
    const failing = runStep(stage.kind(chat), {
      settings: { ...ask, concurrency: 1 },
      rows: rows(1_000),
      run,
      onRowError: "skip",
    });
    failing.catch(() => undefined);
    await expect.poll(() => asked().length).toBeGreaterThan(3);
    await stage.api("PATCH", `/v1/api-keys/${keyId}`, { state: "inactive" });
    const before = asked().length;
    const failure: StepFailure = await failing.then(Promise.reject, (thrown) => thrown);
    expect(failure).toMatchObject({ code: "invalid_api_key", isRetryable: false });
    expect(failure.message).toBe("The API key is not active. Activate it, or choose another.");
    expect(asked().length).toBeLessThanOrEqual(before + 1);
  });

  it("says what is wrong with a key that does not exist, and with a workflow that has none", async () => {
    const row = rows(1);
    await expect(
      runStep(stage.kind(chat), { settings: ask, rows: row, run: nextRun("key_of_nobody") }),
    ).rejects.toMatchObject({ code: "invalid_api_key", message: expect.stringMatching(/deleted/) });
    await expect(
      runStep(stage.kind(chat), { settings: ask, rows: row, run: nextRun(null) }),
    ).rejects.toMatchObject({ code: "no_key" });
    expect(asked()).toHaveLength(0);
  });

  it("ends its calls at once when the run is stopped, and writes their rows", async () => {
    const run = nextRun(await stage.createKey());
    stage.simulator.script({ times: "always", stall: { at: "headers" } });
    const stop = new AbortController();
    const stopped = runStep(stage.kind(chat), {
      settings: ask,
      rows: rows(50),
      run,
      signal: stop.signal,
    });
    stopped.catch(() => undefined);
    await expect.poll(() => asked().length).toBe(8);
    const stoppedAt = performance.now();
    stop.abort(new Error("stopped"));
    await expect(stopped).rejects.toThrow("stopped");
    expect(performance.now() - stoppedAt).toBeLessThan(1_000);
    const found = await stage.requestsOf(run.id, 8);
    expect(found.map(({ outcome }) => outcome)).toEqual(Array(8).fill("aborted"));
    await expect.poll(() => asked().filter(({ end }) => end === "client-left").length).toBe(8);
    expect(stage.served.deps.openCalls.count()).toBe(0);
  });

  it.each([
    [429, "rate_limit_exceeded"],
    [503, "overloaded"],
    [500, "upstream_error"],
  ])("tries a row again when the engine answers %d, and waits as it asks", async (status, code) => {
    const run = nextRun(await stage.createKey());
    const respond = { status, headers: { "retry-after": "7" }, body: { error: { message: "no" } } };
    stage.simulator.script({ times: 2, respond });
    const done = await runStep(stage.kind(chat), { settings: ask, rows: rows(1), run });
    expect(done.rowErrors).toBe(0);
    stage.simulator.script({ times: "always", respond });
    const call = { run, signal: new AbortController().signal };
    const request = {
      model: undefined,
      messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
      tools: [],
      parameters: {},
      stream: false,
    } as const;
    const failure = await stage.models.chat(call, request).then(Promise.reject, (thrown) => thrown);
    expect(failure).toMatchObject({ code, isRetryable: true });
    if (status !== 500) expect(failure.retryAfterSeconds).toBe(7);
  });

  it("does not call a row again that the engine refused", async () => {
    const run = nextRun(await stage.createKey());
    stage.simulator.script({ respond: { status: 400, body: { error: { message: "bad" } } } });
    const failing = runStep(stage.kind(chat), { settings: ask, rows: rows(1), run });
    await expect(failing).rejects.toMatchObject({ code: "invalid_value", row: 1 });
    expect(asked()).toHaveLength(1);
  });

  it("keeps to two calls while a client waits for an answer, and goes on with all after it", async () => {
    const { openCalls } = stage.served.deps;
    const client = openCalls.open(new AbortController().signal);
    stage.simulator.script({ times: "always", stall: { at: "headers", forMs: 50 } });
    const run = nextRun(await stage.createKey());
    let most = 0;
    const running = () => openCalls.count() - openCalls.clients();
    const watching = setInterval(() => {
      most = Math.max(most, running());
    }, 2);
    const done = runStep(stage.kind(chat), { settings: ask, rows: rows(40), run });
    await expect.poll(() => asked().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(6);
    expect(most).toBe(2);
    expect(openCalls.clients()).toBe(1);
    client.close();
    await expect.poll(running, { interval: 2 }).toBe(8);
    clearInterval(watching);
    expect((await done).outputs.main).toHaveLength(40);
  });

  it("waits for a key's limit of requests a minute instead of failing rows", async () => {
    const run = nextRun(await stage.createKey({ rpm_limit: 3 }));
    const stop = new AbortController();
    const waiting = runStep(stage.kind(chat), {
      settings: ask,
      rows: rows(6),
      run,
      signal: stop.signal,
    });
    waiting.catch(() => undefined);
    await expect.poll(() => asked().length).toBe(3);
    expect(await stage.requestsOf(run.id, 3)).toHaveLength(3);
    stop.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
  });

  it("names models, assistants and keys that do not exist", async () => {
    const keyId = await stage.createKey();
    const fault = (model: string | undefined, kind: "chat" | "assistant" | "embeddings") =>
      stage.models.fault({ keyId, model, kind });
    expect(await fault("sim-chat", "chat")).toBeUndefined();
    expect(await fault(undefined, "chat")).toBeUndefined();
    expect(await fault("sim-embed", "embeddings")).toBeUndefined();
    expect(await fault("sim-chart", "chat")).toMatchObject({ code: "model_not_found" });
    expect(await fault("sim-chat", "assistant")).toMatchObject({ code: "model_not_found" });
    expect(await fault("sim-chat", "embeddings")).toMatchObject({ code: "model_not_found" });
  });
});
