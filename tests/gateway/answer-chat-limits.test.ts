import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Backend } from "../../src/backends/backend.ts";
import { createModelCatalog, type ModelCatalog } from "../../src/backends/models/model-catalog.ts";
import { createEmbeddings } from "../../src/backends/vendors/embeddings.ts";
import { createOllama } from "../../src/backends/vendors/ollama.ts";
import { createVllm } from "../../src/backends/vendors/vllm.ts";
import type { Caller, KeyLimits } from "../../src/core/callers/caller.ts";
import type { ChatEvents } from "../../src/core/chat/chat-event.ts";
import type { ChatRequest } from "../../src/core/chat/chat-request.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import type { Database } from "../../src/db/database.ts";
import { answerChat } from "../../src/gateway/answer-chat.ts";
import { embed } from "../../src/gateway/embed.ts";
import { boundEmbeddingTokens, meterEmbedding } from "../../src/gateway/meter/meter-embedding.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import type { Limits } from "../../src/limits/limits.ts";
import { openMemoryLimits } from "../../src/limits/memory-limits.ts";
import type { UsageJournal, UsageRecord } from "../../src/usage/usage-record.ts";
import { chatRequest, collect, upstreamAt } from "../backends/support.ts";
import { cloudAt } from "../backends/vendors/cloud-calls.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import { silentLog } from "../support/stages/usage/usage-journal.ts";

// The pipeline with the limits as they are, in memory, in front of a simulated engine.

const UNLIMITED: KeyLimits = {
  monthlyTokens: null,
  requests: null,
  requestsPerMinute: null,
  tokens: null,
};

let simulator: TestSimulator;
let openai: TestSimulator;
let database: Database;
let limits: Limits;
let rows: UsageRecord[] = [];
let refusedForMonth: string[] = [];
let calls = 0;
let key = 0;

beforeAll(async () => {
  [simulator, openai, database] = await Promise.all([
    startSimulator({ engine: "both" }),
    startSimulator({ engine: "openai" }),
    openTestDatabase(),
  ]);
  limits = await openMemoryLimits({
    database,
    clock: systemClock,
    monotonic: () => performance.now(),
    log: silentLog,
    callTimeoutMs: 600_000,
    waitMs: 1_000,
    observer: {
      onMonthUse: () => undefined,
      onMonthlyRefusal: (keyId) => void refusedForMonth.push(keyId),
    },
  });
  limits.start(Promise.resolve());
});
beforeEach(() => {
  rows = [];
  refusedForMonth = [];
  key += 1;
});
afterEach(() => {
  simulator.reset();
  openai.reset();
});
afterAll(() => Promise.all([simulator.stop(), openai.stop(), limits.close(), database.close()]));

interface Setting {
  readonly limits?: Partial<KeyLimits> | null;
  readonly backends?: readonly [Backend, ...Backend[]];
  readonly journal?: UsageJournal;
  readonly signal?: AbortSignal;
  readonly session?: boolean;
}

const JOURNAL: UsageJournal = {
  open: () => ({
    recordStart: () => undefined,
    progress: () => undefined,
    close: (row) => void rows.push(row),
  }),
};

function vllm(): Backend {
  return createVllm(upstreamAt(simulator.url));
}

function caller({ limits: given = {}, session = false }: Setting): Caller {
  if (session) {
    return {
      kind: "session",
      sessionId: "ses_1",
      ownerId: "usr_1",
      username: "ada",
      role: "user",
      mustChangePassword: false,
      passthrough: false,
    };
  }
  return {
    kind: "key",
    keyId: `key_${key}`,
    ownerId: "usr_1",
    role: "user",
    assistantId: null,
    passthrough: false,
    maxLevel: "read_only",
    toolScope: { tools: [], sql_connections: [] },
    limits: given === null ? null : { ...UNLIMITED, ...given },
    isRestricted: true,
  };
}

async function catalogOf(backends: readonly [Backend, ...Backend[]]): Promise<ModelCatalog> {
  const options = { backends, defaultModel: undefined, log: silentLog, clock: systemClock };
  const models = createModelCatalog(options);
  await models.refresh();
  return models;
}

async function start(request: ChatRequest, setting: Setting = {}) {
  const { backends = [vllm()], journal = JOURNAL } = setting;
  const gateway = {
    models: await catalogOf(backends),
    journal,
    limits,
    clock: systemClock,
    defaultMaxOutputTokens: 8_192,
  };
  calls += 1;
  const call = {
    requestId: `req_${calls}`,
    caller: caller(setting),
    channel: "chat" as const,
    startedAt: systemClock.now(),
    signal: setting.signal ?? new AbortController().signal,
  };
  return answerChat(gateway, call, request);
}

/** What the key has used and holds, by a limit that is far away. */
async function use() {
  const all = { ...UNLIMITED, tokens: 1_000_000_000, requests: 1_000_000_000 };
  const { tokens, requests } = await limits.read(`key_${key}`, all, systemClock.now());
  return { tokens: tokens?.used, reserved: tokens?.reserved, requests: requests?.used };
}

/** Nothing is held any more, and what is counted is what the rows tell. */
async function expectSettled(requests = 1): Promise<void> {
  const told = rows.reduce((sum, row) => sum + row.inputTokens + row.outputTokens, 0);
  expect(await use()).toEqual({ tokens: told, reserved: 0, requests });
}

function saying(text: string, fields: Partial<ChatRequest> = {}): ChatRequest {
  const messages = [{ role: "user" as const, content: [{ type: "text" as const, text }] }];
  return chatRequest({ stream: false, parameters: {}, messages, ...fields });
}

/** The limits of the answers that the engine was asked for. */
function capsAt(engine: TestSimulator): readonly unknown[] {
  return engine
    .ledger()
    .filter(({ path }) => /\/(completions|responses|chat)$/.test(path))
    .map(({ body }) => {
      const { max_tokens, max_output_tokens, max_completion_tokens } = JSON.parse(body ?? "");
      return max_tokens ?? max_output_tokens ?? max_completion_tokens;
    });
}

const paths = () => simulator.ledger().map(({ path }) => path);
const failure = (events: Promise<ChatEvents>) => expect(collect(events)).rejects;

describe("What a call reserved is settled once, by what its row tells,", () => {
  const limited = { limits: { tokens: 100_000 } };

  it.each([true, false])("when it is answered (stream: %s)", async (stream) => {
    const reply = await start(saying("hello", { stream }), limited);
    expect((await use()).reserved).toBeGreaterThan(8_192);
    await collect(reply.events);
    expect(rows).toMatchObject([{ outcome: "ok" }]);
    await expectSettled();
  });

  it.each([
    [500, "error"],
    [429, "rate_limited"],
  ])("as nothing used, when the engine refuses it with %d", async (status, outcome) => {
    const headers = { "retry-after": "60" };
    simulator.script({ respond: { status, body: {}, headers } });
    await failure((await start(saying("hello"), limited)).events).toBeDefined();
    expect(rows).toMatchObject([{ outcome, inputTokens: 0, outputTokens: 0 }]);
    await expectSettled();
  });

  it("as nothing used, when nobody listens at the engine's address", async () => {
    const { chat } = createVllm(upstreamAt("http://127.0.0.1:1"));
    const backends = [{ ...vllm(), chat }] as const;
    const reply = await start(saying("hello"), { ...limited, backends });
    await failure(reply.events).toMatchObject({ code: "upstream_error" });
    expect(rows).toMatchObject([{ outcome: "error", status: 502, inputTokens: 0 }]);
    await expectSettled();
  });

  it("when the engine breaks off in the middle", async () => {
    simulator.script({ text: "some words and more", cut: { at: 3, how: "reset" } });
    const events = await collect((await start(saying("hello", { stream: true }), limited)).events);
    expect(events.at(-1)).toMatchObject({ type: "error" });
    expect(rows).toMatchObject([{ outcome: "error", estimated: true }]);
    // An answer that did not end is charged by its bytes, which are no fewer tokens.
    const { inputTokens = 0, outputTokens = 0, extraCharge = 0 } = rows[0] ?? {};
    const { tokens = 0, reserved } = await use();
    expect(tokens).toBe(inputTokens + outputTokens + extraCharge);
    expect(tokens).toBeGreaterThanOrEqual(inputTokens + outputTokens);
    expect(tokens).toBeLessThan(inputTokens + 2 * outputTokens);
    expect(reserved).toBe(0);
  });

  it("when the client leaves before the engine says anything", async () => {
    simulator.script({ stall: { at: "headers" } });
    const client = new AbortController();
    const reply = await start(saying("hello"), { ...limited, signal: client.signal });
    await simulator.awaitEntry(({ path }) => path.endsWith("/completions"));
    client.abort();
    await failure(reply.events).toBeDefined();
    expect(rows).toMatchObject([{ outcome: "aborted", status: 499 }]);
    await expectSettled();
  });

  it("when the client leaves in the middle of a stream", async () => {
    simulator.script({ text: "a few words", stall: { at: 2 } });
    const reply = await start(saying("hello", { stream: true }), limited);
    const events = (await reply.events)[Symbol.asyncIterator]();
    await events.next();
    await events.return?.();
    expect(rows).toMatchObject([{ outcome: "aborted" }]);
    await expectSettled();
  });

  it("when nobody ever reads its answer", async () => {
    const reply = await start(saying("hello", { stream: true }), limited);
    await (await reply.events)[Symbol.asyncIterator]().return?.();
    expect(rows).toMatchObject([{ outcome: "aborted" }]);
    await expectSettled();
  });

  it("as nothing used, when its prompt is longer than the context", async () => {
    const request = saying("word ".repeat(9_000), { model: "sim-small" });
    const reply = await start(request, limited);
    await failure(reply.events).toMatchObject({ code: "context_length_exceeded" });
    expect(rows).toMatchObject([
      { outcome: "error", status: 400, inputTokens: 0, outputTokens: 0 },
    ]);
    await expectSettled();
  });

  it("when a fallback answers, and when none does", async () => {
    simulator.script({ match: { model: "sim-chat" }, respond: { status: 500 }, times: 2 });
    const request = saying("hello", { model: "sim-chat", fallbacks: ["sim-thinker"] });
    await collect((await start(request, limited)).events);
    expect(rows).toMatchObject([{ outcome: "ok", model: "sim-thinker" }]);
    await expectSettled();

    simulator.script({ match: { model: "sim-thinker" }, respond: { status: 500 } });
    await failure((await start(request, limited)).events).toMatchObject({ code: "upstream_error" });
    expect(rows).toHaveLength(2);
    await expectSettled(2);
  });

  it("as nothing used and no request, when the journal does not take its start", async () => {
    const error = new ServiceError("storage_unavailable", "no space");
    const journal = { open: () => Promise.reject(error) };
    const reply = await start(saying("hello"), { ...limited, journal });
    await failure(reply.events).toBe(error);
    expect(paths().filter((path) => path.endsWith("/completions"))).toEqual([]);
    await expectSettled(0);
  });

  it("when the journal does not take its end", async () => {
    const journal: UsageJournal = {
      open: () => ({
        recordStart: () => undefined,
        progress: () => undefined,
        close(row) {
          rows.push(row);
          return Promise.reject(new ServiceError("storage_unavailable", "no space"));
        },
      }),
    };
    const reply = await start(saying("hello"), { ...limited, journal });
    expect((await collect(reply.events)).at(-1)).toMatchObject({ type: "error" });
    await expectSettled();
  });

  it("for a key without limits too, so that a limit set later counts it", async () => {
    await collect((await start(saying("hello"), { limits: null })).events);
    expect((await use()).tokens).toBeGreaterThan(0);
    await expectSettled();
  });

  it("for no session: it is neither admitted nor counted", async () => {
    const reply = await start(saying("hello"), { session: true });
    await collect(reply.events);
    expect(reply.limits).toBeUndefined();
    expect(rows).toEqual([]);
    await expectSettled(0);
  });
});

describe("A refused call", () => {
  it("reaches no engine and has no row", async () => {
    for (const refusing of [
      { tokens: 0 },
      { monthlyTokens: 0 },
      { requests: 0 },
      { requestsPerMinute: 0 },
      { tokens: 1 },
    ]) {
      await expect(start(saying("hello"), { limits: refusing })).rejects.toMatchObject({
        status: 429,
      });
    }
    expect(paths().filter((path) => path !== "/v1/models")).toEqual([]);
    expect(rows).toEqual([]);
  });
});

describe("Near exhaustion", () => {
  const prompt = "word ".repeat(1_500);

  it("a prompt is counted by an engine that can, and answered with what is left", async () => {
    const reply = await start(saying(prompt), { limits: { tokens: 2_000 } });
    await collect(reply.events);
    expect(paths()).toContain("/tokenize");
    const [cap] = capsAt(simulator);
    expect(cap).toBeGreaterThan(300);
    expect(Number(cap) + (rows[0]?.inputTokens ?? 0)).toBeLessThanOrEqual(2_000);
    await expectSettled();
  });

  it("is told to nobody while the prompt may still fit, and once when it does not", async () => {
    const monthly = { limits: { monthlyTokens: 2_000 } };
    await collect((await start(saying(prompt), monthly)).events);
    expect(refusedForMonth).toEqual([]);
    await expect(start(saying(prompt), monthly)).rejects.toMatchObject({
      code: "monthly_limit_exceeded",
    });
    expect(refusedForMonth).toEqual([`key_${key}`]);
  });

  it("a prompt is refused where the engine cannot count, for its bytes may be tokens", async () => {
    const backends = [createOllama(upstreamAt(simulator.url), 32_768)] as const;
    const setting = { limits: { tokens: 2_000 }, backends };
    await expect(start(saying(prompt), setting)).rejects.toMatchObject({
      code: "token_limit_exceeded",
    });
    expect(paths()).not.toContain("/api/chat");
  });

  it("no engine is asked to count what cannot fit", async () => {
    await expect(start(saying(prompt), { limits: { tokens: 700 } })).rejects.toMatchObject({
      code: "token_limit_exceeded",
    });
    await expect(start(saying("hi"), { limits: { monthlyTokens: 20 } })).rejects.toMatchObject({
      code: "monthly_limit_exceeded",
    });
    expect(paths()).not.toContain("/tokenize");
  });

  it("pictures count by their bound, for the engine's counter does not see them", async () => {
    const picture = { type: "image", source: { kind: "url", url: "http://a/b.png" } } as const;
    const request = saying("hello", { messages: [{ role: "user", content: [picture] }] });
    await expect(start(request, { limits: { tokens: 12_000 } })).rejects.toMatchObject({
      code: "token_limit_exceeded",
    });
    expect(capsAt(simulator)).toEqual([]);
  });

  it("a prompt that was let in by one model's count goes to no other model", async () => {
    const path = "/v1/chat/completions";
    simulator.script({ match: { path, model: "sim-chat" }, respond: { status: 500 } });
    const request = saying(prompt, { model: "sim-chat", fallbacks: ["sim-thinker"] });
    const reply = await start(request, { limits: { tokens: 2_000 } });
    await failure(reply.events).toMatchObject({ code: "upstream_error" });
    expect(rows).toMatchObject([{ model: "sim-chat", outcome: "error" }]);
    await expectSettled();
  });
});

describe("A call for embeddings", () => {
  const embedding = () => ({
    requestId: `req_embed_${key}`,
    caller: caller({ limits: { tokens: 1_000 } }),
    channel: "embeddings" as const,
    startedAt: systemClock.now(),
    signal: new AbortController().signal,
  });
  const gatewayOf = () => {
    const upstream = upstreamAt(simulator.url);
    const embeddings = createEmbeddings({
      ...{ upstream, kind: "vllm", isDedicated: false, defaultModel: undefined },
    });
    return { embeddings, journal: JOURNAL, limits, clock: systemClock };
  };
  const requestOf = (text: string) =>
    ({
      ...{ model: undefined, inputs: [text], dimensions: undefined, extra: {} },
      encoding: "float",
    }) as const;

  it.each([
    ["a b c d ".repeat(20), true],
    ["extraordinarily uninterrupted", false],
  ])(
    "is charged what the engine counts where that is more than its row: %s",
    async (text, isMore) => {
      const reply = await embed(gatewayOf(), embedding(), requestOf(text));
      const estimate = Math.ceil(text.length / 4);
      expect(rows).toMatchObject([{ inputTokens: estimate, estimated: true }]);
      expect(reply.inputTokens > estimate).toBe(isMore);
      expect((await use()).tokens).toBe(Math.max(estimate, reply.inputTokens));
      expect(rows[0]?.extraCharge ?? 0).toBe(Math.max(0, reply.inputTokens - estimate));
    },
  );

  it.each([
    ["as the engine counted", { prompt_tokens: 70, total_tokens: 70 }, 70],
    ["by its estimate where the engine counts nothing", undefined, 2],
  ])("is charged for vectors of another length than it asked for, %s", async (_, usage, tokens) => {
    const body = { object: "list", data: [{ index: 0, embedding: [1, 2, 3] }], usage };
    simulator.script({ respond: { status: 200, body } });
    const request = { ...requestOf("1234 678"), dimensions: 2 };
    await expect(embed(gatewayOf(), embedding(), request)).rejects.toMatchObject({
      code: "unsupported_parameter",
    });
    expect(rows).toMatchObject([{ outcome: "error", status: 400, inputTokens: tokens }]);
    await expectSettled();
  });

  it("is charged nothing for an answer that no model has made", async () => {
    simulator.script({ respond: { status: 200, body: { object: "nothing" } } });
    await expect(embed(gatewayOf(), embedding(), requestOf("a"))).rejects.toMatchObject({
      code: "upstream_error",
    });
    expect(rows).toMatchObject([{ outcome: "error", status: 502, inputTokens: 0 }]);
    await expectSettled();
  });

  it.each([
    [70, 70],
    [0, 2],
  ])("of a search whose database fails after %d tokens is charged %d", async (counted, tokens) => {
    const asked = { model: "m", inputs: ["1234 678"] };
    const failing = meterEmbedding(gatewayOf(), embedding(), asked, (onEmbedded) => {
      onEmbedded(counted);
      return Promise.reject(new ServiceError("storage_unavailable", "The database is away."));
    });
    await expect(failing).rejects.toMatchObject({ code: "storage_unavailable", status: 503 });
    expect(rows).toMatchObject([{ outcome: "error", status: 503, inputTokens: tokens }]);
    await expectSettled();
  });
});

describe("What a call for embeddings reserves", () => {
  it.each([
    ["你好，世界", 15],
    ["extraordinarily", 15],
    [[1, 2, 3], 3],
  ])("is at least a token for each byte of %j, and its marks", (input, least) => {
    expect(boundEmbeddingTokens([input])).toBeGreaterThan(least);
    expect(boundEmbeddingTokens([input, input])).toBe(2 * boundEmbeddingTokens([input]));
  });
});

describe("The answer has what was granted and no more", () => {
  it("where less remains than is asked for", async () => {
    for (const maxOutputTokens of [undefined, 5_000]) {
      await collect(
        (
          await start(saying("hello", { parameters: { maxOutputTokens } }), {
            limits: { tokens: 1_000_000, monthlyTokens: 2_000 },
          })
        ).events,
      );
    }
    const [first, second] = capsAt(simulator);
    // The prompt is counted by its engine: its bound by bytes would leave the answer 500 tokens less.
    expect(Number(first)).toBeLessThan(2_000 - 32);
    expect(Number(first)).toBeGreaterThan(2_000 - 100);
    expect(Number(second)).toBeLessThan(Number(first));
  });

  it("and what is asked for where more remains", async () => {
    const request = saying("hello", { parameters: { maxOutputTokens: 77 } });
    await collect((await start(request, { limits: { tokens: 100_000 } })).events);
    expect(capsAt(simulator)).toEqual([77]);
    await collect((await start(saying("hello"), { limits: { requests: 5 } })).events);
    expect(capsAt(simulator)).toEqual([77, 8_192]);
  });

  it("at a fallback too, whose answers may be longer", async () => {
    simulator.script({ match: { model: "sim-chat" }, respond: { status: 500 }, times: 2 });
    const request = saying("hello", { model: "sim-chat", fallbacks: ["sim-thinker"] });
    await collect((await start(request, { limits: { tokens: 3_000 } })).events);
    const [first, second] = capsAt(simulator);
    expect(first).toBe(second);
    expect(Number(first)).toBeLessThan(3_000 - 512);
  });

  it("where the vendor takes no small limit: that is reserved whole, or the call refused", async () => {
    const upstream = upstreamAt(`${openai.url}/v1`);
    const models = ["gpt-5-pro"];
    const backends = [cloudAt("openai", openai.url, { upstream, models })] as const;
    const request = saying("hello", { model: "gpt-5-pro", parameters: { maxOutputTokens: 3 } });
    const before = 512 + 32 + 5;
    const granted = { limits: { tokens: before + 16 }, backends };
    await collect((await start(request, granted)).events);
    expect(capsAt(openai)).toEqual([16]);
    key += 1;
    const refused = { limits: { tokens: before + 15 }, backends };
    await expect(start(request, refused)).rejects.toMatchObject({ code: "token_limit_exceeded" });
    expect(capsAt(openai)).toEqual([16]);
  });
});
