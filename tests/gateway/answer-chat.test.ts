import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createModelCatalog, type ModelCatalog } from "../../src/backends/models/model-catalog.ts";
import { createVllm } from "../../src/backends/vendors/vllm.ts";
import type { Caller } from "../../src/core/callers/caller.ts";
import type { ChatRequest } from "../../src/core/chat/chat-request.ts";
import { answerChat } from "../../src/gateway/answer-chat.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import type { UsageRecord } from "../../src/usage/usage-record.ts";
import { chatRequest, startRawServer, upstreamAt } from "../backends/support.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import { noLimits } from "../support/stages/no-limits.ts";
import { silentLog } from "../support/stages/usage/usage-journal.ts";

let simulator: TestSimulator;
let models: ModelCatalog;
let rows: UsageRecord[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
  models = createModelCatalog({
    backends: [createVllm(upstreamAt(simulator.url))],
    defaultModel: undefined,
    log: silentLog,
    clock: systemClock,
  });
  await models.refresh();
});
afterEach(() => {
  simulator.reset();
  rows = [];
});
afterAll(() => simulator.stop());

const caller: Caller = {
  kind: "key",
  keyId: "key_1",
  ownerId: "usr_1",
  role: "user",
  assistantId: null,
  passthrough: false,
  maxLevel: "read_only",
  toolScope: { tools: [], sql_connections: [] },
  limits: null,
  isRestricted: false,
};

/** Starts a call whose usage goes to `rows`. */
async function start(request: ChatRequest, signal: AbortSignal, resolve = models.resolve) {
  const entry = {
    recordStart: () => undefined,
    progress: () => undefined,
    close: (record: UsageRecord) => void rows.push(record),
  };
  const journal = { open: () => entry };
  const gateway = {
    models: { ...models, resolve },
    journal,
    limits: noLimits,
    clock: systemClock,
    defaultMaxOutputTokens: 8_192,
  };
  const call = { requestId: "req_1", caller, channel: "chat" as const, startedAt: 0, signal };
  return answerChat(gateway, call, request);
}

/** As many words as the context of `sim-small` has tokens. */
const longRequest = chatRequest({
  model: "sim-small",
  messages: [{ role: "user", content: [{ type: "text", text: "word ".repeat(9_000) }] }],
});

describe("A call whose prompt is close to the context", () => {
  it("has its row when the prompt turns out to be too long", async () => {
    const reply = await start(longRequest, new AbortController().signal);
    await expect(reply.events).rejects.toMatchObject({ code: "context_length_exceeded" });
    expect(rows).toMatchObject([
      { model: "sim-small", outcome: "error", status: 400, outputTokens: 0 },
    ]);
  });

  it("has its row when the client leaves while the engine counts", async () => {
    const silent = await startRawServer(() => undefined);
    const { model } = await models.resolve("sim-small");
    const backend = createVllm(upstreamAt(silent.address));
    const client = new AbortController();
    const reply = await start(longRequest, client.signal, () => ({ backend, model }));
    setTimeout(() => client.abort(), 50);
    await expect(reply.events).rejects.toBeDefined();
    expect(rows).toMatchObject([{ outcome: "aborted", status: 499 }]);
    await silent.stop();
  });
});
