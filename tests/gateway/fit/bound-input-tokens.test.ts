import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { estimateInputTokens } from "../../../src/backends/rules/estimate-input-tokens.ts";
import { createVllm } from "../../../src/backends/vendors/vllm.ts";
import type { ChatRequest, UserPart } from "../../../src/core/chat/chat-request.ts";
import { boundInputTokens } from "../../../src/gateway/fit/bound-input-tokens.ts";
import { chatRequest, MODEL, never, upstreamAt } from "../../backends/support.ts";
import { createRandom } from "../../support/faults/random.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

const text = (words: string): UserPart => ({ type: "text", text: words });
const saying = (...content: UserPart[]): ChatRequest =>
  chatRequest({ messages: [{ role: "user", content }], parameters: {} });

function total(request: ChatRequest): number {
  const bound = boundInputTokens(request);
  return bound.text + bound.fields + bound.media;
}

const TOOLS = [
  {
    name: "look_up",
    description: "Looks a thing up.",
    parameters: { type: "object", properties: { at: { type: "string" } } },
  },
];

const REQUESTS: readonly (readonly [what: string, request: ChatRequest])[] = [
  ["one letter", saying(text("a"))],
  ["nothing", saying(text(""))],
  ["symbols that are a token each", saying(text("!@#$%^&*()".repeat(400)))],
  ["digits", saying(text("0123456789".repeat(400)))],
  ["emoji", saying(text("👩‍👩‍👧‍👦🏳️‍🌈".repeat(100)))],
  ["Chinese", saying(text("讓我們看看這個句子有多少個詞元。".repeat(100)))],
  ["many turns of a letter", manyTurns(500)],
  ["tools", chatRequest({ tools: TOOLS, parameters: {} })],
  [
    "calls, thoughts and their seals",
    chatRequest({
      parameters: {},
      messages: [
        { role: "user", content: [{ type: "text", text: "look" }] },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "", signature: "s".repeat(3_000) },
            { type: "tool-call", callId: "call_1", name: "look_up", arguments: '{"at":"x"}' },
          ],
        },
        { role: "tool", callId: "call_1", content: [{ type: "text", text: "found" }] },
      ],
    }),
  ],
];

function manyTurns(count: number): ChatRequest {
  const message = { role: "user", content: [{ type: "text", text: "a" }] } as const;
  return chatRequest({ parameters: {}, messages: Array.from({ length: count }, () => message) });
}

describe("The bound of a prompt's tokens", () => {
  it("covers what Anthropic says of a tool that it knows without a description", () => {
    const plain = { name: "bash" };
    const native = { ...plain, native: { type: "bash_20250124", name: "bash" } };
    const withTool = (tool: typeof plain) => total(chatRequest({ tools: [tool], parameters: {} }));
    expect(withTool(native)).toBeGreaterThanOrEqual(withTool(plain) + 2_048);
  });

  let simulator: TestSimulator;
  beforeAll(async () => {
    simulator = await startSimulator({ engine: "vllm" });
  });
  afterAll(() => simulator.stop());

  it.each(REQUESTS)(
    "is never below the estimate, nor below what an engine counts: %s",
    async (_what, request) => {
      const counted = await createVllm(upstreamAt(simulator.url)).countTokens?.(request, MODEL, {
        signal: never(),
      });
      expect(counted).toBeGreaterThan(0);
      expect(total(request)).toBeGreaterThanOrEqual(counted ?? Infinity);
      expect(total(request)).toBeGreaterThanOrEqual(estimateInputTokens(request));
    },
  );

  it("holds every byte of the texts, whatever they are", () => {
    const random = createRandom(7);
    for (let round = 0; round < 200; round++) {
      const words = Array.from({ length: 50 }, () =>
        String.fromCodePoint(1 + Math.floor(random() * 55_000)),
      );
      const long = words.join("");
      expect(total(saying(text(long)))).toBeGreaterThanOrEqual(Buffer.byteLength(long) + 512);
    }
  });

  it("holds what engines put into the prompt from other fields", () => {
    const documents = [{ title: "a", text: "word ".repeat(1_000) }];
    const schema = { type: "object", description: "word ".repeat(1_000) };
    const responseFormat = { type: "json_schema", name: "answer", schema } as const;
    const plain = total(saying(text("hello")));
    expect(
      total({ ...saying(text("hello")), parameters: { extra: { documents } } }),
    ).toBeGreaterThan(plain + 5_000);
    expect(total({ ...saying(text("hello")), parameters: { responseFormat } })).toBeGreaterThan(
      plain + 5_000,
    );
  });

  it("holds media by their kind, and is never below the estimate of them", () => {
    const source = (characters: number) =>
      ({ kind: "base64", mediaType: "x/y", data: "A".repeat(characters) }) as const;
    const mediaOf = (part: UserPart) => boundInputTokens(saying(part)).media;
    expect(mediaOf({ type: "image", source: source(10) })).toBe(16_384);
    expect(mediaOf({ type: "document", source: source(100_000) })).toBe(100_000);
    expect(mediaOf({ type: "document", source: { kind: "url", url: "http://a/b" } })).toBe(500_000);
    expect(mediaOf({ type: "audio", data: "A".repeat(1_600_000), format: "wav" })).toBe(100_000);
    for (const part of [
      { type: "document", source: source(1) },
      { type: "audio", data: "", format: "wav" },
    ] as const) {
      const request = saying(part);
      expect(total(request)).toBeGreaterThanOrEqual(estimateInputTokens(request));
    }
  });
});
