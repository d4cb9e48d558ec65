import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ollamaChatClient } from "../../../src/codecs/ollama-chat/client.ts";
import { checkOrder, plain, readText } from "./read-answers.ts";

const ANSWER = readFileSync("tests/fixtures/ollama-chat/answer.json", "utf8");

describe("a whole answer", () => {
  it("gives its events in one batch, with integers of any size", () => {
    const events = ollamaChatClient.readAnswer(ANSWER);
    checkOrder(events);
    expect(events).toEqual([
      { type: "start" },
      { type: "block-start", block: 0, kind: "reasoning" },
      { type: "reasoning-delta", block: 0, text: "Four." },
      { type: "block-end", block: 0 },
      { type: "block-start", block: 1, kind: "text" },
      { type: "text-delta", block: 1, text: "It is 4." },
      { type: "block-end", block: 1 },
      { type: "tool-call-start", block: 2, callId: "call_202611201000055_2", name: "log" },
      { type: "tool-call-delta", block: 2, arguments: '{ "n": 36893488147419103232 }' },
      { type: "block-end", block: 2 },
      { type: "finish", reason: "tool-calls", usage: { inputTokens: 31, outputTokens: 17 } },
    ]);
  });

  it("is read as the same answer would be from a stream of one line", () => {
    const line = ANSWER.replaceAll("\n", " ");
    expect(plain(ollamaChatClient.readAnswer(ANSWER))).toEqual(plain(readText(line)));
  });

  it("parts thoughts in tags from the answer", () => {
    const text = '{"message":{"content":"<think>\\nHm</think>\\n\\nYes"},"done":true}';
    const texts = ollamaChatClient.readAnswer(text).flatMap((e) => ("text" in e ? [e.text] : []));
    expect(texts).toEqual(["Hm", "Yes"]);
  });

  it.each([
    "",
    "null",
    "[]",
    "<html>",
    '{"message":{"content":"half"}}',
    '{"message":7,"done":true}',
  ])("throws upstream_error on %j", (text) => {
    expect(() => ollamaChatClient.readAnswer(text)).toThrow(
      expect.objectContaining({ code: "upstream_error", status: 502 }),
    );
  });

  it("throws the engine's own error", () => {
    expect(() => ollamaChatClient.readAnswer('{"error":"model runner has stopped"}')).toThrow(
      expect.objectContaining({ code: "upstream_error", message: "model runner has stopped" }),
    );
  });
});

const SHARED = "../shared/fixtures/ollama/synthetic-errors.json";
if (existsSync(SHARED)) {
  it("reads the words of every error body of the fixtures", () => {
    const errors: { body: { error: string } }[] = JSON.parse(readFileSync(SHARED, "utf8"));
    for (const { body } of errors) {
      expect(ollamaChatClient.readErrorMessage(JSON.stringify(body))).toBe(body.error);
    }
  });
} else process.stdout.write(`${SHARED} is not there: left out\n`);
