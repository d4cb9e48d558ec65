import { describe, expect, it } from "vitest";
import { responsesClient } from "../../../src/codecs/responses/client.ts";
import { checkEventOrder } from "../../support/check-event-order.ts";

const { readAnswer, readErrorMessage } = responsesClient;

function read(response: object) {
  const events = readAnswer(JSON.stringify({ id: "resp_1", status: "completed", ...response }));
  checkEventOrder(events);
  return events;
}

const CALL = { type: "function_call", call_id: "c", name: "f", arguments: " {} " };

describe("a whole answer", () => {
  it("gives the events of its stream", () => {
    const events = read({
      output: [
        {
          type: "reasoning",
          id: "rs_1",
          summary: [
            { type: "summary_text", text: "A" },
            { type: "summary_text", text: "B" },
          ],
          encrypted_content: "x",
        },
        { type: "file_search_call", id: "fs_1" },
        {
          type: "message",
          content: [
            { type: "output_text", text: "Hi" },
            { type: "refusal", refusal: "No." },
          ],
        },
        CALL,
      ],
      usage: { input_tokens: 9, output_tokens: 3 },
    });
    expect(events).toEqual([
      { type: "start" },
      { type: "block-start", block: 0, kind: "reasoning" },
      { type: "reasoning-delta", block: 0, text: "A" },
      { type: "reasoning-delta", block: 0, text: "\n\n" },
      { type: "reasoning-delta", block: 0, text: "B" },
      { type: "signature", block: 0, signature: "openai.rs_1:x" },
      { type: "block-end", block: 0 },
      { type: "block-start", block: 1, kind: "text" },
      { type: "text-delta", block: 1, text: "Hi" },
      { type: "block-end", block: 1 },
      { type: "block-start", block: 2, kind: "refusal" },
      { type: "refusal-delta", block: 2, text: "No." },
      { type: "block-end", block: 2 },
      { type: "tool-call-start", block: 3, callId: "c", name: "f" },
      { type: "tool-call-delta", block: 3, arguments: " {} " },
      { type: "block-end", block: 3 },
      { type: "finish", reason: "tool-calls", usage: { inputTokens: 9, outputTokens: 3 } },
    ]);
  });

  it.each([
    [{ status: "completed", output: [] }, "stop"],
    [{ status: undefined, output: [], error: null }, "stop"],
    [{ status: "completed", output: [CALL] }, "tool-calls"],
    [{ status: "incomplete", output: [CALL] }, "length"],
    [
      { status: "incomplete", incomplete_details: { reason: "content_filter" }, output: [] },
      "content-filter",
    ],
  ])("%j ends with %s", (response, reason) => {
    expect(read(response).at(-1)).toMatchObject({ type: "finish", reason });
  });

  it.each([
    "",
    "{",
    "<html>",
    "null",
    "[]",
    "5",
    "{}",
    '{"output":"x"}',
    '{"status":"queued","output":[]}',
    '{"status":"in_progress","output":[]}',
    '{"status":"failed","output":[]}',
    '{"status":"cancelled","output":[]}',
    '{"output":[{"type":"function_call","call_id":"c"}]}',
  ])("S09: is not %j", (garbage) => {
    expect(() => readAnswer(garbage)).toThrow(expect.objectContaining({ code: "upstream_error" }));
  });

  it("is not a failure, whose words are told", () => {
    const error = { code: "rate_limit_exceeded", message: "Slow down." };
    const expected = expect.objectContaining({
      code: "rate_limit_exceeded",
      message: "Slow down.",
    });
    expect(() => read({ status: "failed", error, output: [] })).toThrow(expected);
    expect(() => readAnswer(JSON.stringify({ error }))).toThrow(expected);
  });
});

it("the words of an error response are read, without addresses", () => {
  const body = { error: { message: "No. See https://a.example/x", type: "t", param: null } };
  expect(readErrorMessage(JSON.stringify(body))).toBe("No. See [address]");
  expect(readErrorMessage("<html>")).toBeUndefined();
});
