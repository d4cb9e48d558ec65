import { describe, expect, it } from "vitest";
import { chatCompletionsServer } from "../../src/codecs/chat-completions/server.ts";
import { messageEventSchema } from "../../src/codecs/messages/server/wire-answer.ts";
import { messagesServer } from "../../src/codecs/messages/server.ts";
import { responseEventSchema } from "../../src/codecs/responses/server/wire-events.ts";
import { responsesServer } from "../../src/codecs/responses/server.ts";
import type { ChatEvent } from "../../src/core/chat/chat-event.ts";
import { foldEvents } from "../../src/core/chat/fold-events.ts";

const CONTEXT = {
  requestId: "req_1",
  model: "Handbook",
  assistantModel: "llama",
  created: 1_760_000_000,
};
const RUNNING = { id: "run_1", name: "search_knowledge", status: "running" } as const;
const ENDED = { id: "run_1", name: "search_knowledge", status: "ok", durationMs: 12 } as const;
const WIRE_ENDED = { id: "run_1", name: "search_knowledge", status: "ok", duration_ms: 12 };

/** An answer of two turns with one run of a tool between them. */
const EVENTS: readonly ChatEvent[] = [
  { type: "start", inputTokens: 9 },
  { type: "block-start", block: 0, kind: "text" },
  { type: "text-delta", block: 0, text: "Let me look." },
  { type: "block-end", block: 0 },
  { type: "tool-run", run: RUNNING },
  { type: "tool-run", run: ENDED },
  { type: "block-start", block: 1, kind: "text" },
  { type: "text-delta", block: 1, text: "\n\nIt is so." },
  { type: "block-end", block: 1 },
  { type: "finish", reason: "stop", usage: { inputTokens: 9, outputTokens: 3 } },
];

const FORMS = {
  chat: { includeUsage: false },
  messages: messagesServer.parse(
    { model: "Handbook", max_tokens: 5, messages: [{ role: "user", content: "?" }] },
    "",
  ).form,
  responses: responsesServer.parse({ model: "Handbook", input: "?" }, "").form,
};

async function* batches() {
  yield EVENTS;
}

/** The data of every frame of a stream, but its end mark. */
function framesOf(text: string): Record<string, unknown>[] {
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = ""]) => JSON.parse(json));
}

describe("An assistant's answer in the chat format", () => {
  it("names the model at once, and each run in a chunk with an empty delta", () => {
    const chunks = framesOf(
      chatCompletionsServer.streamEncoder(CONTEXT, FORMS.chat).encode(EVENTS),
    );
    expect(chunks[0]).toMatchObject({ model: "Handbook", ext: { model: "llama" } });
    const runs = chunks.filter(({ ext }) => JSON.stringify(ext ?? {}).includes("tool_run"));
    expect(runs).toMatchObject([
      { choices: [{ delta: {}, finish_reason: null }], ext: { tool_run: RUNNING } },
      { choices: [{ delta: {}, finish_reason: null }], ext: { tool_run: WIRE_ENDED } },
    ]);
  });

  it("lists the runs that have ended when it is whole", async () => {
    const whole = await foldEvents(batches());
    const body = JSON.parse(chatCompletionsServer.encodeAnswer(whole, CONTEXT, FORMS.chat));
    expect(body).toMatchObject({
      model: "Handbook",
      choices: [{ message: { content: "Let me look.\n\nIt is so." }, finish_reason: "stop" }],
      ext: { model: "llama", tool_runs: [WIRE_ENDED] },
    });
    expect(body.choices[0].message).not.toHaveProperty("tool_calls");
  });
});

describe("An assistant's answer in the messages format", () => {
  it("names the model in its first event, and each run in a ping", () => {
    const text = messagesServer.streamEncoder(CONTEXT, FORMS.messages).encode(EVENTS);
    const events = framesOf(text);
    for (const event of events) expect(messageEventSchema.safeParse(event).success).toBe(true);
    expect(events[0]).toMatchObject({
      type: "message_start",
      message: { model: "Handbook", ext: { model: "llama" } },
    });
    expect(events.filter(({ type }) => type === "ping")).toEqual([
      { type: "ping", ext: { tool_run: RUNNING } },
      { type: "ping", ext: { tool_run: WIRE_ENDED } },
    ]);
    expect(text).not.toContain('"tool_use"');
  });

  it("lists the runs that have ended when it is whole", async () => {
    const whole = await foldEvents(batches());
    const body = JSON.parse(messagesServer.encodeAnswer(whole, CONTEXT, FORMS.messages));
    expect(body).toMatchObject({
      model: "Handbook",
      stop_reason: "end_turn",
      ext: { model: "llama", tool_runs: [WIRE_ENDED] },
    });
  });
});

describe("An assistant's answer in the responses format", () => {
  it("names the model in each response, and each run in a `response.in_progress`", () => {
    const text = responsesServer.streamEncoder(CONTEXT, FORMS.responses).encode(EVENTS);
    const events = framesOf(text);
    for (const event of events) expect(responseEventSchema.safeParse(event).success).toBe(true);
    expect(events[0]).toMatchObject({ response: { model: "Handbook", ext: { model: "llama" } } });
    const [, ...reports] = events.filter(({ type }) => type === "response.in_progress");
    expect(reports).toMatchObject([
      { response: { status: "in_progress" }, ext: { tool_run: RUNNING } },
      { response: { status: "in_progress" }, ext: { tool_run: WIRE_ENDED } },
    ]);
    expect(text).not.toContain("function_call");
  });

  it("lists the runs that have ended when it is whole", async () => {
    const whole = await foldEvents(batches());
    const body = JSON.parse(responsesServer.encodeAnswer(whole, CONTEXT, FORMS.responses));
    expect(body).toMatchObject({
      model: "Handbook",
      status: "completed",
      ext: { model: "llama", tool_runs: [WIRE_ENDED] },
    });
  });
});
