import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Backend, Model } from "../../src/backends/backend.ts";
import { createModelCatalog } from "../../src/backends/models/model-catalog.ts";
import type { ChatEvent, ChatEvents } from "../../src/core/chat/chat-event.ts";
import type { ChatRequest, UserPart } from "../../src/core/chat/chat-request.ts";
import { type ErrorCode, ServiceError } from "../../src/core/service-error.ts";
import { answerChat } from "../../src/gateway/answer-chat.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import type { UsageRecord, UsageStart } from "../../src/usage/usage-record.ts";
import { chatRequest, collect, MODEL, textOf } from "../backends/support.ts";
import { noLimits } from "../support/stages/no-limits.ts";
import { silentLog } from "../support/stages/usage/usage-journal.ts";

type Behaviour = (request: ChatRequest, model: Model) => Promise<ChatEvents>;

/** What each model does, by its id. */
let behaviours: Record<string, Behaviour> = {};
let asked: { readonly id: string; readonly maxOutputTokens: number | undefined }[] = [];
let starts: UsageStart[] = [];
let rows: UsageRecord[] = [];
let client: AbortController;

beforeEach(() => {
  client = new AbortController();
});
afterEach(() => {
  behaviours = {};
  asked = [];
  starts = [];
  rows = [];
});

const fails =
  (code: ErrorCode): Behaviour =>
  () =>
    Promise.reject(new ServiceError(code, code));
const answers: Behaviour = async (_request, { id }) => batches([answer(id)]);

function answer(text: string): ChatEvent[] {
  return [
    { type: "start" },
    { type: "block-start", block: 0, kind: "text" },
    { type: "text-delta", block: 0, text },
    { type: "block-end", block: 0 },
    { type: "finish", reason: "stop", usage: { inputTokens: 5, outputTokens: 1 } },
  ];
}

async function* batches(list: readonly ChatEvent[][]): AsyncGenerator<readonly ChatEvent[]> {
  yield* list;
}

const backend = (name: string, models: readonly Model[]): Backend => ({
  name,
  listModels: async () => models,
  isReachable: async () => true,
  chat(request, model) {
    asked.push({ id: model.id, maxOutputTokens: request.parameters.maxOutputTokens });
    return (behaviours[model.id] ?? answers)(request, model);
  },
});

const model = (id: string, traits: Partial<Model> = {}): Model => ({ ...MODEL, id, ...traits });

/** Starts a call and tells what became of it. */
async function call(request: Partial<ChatRequest>, configured: readonly string[] = []) {
  const models = createModelCatalog({
    backends: [
      backend("local", [model("first"), model("blind", { vision: false })]),
      backend("cloud", [model("second"), model("third"), model("short", { maxOutputTokens: 16 })]),
    ],
    defaultModel: undefined,
    log: silentLog,
    clock: systemClock,
  });
  await models.refresh();
  const journal = {
    open(start: UsageStart) {
      starts.push(start);
      return {
        recordStart: () => undefined,
        progress: () => undefined,
        close: (row: UsageRecord) => void rows.push(row),
      };
    },
  };
  const gateway = {
    models,
    journal,
    limits: noLimits,
    clock: systemClock,
    defaultMaxOutputTokens: 512,
    fallbacks: configured,
  };
  const caller = {
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
  } as const;
  const { signal } = client;
  const reply = await answerChat(
    gateway,
    { requestId: "req_1", caller, channel: "chat", startedAt: 0, signal },
    chatRequest({ model: "first", ...request }),
  );
  const outcome = await collect(reply.events).then(
    (events) => ({ text: textOf(events), last: events.at(-1)?.type }),
    (thrown: unknown) => ({ error: thrown instanceof ServiceError ? thrown.code : String(thrown) }),
  );
  return { ...outcome, model: reply.model() };
}

const ids = () => asked.map(({ id }) => id);

describe("A fallback takes over", () => {
  it.each(["upstream_error", "upstream_timeout", "overloaded", "rate_limit_exceeded"] as const)(
    "after %s, and its model is told and metered in one row",
    async (code) => {
      behaviours["first"] = fails(code);
      const reply = await call({ fallbacks: ["second", "third"] });
      expect(reply).toEqual({ text: "second", last: "finish", model: "second" });
      expect(ids()).toEqual(["first", "second"]);
      expect(starts).toHaveLength(1);
      expect(rows).toMatchObject([{ id: "req_1", model: "second", outcome: "ok", status: 200 }]);
    },
  );

  it("in a row that has what the failed model says it has used", async () => {
    const usage = { inputTokens: 30, outputTokens: 500 };
    behaviours["first"] = () =>
      Promise.reject(new ServiceError("upstream_error", "No valid call.", { usage }));
    await call({ fallbacks: ["second"] });
    expect(rows).toMatchObject([{ model: "second", inputTokens: 35, outputTokens: 501 }]);
  });

  it("is the request's, else the one that MODEL_FALLBACKS names", async () => {
    behaviours["first"] = fails("upstream_error");
    expect((await call({}, ["third"])).model).toBe("third");
    expect((await call({ fallbacks: ["second"] }, ["third"])).model).toBe("second");
    // An empty list asks for none.
    expect(await call({ fallbacks: [] }, ["third"])).toMatchObject({ error: "upstream_error" });
  });

  it("in the order of the names, each model once, and never the one that has failed", async () => {
    for (const id of ["first", "second", "third"]) behaviours[id] = fails("overloaded");
    const fallbacks = ["first", "second", "second", "third", "first"];
    expect(await call({ fallbacks })).toEqual({ error: "overloaded", model: "third" });
    expect(ids()).toEqual(["first", "second", "third"]);
    expect(rows).toMatchObject([{ model: "third", outcome: "error", status: 503 }]);
  });

  it("is not the default model when a name is not listed", async () => {
    behaviours["second"] = fails("upstream_error");
    const reply = await call({ model: "second", fallbacks: ["no-such", "asst_1", "third"] });
    expect(reply.model).toBe("third");
    expect(ids()).toEqual(["second", "third"]);
  });

  it("gets the request fitted to itself", async () => {
    behaviours["first"] = fails("upstream_error");
    await call({ fallbacks: ["short"], parameters: { maxOutputTokens: 300 } });
    expect(asked).toEqual([
      { id: "first", maxOutputTokens: 300 },
      { id: "short", maxOutputTokens: 16 },
    ]);
  });

  it("is passed over when it cannot take the content or the length", async () => {
    behaviours["first"] = fails("upstream_error");
    const image: UserPart = { type: "image", source: { kind: "url", url: "https://x.example/a" } };
    const seen = { messages: [{ role: "user", content: [image] }] } as const;
    expect((await call({ ...seen, fallbacks: ["blind", "third"] })).model).toBe("third");
    // The failure stays the server's: the client asked for no model that sees nothing.
    const alone = await call({ ...seen, fallbacks: ["blind"] });
    expect(alone).toEqual({ error: "upstream_error", model: "first" });
    expect(rows.at(-1)).toMatchObject({ model: "first", outcome: "error", status: 502 });
  });
});

describe("No fallback takes over", () => {
  it.each([
    "invalid_value",
    "context_length_exceeded",
    "request_too_large",
    "internal_error",
  ] as const)("after %s", async (code) => {
    behaviours["first"] = fails(code);
    expect(await call({ fallbacks: ["second"] })).toEqual({ error: code, model: "first" });
    expect(ids()).toEqual(["first"]);
  });

  it("after a refusal by a fallback of what is wrong with the request", async () => {
    behaviours["first"] = fails("upstream_error");
    behaviours["second"] = fails("invalid_value");
    const reply = await call({ fallbacks: ["second", "third"] });
    expect(reply).toEqual({ error: "invalid_value", model: "second" });
    expect(rows).toMatchObject([{ model: "second", status: 400 }]);
  });

  it("once anything was said", async () => {
    const broken = new ServiceError("upstream_error", "The answer broke off.");
    behaviours["first"] = async () =>
      batches([answer("half").slice(0, 3), [{ type: "error", error: broken }]]);
    const reply = await call({ fallbacks: ["second"] });
    expect(reply).toEqual({ text: "half", last: "error", model: "first" });
    expect(ids()).toEqual(["first"]);
    expect(rows).toMatchObject([{ model: "first", outcome: "error" }]);
  });

  it("when the client has left or the call's time is up", async () => {
    const timeUp = new ServiceError("upstream_timeout", "The call took longer than 1 seconds.");
    for (const reason of [undefined, timeUp]) {
      client = new AbortController();
      behaviours["first"] = () => {
        client.abort(reason);
        return Promise.reject(new ServiceError("upstream_error", "cut"));
      };
      asked = [];
      await call({ fallbacks: ["second"] });
      expect(ids()).toEqual(["first"]);
    }
    expect(rows).toMatchObject([
      { outcome: "aborted", status: 499 },
      { outcome: "error", status: 504 },
    ]);
  });

  it("after the eighth", async () => {
    behaviours["first"] = fails("upstream_error");
    const fallbacks = [...Array.from({ length: 8 }, () => "no-such"), "second"];
    expect(await call({ fallbacks })).toMatchObject({ error: "upstream_error" });
  });
});

describe("Content that the model cannot take", () => {
  it("is refused before anything is sent and before a row is opened", async () => {
    const image: UserPart = {
      type: "image",
      source: { kind: "url", url: "https://x.example/a" },
      at: "messages[0].content[0]",
    };
    const messages = [{ role: "user", content: [image] }] as const;
    await expect(call({ model: "blind", messages })).rejects.toMatchObject({
      code: "invalid_value",
      param: "messages[0].content[0]",
    });
    expect([asked, starts, rows]).toEqual([[], [], []]);
  });
});
