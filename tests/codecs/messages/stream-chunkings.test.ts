import { describe, expect, it } from "vitest";
import { readMessageStream } from "../../support/clients/message-stream.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import { createRandom } from "../chat-completions/read-streams.ts";
import { cut, translate, translateWhole, UPSTREAMS } from "./stream-upstreams.ts";

const CHUNKINGS = trialSize(1_000, 10_000);
const MAX_CUTS = 24;
const SEED = 20_261_120;

const names = Object.keys(UPSTREAMS);
const recorded = readSharedFixtures(
  ["compatible", "deepseek", "mistral", "openai-chat", "vllm", "xai"],
  ".sse",
);

describe("the stream of a messages answer, however the engine's bytes arrive", () => {
  it.each(names)("keeps its order and brings the same blocks: %s", (name) => {
    const upstream = UPSTREAMS[name] ?? "";
    const random = createRandom(SEED + names.indexOf(name));
    const whole = readMessageStream(translateWhole(upstream));
    for (let round = 0; round < CHUNKINGS / names.length; round++) {
      const pieces = cut(upstream, random(MAX_CUTS), random);
      expect(readMessageStream(translate(pieces))).toEqual(whole);
    }
  });

  it.each(recorded.map(({ name, bytes }) => [name, bytes] as const))(
    "keeps its order for what was recorded: %s",
    (name, bytes) => {
      const upstream = new TextDecoder().decode(bytes);
      const whole = readMessageStream(translateWhole(upstream));
      const random = createRandom(SEED + name.length);
      for (let round = 0; round < 20; round++) {
        expect(readMessageStream(translate(cut(upstream, MAX_CUTS, random)))).toEqual(whole);
      }
    },
  );
});

describe("what the messages stream makes of the vendors' particulars", () => {
  const read = (name: string) => readMessageStream(translateWhole(UPSTREAMS[name] ?? ""));
  const blocks = (name: string) =>
    read(name).blocks.map(({ type, text, input }) => [type, type === "tool_use" ? input : text]);
  const end = (name: string) => (read(name).end as { delta: { stop_reason: string } }).delta;

  it("writes interleaved calls one after the other, each whole, the ids fit for clients", () => {
    const name = "vLLM, interleaved calls";
    expect(blocks(name)).toEqual([
      ["text", "Let me see. 世界 👋🏽"],
      ["tool_use", '{"city":"Århus"}'],
      ["tool_use", '{"city":"Paris"}'],
      ["tool_use", '{"big":12345678901234567890}'],
    ]);
    const ids = read(name)
      .blocks.slice(1)
      .map(({ start }) => start["id"]);
    expect(ids.slice(0, 2)).toEqual(["call_a", "call_b"]);
    expect(ids[2]).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(end(name).stop_reason).toBe("tool_use");
    expect(read(name).end).toMatchObject({
      usage: {
        input_tokens: 36,
        cache_read_input_tokens: 64,
        output_tokens: 20,
        output_tokens_details: { thinking_tokens: 8 },
      },
    });
  });

  it("seals thoughts that no vendor sealed", () => {
    const name = "vLLM, thoughts in `reasoning`";
    expect(blocks(name)).toEqual([
      ["thinking", "They ask for 世界."],
      ["text", 'Hello there \u2028 \\ "quoted"'],
    ]);
    expect(read(name).blocks[0]?.signature).toMatch(/^gateway\../);
  });

  it("keeps thoughts out of the text where the engine has no reasoning parser", () => {
    expect(blocks("an engine without a reasoning parser")).toEqual([
      ["thinking", "Hm, yes"],
      ["text", "The answer"],
    ]);
  });

  it.each([
    ["a refusal", "refusal"],
    ["a filtered answer", "refusal"],
    ["a stop string", "stop_sequence"],
    ["a call cut off by its limit", "max_tokens"],
    ["calls without arguments", "tool_use"],
    ["nothing at all", "end_turn"],
  ])("ends %s with %s", (name, reason) => {
    expect(end(name).stop_reason).toBe(reason);
  });

  it("names the stop string that was met, and the kind of a refusal", () => {
    expect(end("a stop string")).toMatchObject({ stop_sequence: "END", stop_details: null });
    expect(end("a refusal")).toMatchObject({
      stop_sequence: null,
      stop_details: { type: "refusal", category: null, explanation: null },
    });
  });

  it("opens no block in which nothing is said", () => {
    expect(blocks("nothing at all")).toEqual([]);
  });

  it.each([
    "an error in the midst of a call",
    "a stream that breaks off",
    "an error before anything",
    "garbage in the midst",
  ])("ends %s with an error event and nothing after it", (name) => {
    const { error, end: last } = read(name);
    expect(error?.type).toMatch(/^(api_error|invalid_request_error)$/);
    expect(error?.message).toMatch(/\w+ \w+/);
    expect(last).toBeUndefined();
  });
});
