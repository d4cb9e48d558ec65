import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { generateContentClient } from "../../../src/codecs/generate-content/client.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import {
  addUp,
  expectSameHoweverCut,
  readPieces,
  readStream,
} from "../../support/clients/client-streams.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

function ownFixture(name: string): Uint8Array {
  const folder = join(import.meta.dirname, "../../fixtures/generate-content");
  return new Uint8Array(readFileSync(join(folder, name)));
}

const part = (...parts: readonly object[]) => ({
  candidates: [{ content: { parts, role: "model" }, index: 0 }],
  responseId: "r-1",
});
const text = (words: string) => part({ text: words });
const ending = (finishReason: string, rest: object = {}) => ({
  candidates: [{ finishReason, index: 0 }],
  ...rest,
});

/** Each a chunk, or a text that stands in the place of its JSON. */
function readChunks(...chunks: readonly (object | string)[]): ChatEvent[] {
  const frames = chunks.map(
    (chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\r\n\r\n`,
  );
  return readStream(generateContentClient, frames.join(""));
}

describe("every recorded stream", () => {
  it.each(readSharedFixtures(["google"], ".sse"))(
    "$name is read to its end, however it is cut",
    ({ bytes }) => {
      const { end, calls } = addUp(readPieces(generateContentClient, [bytes]));
      expect(end).toMatch(/^(stop|tool-calls)$/);
      for (const call of calls) expect(JSON.parse(call.arguments)).toBeTypeOf("object");
      expectSameHoweverCut(generateContentClient, bytes);
    },
  );

  it("of ours is read whole, however it is cut", () => {
    const bytes = ownFixture("thoughts-and-calls.sse");
    const events = readPieces(generateContentClient, [bytes]);
    const call = { signature: undefined, arguments: "{}" };
    expect(addUp(events)).toEqual({
      text: 'One "moment"\n',
      reasoning: "Größe 👍",
      seals: [],
      calls: [
        {
          id: "call_resp-1_0",
          name: "first",
          signature: "gemini.c2ln",
          arguments: '{"n":9007199254740993,"é":"\\u00e9"}',
        },
        { ...call, id: "call_resp-1_1", name: "second" },
        { ...call, id: "own-id", name: "third" },
      ],
      end: "tool-calls",
    });
    expect(events[0]).toEqual({ type: "start", inputTokens: 29 });
    expect(events.at(-1)).toMatchObject({
      usage: { inputTokens: 34, outputTokens: 60, cachedTokens: 20, reasoningTokens: 45 },
    });
    expectSameHoweverCut(generateContentClient, bytes);
  });

  it("with arguments that come value by value has them whole", () => {
    const bytes = ownFixture("partial-arguments.sse");
    const { calls } = addUp(readPieces(generateContentClient, [bytes]));
    expect(calls).toEqual([
      {
        id: "call_resp-2_0",
        name: "read",
        signature: "gemini.c2ln",
        arguments:
          '{"place":{"name":"Paris"},"list":[1.5,false],"odd.name":null,"__proto__":{"x":"y"}}',
      },
    ]);
    expectSameHoweverCut(generateContentClient, bytes);
  });
});

describe("the seal of a call", () => {
  it.each([
    ["in a chunk of its own", (call: object) => [text("Let me look."), part(call)]],
    ["beside the text", (call: object) => [part({ text: "Let me look." }, call)]],
  ])("is not that of the text before it (%s)", (_where, chunks) => {
    const call = { functionCall: { name: "f", args: {} }, thoughtSignature: "c2ln" };
    const events = readChunks(...chunks(call), ending("STOP"));
    expect(events.filter((event) => "signature" in event && event.signature)).toMatchObject([
      { type: "tool-call-start", signature: "gemini.c2ln" },
    ]);
  });
});

describe("the calls of a stream", () => {
  it("are as many as the vendor makes, in one chunk or in many, and each has its own id", () => {
    const call = (number: number) => ({ functionCall: { name: "f", args: { number } } });
    for (let count = 1; count <= 64; count++) {
      const calls = Array.from({ length: count }, (_, number) => call(number));
      const expected = calls.map((_, number) => ({
        id: `call_r-1_${number}`,
        arguments: `{"number":${number}}`,
      }));
      for (const chunks of [[part(...calls)], calls.map((one) => part(one))]) {
        const { calls: read, end } = addUp(readChunks(...chunks, ending("STOP")));
        expect({ read, end }).toMatchObject({ read: expected, end: "tool-calls" });
      }
    }
  });

  it("have ids of their own where the vendor gives one twice", () => {
    const call = { functionCall: { name: "f", id: "same" } };
    const { calls } = addUp(readChunks(part(call, call), ending("STOP")));
    expect(calls.map(({ id }) => id)).toEqual(["same", "call_r-1_1"]);
  });

  it("may stand between texts", () => {
    const events = readChunks(
      part({ text: "a" }, { functionCall: { name: "f" } }, { text: "b" }),
      ending("STOP"),
    );
    expect(addUp(events)).toMatchObject({ text: "ab", calls: [{ name: "f" }] });
  });

  it("without a name are an error", () => {
    expect(addUp(readChunks(part({ functionCall: { args: {} } }))).end).toBe("upstream_error");
  });
});

describe("candidates that nobody asked for", () => {
  it("are left out, wherever they stand", () => {
    const other = { content: { parts: [{ text: "no" }] }, finishReason: "SAFETY", index: 1 };
    const call = { functionCall: { name: "f", args: { n: 1 } } };
    const chunk = part({ text: "yes" }, call);
    const events = readChunks(
      { ...chunk, candidates: [other, ...chunk.candidates] },
      ending("STOP"),
    );
    expect(addUp(events)).toMatchObject({
      text: "yes",
      calls: [{ arguments: '{"n":1}' }],
      end: "tool-calls",
    });
  });
});

describe("the end of a stream", () => {
  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["CONTINUATION", "length"],
    ["SAFETY", "content-filter"],
    ["RECITATION", "content-filter"],
    ["BLOCKLIST", "content-filter"],
    ["PROHIBITED_CONTENT", "content-filter"],
    ["SPII", "content-filter"],
    ["IMAGE_SAFETY", "content-filter"],
    ["MODEL_ARMOR", "content-filter"],
    ["OTHER", "stop"],
    ["MALFORMED_FUNCTION_CALL", "upstream_error"],
    ["UNEXPECTED_TOOL_CALL", "upstream_error"],
    ["TOO_MANY_TOOL_CALLS", "upstream_error"],
    ["MISSING_THOUGHT_SIGNATURE", "upstream_error"],
    ["MALFORMED_RESPONSE", "upstream_error"],
  ])("for %s is %s", (word, end) => {
    expect(addUp(readChunks(text("Hi"), ending(word))).end).toBe(end);
  });

  it("tells calls, unless the answer was cut", () => {
    const after = (word: string) =>
      addUp(readChunks(part({ functionCall: { name: "f" } }), ending(word))).end;
    expect(["STOP", "MAX_TOKENS", "SAFETY"].map(after)).toEqual([
      "tool-calls",
      "length",
      "content-filter",
    ]);
  });

  it("for a call that nobody asked for gives the call on, with the vendor's figures", () => {
    const call = { functionCall: { name: "f", args: { n: 1 } } };
    const usageMetadata = { promptTokenCount: 30, candidatesTokenCount: 12 };
    const events = readChunks(part(call), ending("UNEXPECTED_TOOL_CALL", { usageMetadata }));
    expect(addUp(events)).toMatchObject({ calls: [{ arguments: '{"n":1}' }], end: "tool-calls" });
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 30, outputTokens: 12 } });
    const broken = part({ functionCall: { name: "f", willContinue: true } });
    expect(addUp(readChunks(broken, ending("UNEXPECTED_TOOL_CALL"))).end).toBe("upstream_error");
  });

  it("comes with the last figures, also those after the reason", () => {
    const usage = (candidatesTokenCount: number) => ({
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount },
    });
    const events = readChunks({ ...text("Hi"), ...usage(1) }, ending("STOP", usage(2)), {
      ...usage(5),
    });
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 3, outputTokens: 5 } });
  });

  it("has every count that came, though a later chunk has fewer", () => {
    const usage = (counts: object) => ({ usageMetadata: counts });
    const events = readChunks(
      {
        ...text("Hi"),
        ...usage({ promptTokenCount: 30, thoughtsTokenCount: 7, cachedContentTokenCount: 20 }),
      },
      ending("STOP", usage({ candidatesTokenCount: 5, cachedContentTokenCount: null })),
    );
    expect(events.at(-1)).toMatchObject({
      usage: { inputTokens: 30, outputTokens: 12, cachedTokens: 20, reasoningTokens: 7 },
    });
  });

  it("says what an answer has used that failed", () => {
    const usageMetadata = { promptTokenCount: 30, thoughtsTokenCount: 500 };
    const end = ending("MALFORMED_FUNCTION_CALL", { usageMetadata });
    const usage = { inputTokens: 30, outputTokens: 500, reasoningTokens: 500 };
    expect(readChunks(end)).toMatchObject([{ type: "start" }, { type: "error", error: { usage } }]);
    expect(() => generateContentClient.readAnswer(JSON.stringify(end))).toThrow(
      expect.objectContaining({ usage }),
    );
  });

  it("of a prompt that was blocked is the filter's", () => {
    const events = readChunks({ promptFeedback: { blockReason: "SAFETY" } });
    expect(events.map(({ type }) => type)).toEqual(["start", "finish"]);
    expect(addUp(events).end).toBe("content-filter");
  });

  it("may come without any content", () => {
    const events = readChunks({
      candidates: [{ content: { role: "model" }, finishReason: "MAX_TOKENS" }],
    });
    expect(events.map(({ type }) => type)).toEqual(["start", "finish"]);
  });

  it("that does not come is an error", () => {
    expect(addUp(readChunks(text("Hi"))).end).toBe("upstream_error");
    expect(addUp(readStream(generateContentClient, "")).end).toBe("upstream_error");
  });
});

describe("what is no answer", () => {
  it.each(["{", "7", "{}", "[DONE]"])("is an error: %s", (data) => {
    expect(addUp(readChunks(data)).end).toBe("upstream_error");
  });

  it("is a chunk that is too long", () => {
    const chunk = `data: ${JSON.stringify(text("x".repeat(2000)))}\r\n\r\n`;
    expect(addUp(readStream(generateContentClient, chunk, 1000)).end).toBe("upstream_error");
  });
});

describe("an error in a stream", () => {
  const error = (code: number, message: string, details: readonly object[] = []) => ({
    error: { code, message, status: "X", details },
  });

  it.each([
    [400, "invalid_value"],
    [429, "rate_limit_exceeded"],
    [500, "upstream_error"],
    [503, "overloaded"],
    [504, "upstream_timeout"],
  ])("with code %s is %s", (upstreamStatus, code) => {
    const events = readChunks(text("Hi"), error(upstreamStatus, "At http://10.0.0.1/x."));
    expect(events.at(-1)).toMatchObject({
      type: "error",
      error: { code, upstreamStatus, message: expect.stringMatching(/^At \[address\]/) },
    });
  });

  it.each([401, 403, 404])("with code %s does not give the vendor's words away", (status) => {
    const [last] = readChunks(error(status, "secret words"));
    expect(last).toMatchObject({ type: "error", error: { code: "upstream_error" } });
    expect(last?.type === "error" && last.error.message).not.toContain("secret");
  });

  it("says how long to wait", () => {
    const [last] = readChunks(error(429, "Slow.", [{ retryDelay: "34.4s" }]));
    expect(last).toMatchObject({ error: { retryAfterSeconds: 35 } });
  });

  it("for a prompt that is too long says by how much", () => {
    const message =
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    expect(readChunks(error(400, message))).toMatchObject([
      {
        error: {
          code: "context_length_exceeded",
          overflow: { promptTokens: 1_200_000, contextLength: 1_048_576 },
        },
      },
    ]);
  });
});
