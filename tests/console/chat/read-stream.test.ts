import { expect, it } from "vitest";
import { addEvent, settleParts } from "../../../src/console/chat/add-event.ts";
import type { MessagePart } from "../../../src/console/chat/chat-document.ts";
import { type AnswerEvent, readAnswer } from "../../../src/console/chat/read-stream.ts";

const chunk = (more: object) => `data: ${JSON.stringify({ model: "m", ...more })}\n\n`;
const delta = (content: object, more: object = {}) =>
  chunk({ choices: [{ index: 0, delta: content, finish_reason: null }], ...more });

const SOURCE = {
  index: 1,
  file_id: "file_1",
  filename: "a.pdf",
  text: "x",
  score: 0.7,
  cited: true,
};
const ANSWER = [
  delta({ role: "assistant", content: "" }, { ext: { model: "qwen" } }),
  ": keepalive\n\n",
  delta({ reasoning_content: "Let me " }),
  delta({ reasoning_content: "see" }),
  delta({}, { ext: { tool_run: { id: "r1", name: "search_knowledge", status: "running" } } }),
  delta(
    {},
    { ext: { tool_run: { id: "r1", name: "search_knowledge", status: "ok", duration_ms: 9 } } },
  ),
  delta({ content: "Grüße " }),
  delta({ content: "🙂 [1]" }),
  chunk({
    choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
    ext: { sources: [SOURCE] },
  }),
  chunk({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } }),
  "data: [DONE]\n\n",
].join("");

async function read(bytes: Uint8Array, size: number, fails = false): Promise<AnswerEvent[]> {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.subarray(at, at + size));
      else if (fails) controller.error(new TypeError("network"));
      else controller.close();
      at += size;
    },
  });
  const events: AnswerEvent[] = [];
  for await (const event of readAnswer(body, new AbortController().signal)) events.push(event);
  return events;
}

const partsOf = (events: readonly AnswerEvent[]) =>
  events.reduce<readonly MessagePart[]>(addEvent, []);
const WHOLE = [
  { type: "thinking", text: "Let me see" },
  { type: "tool_run", id: "r1", name: "search_knowledge", status: "ok", duration_ms: 9 },
  { type: "text", text: "Grüße 🙂 [1]" },
  { type: "sources", sources: [SOURCE] },
];

it.each([1, 2, 3, 7, 64, 100_000])("reads an answer in pieces of %i bytes", async (size) => {
  const events = await read(new TextEncoder().encode(ANSWER), size);
  expect(partsOf(events)).toEqual(WHOLE);
  expect(events[0]).toEqual({ type: "model", model: "qwen" });
  expect(events.slice(-2)).toEqual([
    { type: "finish", reason: "stop" },
    { type: "usage", input: 7, output: 3 },
  ]);
});

it("says so wherever the connection ends before the answer does, and keeps what arrived", async () => {
  const bytes = new TextEncoder().encode(ANSWER);
  const finishAt = ANSWER.indexOf('"finish_reason":"stop"');
  const last = new TextEncoder().encode(ANSWER.slice(0, finishAt)).length;
  for (let length = 0; length < last; length += 5) {
    for (const fails of [false, true]) {
      const events = await read(bytes.subarray(0, length), 50, fails);
      expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "connection_lost" } });
      const text = partsOf(events).find(({ type }) => type === "text");
      if (text?.type === "text") expect("Grüße 🙂 [1]").toContain(text.text);
    }
  }
});

it("tells the error that the gateway writes into the stream", async () => {
  const error = { message: "The engine ended.", type: "api_error", code: "backend_error" };
  const events = await read(
    new TextEncoder().encode(`${delta({ content: "a" })}data: ${JSON.stringify({ error })}\n\n`),
    9,
  );
  expect(events.at(-1)).toEqual({
    type: "error",
    error: { code: "backend_error", message: "The engine ended." },
  });
});

it("ends at once when the reader stops it", async () => {
  const stop = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(delta({ content: "a" })));
      stop.signal.addEventListener("abort", () => controller.error(stop.signal.reason));
    },
  });
  const events: AnswerEvent[] = [];
  const reading = (async () => {
    for await (const event of readAnswer(body, stop.signal)) {
      events.push(event);
      stop.abort();
    }
  })();
  await expect(reading).rejects.toThrow();
  expect(events).toEqual([{ type: "text", text: "a" }]);
});

it("ends the tool runs of an answer that ended early", () => {
  const running: MessagePart = { type: "tool_run", id: "r", name: "n", status: "running" };
  expect(settleParts([running])).toEqual([{ ...running, status: "error" }]);
});
