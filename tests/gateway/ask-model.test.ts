import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createModelCatalog, type ModelCatalog } from "../../src/backends/models/model-catalog.ts";
import { createVllm } from "../../src/backends/vendors/vllm.ts";
import type { Caller, KeyLimits } from "../../src/core/callers/caller.ts";
import type { ChatEvent, ChatEvents } from "../../src/core/chat/chat-event.ts";
import type { ChatRequest } from "../../src/core/chat/chat-request.ts";
import type { Database } from "../../src/db/database.ts";
import { admitChat } from "../../src/gateway/admit.ts";
import { askModel } from "../../src/gateway/ask-model.ts";
import type { ChatCall } from "../../src/gateway/chat-call.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { CallMeter } from "../../src/gateway/meter/call-meter.ts";
import { meterRound, meterRounds } from "../../src/gateway/meter/meter.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import type { Limits } from "../../src/limits/limits.ts";
import { openMemoryLimits } from "../../src/limits/memory-limits.ts";
import type { OpenUsageJournal } from "../../src/usage/journal/open-usage-journal.ts";
import { chatRequest, collect, upstreamAt } from "../backends/support.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import { journalRoot, openTestJournal, silentLog } from "../support/stages/usage/usage-journal.ts";

// Several model calls as one metered call, without HTTP: the limits, the journal and the database are the real ones.

const UNLIMITED: KeyLimits = {
  monthlyTokens: null,
  requests: null,
  requestsPerMinute: null,
  tokens: null,
};

let simulator: TestSimulator;
let database: Database;
let models: ModelCatalog;
let limits: Limits;
let journal: OpenUsageJournal;
let client: AbortController;
let calls = 0;
const folder = journalRoot();

beforeAll(async () => {
  [simulator, database] = await Promise.all([startSimulator(), openTestDatabase()]);
  models = createModelCatalog({
    backends: [createVllm(upstreamAt(simulator.url))],
    defaultModel: undefined,
    log: silentLog,
    clock: systemClock,
  });
  await models.refresh();
  limits = await openMemoryLimits({
    database,
    clock: systemClock,
    monotonic: () => performance.now(),
    log: silentLog,
    callTimeoutMs: 600_000,
    waitMs: 1_000,
    observer: { onMonthUse: () => undefined, onMonthlyRefusal: () => undefined },
  });
  limits.start(Promise.resolve());
  journal = await openTestJournal(folder.root, database);
});
beforeEach(() => {
  calls += 1;
  client = new AbortController();
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await journal.drain(5_000);
  await Promise.all([simulator.stop(), limits.close()]);
  await database.close();
  folder.remove();
});

function saying(text: string, fields: Partial<ChatRequest> = {}): ChatRequest {
  const messages = [{ role: "user" as const, content: [{ type: "text" as const, text }] }];
  return chatRequest({ messages, parameters: {}, ...fields });
}

/** Opens a call that is admitted for its first request, as `answerChat` does. */
async function openCall(first: ChatRequest, given: Partial<KeyLimits> = { tokens: 1_000_000 }) {
  const caller: Caller = {
    kind: "key",
    keyId: `key_${calls}`,
    ownerId: "usr_1",
    role: "user",
    assistantId: null,
    passthrough: false,
    maxLevel: "read_only",
    toolScope: { tools: [], sql_connections: [] },
    limits: { ...UNLIMITED, ...given },
    isRestricted: true,
  };
  const gateway: Gateway = {
    models,
    journal,
    limits,
    clock: systemClock,
    defaultMaxOutputTokens: 2_000,
  };
  const answerSignal = client.signal;
  const metered = {
    requestId: `req_rounds_${calls}`,
    caller,
    channel: "chat" as const,
    startedAt: systemClock.now(),
    signal: answerSignal,
  };
  const target = await models.resolve(first.model);
  const question = { gateway, client: metered, request: first, target };
  const reservation = await admitChat(question);
  const meter = new CallMeter(gateway, metered, reservation);
  return { gateway, client: metered, reservation, meter } satisfies ChatCall;
}

/** The shortest possible loop: each round is asked once the one before it has ended, and the last one's end is the end. */
async function* rounds(call: ChatCall, requests: readonly ChatRequest[]): ChatEvents {
  for (const [index, request] of requests.entries()) {
    const target = await models.resolve(request.model);
    const answering = { model: target.model.id, ignored: [] };
    const events = await askModel(call, { request, target, answering });
    for await (const batch of meterRound(call.meter, events)) {
      const isLast = index === requests.length - 1;
      const passed = batch.filter(
        ({ type }) => (type !== "start" || index === 0) && (type !== "finish" || isLast),
      );
      if (passed.length > 0) yield passed;
      if (batch.at(-1)?.type === "error") return;
    }
  }
}

function run(call: ChatCall, requests: readonly ChatRequest[]): Promise<ChatEvents> {
  return meterRounds(call.meter, Promise.resolve(rounds(call, requests)));
}

/** The one row of the call. */
async function usageRow() {
  await journal.flush();
  const rows = await database.db.execute<Record<string, string | number>>(
    sql`select model, outcome, status, input_tokens::int, output_tokens::int, estimated, latency_ms, first_token_ms
        from usage_records where id = ${`req_rounds_${calls}`}`,
  );
  expect(rows).toHaveLength(1);
  return rows[0] ?? {};
}

/** What the key has used and holds. */
async function use() {
  const all = { ...UNLIMITED, tokens: 1_000_000_000, requests: 1_000_000_000 };
  const { tokens, requests } = await limits.read(`key_${calls}`, all, systemClock.now());
  return { tokens: tokens?.used, reserved: tokens?.reserved, requests: requests?.used };
}

/** The usage that the engine reports for the next calls, in their order. */
function reporting(...usages: readonly (readonly [number, number])[]): void {
  for (const [inputTokens, outputTokens] of usages) {
    simulator.script({ text: "some words", usage: { inputTokens, outputTokens } });
  }
}

/** The output limits that the engine was asked for. */
function caps(): readonly number[] {
  return simulator
    .ledger()
    .filter(({ path }) => path.endsWith("/completions"))
    .map(({ body }) => JSON.parse(body ?? "").max_tokens);
}

const ends = (events: readonly ChatEvent[]) =>
  events.filter(({ type }) => type === "finish" || type === "error");

describe("Three rounds under one reservation", () => {
  const requests = [saying("first"), saying("second"), saying("third")];

  it("have one usage row with their sums, and settle the limits exactly", async () => {
    reporting([100, 10], [200, 20], [300, 30]);
    const call = await openCall(requests[0] as ChatRequest);
    const { reserved = 0 } = await use();
    const events = await collect(run(call, requests));
    expect(ends(events)).toMatchObject([
      { type: "finish", usage: { inputTokens: 600, outputTokens: 60 } },
    ]);
    expect(await usageRow()).toMatchObject({
      model: "sim-chat",
      outcome: "ok",
      status: 200,
      input_tokens: 600,
      output_tokens: 60,
      estimated: false,
    });
    expect(reserved).toBeGreaterThan(660);
    expect(await use()).toEqual({ tokens: 660, reserved: 0, requests: 1 });
  });

  it("are asked for the whole output each, but no more than the limit leaves", async () => {
    reporting([100, 400], [100, 300], [100, 200]);
    const call = await openCall(requests[0] as ChatRequest, { tokens: 2_700 });
    const { outputTokens } = call.reservation?.budget ?? {};
    await collect(run(call, requests));
    const [first, second = 0, third = 0] = caps();
    expect(first).toBe(outputTokens);
    // Beside the output there is room for the prompt.
    expect(second).toBeLessThan(2_700 - 500);
    expect(third).toBeLessThan(2_700 - 900);
    expect(third).toBeGreaterThan(1_000);
    expect(await use()).toEqual({ tokens: 1_200, reserved: 0, requests: 1 });
  });

  it("have the time of the first round's first event, and the time of all", async () => {
    simulator.script({ text: "at once" }, { text: "late", latencyMs: 150 });
    const call = await openCall(requests[0] as ChatRequest);
    await collect(run(call, requests.slice(0, 2)));
    const { first_token_ms: firstTokenMs, latency_ms: latencyMs } = await usageRow();
    expect(Number(latencyMs) - Number(firstTokenMs)).toBeGreaterThanOrEqual(140);
  });

  it("have an estimated row when one of them is estimated", async () => {
    simulator.script({ text: "counted", usage: { inputTokens: 50, outputTokens: 5 } });
    simulator.script({ text: "12345678", usage: null });
    const call = await openCall(requests[0] as ChatRequest);
    const events = await collect(run(call, requests.slice(0, 2)));
    const { estimated, output_tokens: outputTokens } = await usageRow();
    // Eight characters are two tokens, but they came in three pieces.
    expect([estimated, outputTokens]).toEqual([true, 8]);
    expect(ends(events)).toMatchObject([{ usage: { outputTokens: 8, estimated: true } }]);
  });
});

describe("A further round", () => {
  it("falls back as the first does, and the row names the model that was asked last", async () => {
    reporting([100, 10]);
    simulator.script({ match: { model: "sim-chat" }, respond: { status: 500 }, times: 2 });
    simulator.script({
      match: { model: "sim-thinker" },
      text: "instead",
      usage: { inputTokens: 40, outputTokens: 4 },
    });
    const second = saying("second", { fallbacks: ["sim-thinker"] });
    const call = await openCall(saying("first"));
    const events = await collect(run(call, [saying("first"), second]));
    expect(ends(events)).toMatchObject([{ type: "finish" }]);
    expect(await usageRow()).toMatchObject({
      model: "sim-thinker",
      outcome: "ok",
      input_tokens: 140,
      output_tokens: 14,
    });
    expect(await use()).toEqual({ tokens: 154, reserved: 0, requests: 1 });
  });

  it("that fails ends the call with one error, and its row has what the rounds before it used", async () => {
    reporting([100, 10]);
    simulator.script({ respond: { status: 500 }, times: 2 });
    const call = await openCall(saying("first"));
    const events = await collect(run(call, [saying("first"), saying("second")]));
    expect(ends(events)).toMatchObject([{ type: "error", error: { code: "upstream_error" } }]);
    expect(await usageRow()).toMatchObject({
      outcome: "error",
      status: 200,
      input_tokens: 100,
      output_tokens: 10,
    });
    expect(await use()).toEqual({ tokens: 110, reserved: 0, requests: 1 });
  });

  it("that breaks off ends the call with one error, and is counted as far as it came", async () => {
    reporting([100, 10]);
    simulator.script({ text: "some words and more", cut: { at: 3, how: "reset" } });
    const call = await openCall(saying("first"));
    const events = await collect(run(call, [saying("first"), saying("second")]));
    expect(ends(events)).toHaveLength(1);
    expect(ends(events)[0]?.type).toBe("error");
    const row = await usageRow();
    expect(row).toMatchObject({ outcome: "error", status: 200, estimated: true });
    expect(Number(row["input_tokens"])).toBeGreaterThan(100);
    expect(Number(row["output_tokens"])).toBeGreaterThan(10);
    expect((await use()).reserved).toBe(0);
  });
});

describe("A client that leaves in the second round", () => {
  it.each(["by its signal", "by its stream"])(
    "leaves one row with what both rounds used (%s)",
    async (way) => {
      reporting([100, 10]);
      simulator.script({ text: "a few words and more of them", stall: { at: 3 } });
      const call = await openCall(saying("first"));
      const stream = (await run(call, [saying("first"), saying("second")]))[Symbol.asyncIterator]();
      const second = () => simulator.ledger().filter(({ path }) => path.endsWith("/completions"));
      let events: ChatEvent[] = [];
      while (second().length < 2 || events.at(-1)?.type !== "text-delta") {
        events = [...events, ...((await stream.next()).value ?? [])];
      }
      if (way === "by its signal") {
        client.abort();
        const rest = await collect({ [Symbol.asyncIterator]: () => stream });
        expect(ends(rest)).toHaveLength(1);
      } else {
        await stream.return?.();
      }
      const row = await usageRow();
      expect(row).toMatchObject({ outcome: "aborted", status: 200, estimated: true });
      expect(Number(row["input_tokens"])).toBeGreaterThan(100);
      expect(Number(row["output_tokens"])).toBeGreaterThan(10);
      const { tokens = 0, reserved } = await use();
      expect(tokens).toBeGreaterThanOrEqual(
        Number(row["input_tokens"]) + Number(row["output_tokens"]),
      );
      expect(reserved).toBe(0);
      await simulator.awaitEntry(({ end }) => end === "client-left");
    },
  );

  it("before its first event leaves the prompt counted", async () => {
    reporting([100, 10]);
    simulator.script({ stall: { at: "headers" } });
    const call = await openCall(saying("first"));
    const collecting = collect(run(call, [saying("first"), saying("second")]));
    await simulator.awaitEntry(({ body }) => body?.includes("second") === true);
    client.abort();
    expect(ends(await collecting)).toHaveLength(1);
    const row = await usageRow();
    expect(row).toMatchObject({ outcome: "aborted", status: 200, output_tokens: 10 });
    expect(Number(row["input_tokens"])).toBeGreaterThan(100);
    expect((await use()).reserved).toBe(0);
  });
});

describe("A loop that would exceed the limit of its key", () => {
  it("is cut to what remains, and refused when that is too little for its prompt", async () => {
    const tokens = 3_000;
    // The engine says nothing of usage: the answers are as long as they may be.
    reporting([600, 1_200]);
    simulator.script({ text: "word ", repeat: 5_000, usage: null });
    const requests = [saying("first"), saying("second"), saying("third")];
    const call = await openCall(requests[0] as ChatRequest, { tokens });
    const { inputTokens = 0, outputTokens = 0 } = call.reservation?.budget ?? {};
    expect(inputTokens + outputTokens).toBeLessThanOrEqual(tokens);
    const events = await collect(run(call, requests));
    const asked = caps();
    expect(asked).toHaveLength(2);
    expect(asked[1]).toBeLessThanOrEqual(tokens - 1_800);
    expect(ends(events)).toMatchObject([
      { type: "error", error: { code: "token_limit_exceeded", status: 429 } },
    ]);
    expect(await usageRow()).toMatchObject({ outcome: "error", status: 200 });
    const used = await use();
    expect(used.tokens).toBeLessThanOrEqual(tokens);
    expect(used.reserved).toBe(0);
  });

  it("has its further prompts counted by the engine where their bound has no room", async () => {
    reporting([300, 400], [300, 10]);
    const long = saying("word ".repeat(400));
    const call = await openCall(saying("word ".repeat(100)), { tokens: 3_100 });
    const events = await collect(run(call, [saying("first"), long]));
    expect(ends(events)).toMatchObject([{ type: "finish" }]);
    expect(simulator.ledger().some(({ path }) => path === "/tokenize")).toBe(true);
    expect(await use()).toEqual({ tokens: 1_010, reserved: 0, requests: 1 });
  });

  it("has no bound where no limit on tokens holds", async () => {
    reporting([9_000, 2_000], [9_000, 2_000], [9_000, 2_000]);
    const requests = [saying("first"), saying("second"), saying("third")];
    const call = await openCall(requests[0] as ChatRequest, { requests: 10 });
    await collect(run(call, requests));
    expect(caps()).toEqual([2_000, 2_000, 2_000]);
    expect(await use()).toEqual({ tokens: 33_000, reserved: 0, requests: 1 });
  });
});

describe("A call that ends before its first round", () => {
  it("gives its reservation back, has no row and counts towards no limit", async () => {
    const call = await openCall(saying("first"));
    const failing: ChatEvents = (async function* () {
      if (call.meter.isOpen) yield [];
      throw new Error("the knowledge could not be searched");
    })();
    const events = meterRounds(call.meter, Promise.resolve(failing));
    expect(ends(await collect(events))).toHaveLength(1);
    expect(await use()).toEqual({ tokens: 0, reserved: 0, requests: 0 });
  });
});

describe("A call whose first round fails", () => {
  it("rejects while the status is still free, and has its row", async () => {
    simulator.script({ respond: { status: 500 }, times: 2 });
    const request = saying("first");
    const call = await openCall(request);
    const target = await models.resolve(request.model);
    const answering = { model: target.model.id, ignored: [] };
    const asking = askModel(call, { request, target, answering });
    await expect(meterRounds(call.meter, asking)).rejects.toMatchObject({ code: "upstream_error" });
    expect(await usageRow()).toMatchObject({ outcome: "error", status: 502, input_tokens: 0 });
    expect(await use()).toEqual({ tokens: 0, reserved: 0, requests: 1 });
  });
});
