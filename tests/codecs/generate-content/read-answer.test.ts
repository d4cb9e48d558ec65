import { describe, expect, it } from "vitest";
import { generateContentClient } from "../../../src/codecs/generate-content/client.ts";
import {
  readContextOverflow,
  readRetryDelay,
} from "../../../src/codecs/generate-content/vendor-errors.ts";
import { checkEventOrder } from "../../support/check-event-order.ts";
import { addUp } from "../../support/clients/client-streams.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const decoder = new TextDecoder();

function read(text: string) {
  const events = generateContentClient.readAnswer(text);
  checkEventOrder(events);
  return events;
}

describe("a whole answer", () => {
  it("has its arguments in one line, with numbers and texts as they came", () => {
    const answer = `{
      "candidates": [{
        "content": {"parts": [
          {"text": "Hm.", "thought": true},
          {"text": "Hi"},
          {"functionCall": {"name": "f", "args": {
            "n": 9007199254740993,
            "s": "a  b\\n \\" } "
          }}, "thoughtSignature": "c2ln"}
        ]},
        "finishReason": "STOP"
      }],
      "responseId": "r-1"
    }`;
    expect(addUp(read(answer))).toEqual({
      text: "Hi",
      reasoning: "Hm.",
      seals: [],
      calls: [
        {
          id: "call_r-1_0",
          name: "f",
          signature: "gemini.c2ln",
          arguments: '{"n":9007199254740993,"s":"a  b\\n \\" } "}',
        },
      ],
      end: "tool-calls",
    });
  });

  it.each(readSharedFixtures(["google"], "response.json"))(
    "that was recorded is read: $name",
    ({ bytes }) => {
      const text = decoder.decode(bytes);
      const [candidate] = JSON.parse(text).candidates;
      const parts: readonly { text?: string; functionCall?: { args: object } }[] =
        candidate.content.parts ?? [];
      const answer = addUp(read(text));
      expect(answer.text).toBe(parts.map((part) => part.text ?? "").join(""));
      expect(answer.calls.map((call) => JSON.parse(call.arguments))).toEqual(
        parts.flatMap(({ functionCall }) => functionCall?.args ?? []),
      );
    },
  );

  it.each(["", "<html>", "[]", "{}", '{"usageMetadata":{}}', '{"candidates":[]}'])(
    "is not %j",
    (text) => {
      expect(() => generateContentClient.readAnswer(text)).toThrow(
        expect.objectContaining({ code: "upstream_error" }),
      );
    },
  );

  it("that is an error is thrown as one", () => {
    expect(() =>
      generateContentClient.readAnswer('{"error":{"code":503,"message":"Busy"}}'),
    ).toThrow(expect.objectContaining({ code: "overloaded" }));
  });
});

describe("the body of a refusal", () => {
  const refusal = {
    error: {
      code: 429,
      message: "You exceeded your quota.",
      status: "RESOURCE_EXHAUSTED",
      details: [{ violations: [] }, { retryDelay: "34.4s" }],
    },
  };

  it("says why, also in a list of one", () => {
    for (const body of [refusal, [refusal]]) {
      const text = JSON.stringify(body);
      expect(generateContentClient.readErrorMessage(text)).toBe("You exceeded your quota.");
      expect(readRetryDelay(text)).toBe(35);
    }
  });

  it.each(readSharedFixtures(["google"], "retry-info.json"))(
    "that was recorded says how long to wait: $name",
    ({ bytes }) => {
      expect(readRetryDelay(decoder.decode(bytes))).toBe(35);
    },
  );

  it.each([
    ["0.2s", 1],
    ["7s", 7],
    ["soon", undefined],
    [7, undefined],
  ])("asks to wait %j: %s seconds", (retryDelay, seconds) => {
    const body = JSON.stringify({ error: { details: [{ retryDelay }] } });
    expect(readRetryDelay(body)).toBe(seconds);
  });

  it.each(["", "<html>", "{}", "[]", '{"error":"busy"}'])("says nothing in %j", (body) => {
    expect(generateContentClient.readErrorMessage(body)).toBeUndefined();
    expect(readRetryDelay(body)).toBeUndefined();
  });
});

describe("the vendor's words for a prompt that is too long", () => {
  it.each([
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "The input token count is 1200000 but model only supports up to 1048576.",
  ])("are understood: %s", (message) => {
    expect(readContextOverflow(message)).toEqual({
      promptTokens: 1_200_000,
      contextLength: 1_048_576,
    });
  });

  it.each([
    "The input token count exceeds the maximum number of tokens allowed 1048576.",
    "The input token count exceeds the maximum number of tokens allowed (1048576).",
  ])("are understood without the prompt's own count: %s", (message) => {
    expect(readContextOverflow(message)).toEqual({
      promptTokens: undefined,
      contextLength: 1_048_576,
    });
  });

  it("are not found in others", () => {
    expect(readContextOverflow("Unknown name: max_tokens")).toBeUndefined();
  });
});
