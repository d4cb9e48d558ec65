import { describe, expect, it } from "vitest";
import {
  isThinkingLevelUnsupported,
  isThinkingUnsupported,
  isToolsUnsupported,
  readContextOverflow,
  readErrorMessage,
  toEngineError,
} from "../../../src/codecs/ollama-chat/engine-errors.ts";

const RUNNER_OVERFLOW = JSON.stringify({
  error: {
    code: 400,
    message:
      "request (2622 tokens) exceeds the available context size (512 tokens), try increasing it",
    type: "exceed_context_size_error",
    n_prompt_tokens: 2622,
    n_ctx: 512,
  },
});

describe("the words of an error body", () => {
  it.each([
    [
      '{"error":"\\"llama3:8b\\" does not support thinking"}',
      '"llama3:8b" does not support thinking',
    ],
    ['{"error":{"message":"invalid think value","code":400}}', "invalid think value"],
    ['{"StatusCode":400,"error":"prompt too long"}', "prompt too long"],
    ['{"error":"{not json"}', "{not json"],
    [
      JSON.stringify({ error: '{"error":{"code":400,"message":"no image input"}}' }),
      "no image input",
    ],
  ])("%s", (body, message) => {
    expect(readErrorMessage(body)).toBe(message);
  });

  it.each(["", "unauthorized", "<html>", "null", "[]", "{}", '{"error":""}', '{"error":7}'])(
    "%j says nothing readable",
    (body) => {
      expect(readErrorMessage(body)).toBeUndefined();
    },
  );

  it("hold no address and are never long", () => {
    const error =
      'Post "http://10.0.0.7:39393/completion?key=sk-1": dial tcp [::1]:39393, localhost:11434, 127.0.0.1:1: refused';
    expect(readErrorMessage(JSON.stringify({ error }))).toBe(
      'Post "[address]": dial tcp [address], [address], [address]: refused',
    );
    expect(readErrorMessage(JSON.stringify({ error: "x".repeat(1e6) }))?.length).toBe(2000);
  });
});

describe("what the model cannot do", () => {
  it("4.4: thinking, or the level of it", () => {
    expect(isThinkingUnsupported('"llama3:8b" does not support thinking')).toBe(true);
    const level = 'think value "high" is not supported for this model';
    expect([isThinkingUnsupported(level), isThinkingLevelUnsupported(level)]).toEqual([
      false,
      true,
    ]);
    expect(isThinkingUnsupported("gemma2:2b does not support tools")).toBe(false);
  });

  it("tools", () => {
    const message = "registry.ollama.ai/library/gemma2:2b does not support tools";
    expect(isToolsUnsupported(message)).toBe(true);
    expect(isToolsUnsupported('"bert" does not support chat')).toBe(false);
  });
});

describe("a prompt that does not fit the context", () => {
  it.each([
    "the input length exceeds the context length",
    "the prompt is longer than the context length currently available to the model; shorten the prompt",
    "prompt too long; exceeded max context length by 100918 tokens",
  ])("%s", (message) => {
    const unknown = { promptTokens: undefined, contextLength: undefined };
    expect(readContextOverflow(message)).toEqual(unknown);
    expect(toEngineError(message)).toMatchObject({ code: "context_length_exceeded", status: 400 });
  });

  it("tells the counts where the engine does, in the words that clients parse", () => {
    const message = readErrorMessage(JSON.stringify({ error: RUNNER_OVERFLOW })) ?? "";
    expect(readContextOverflow(message)).toEqual({ promptTokens: 2622, contextLength: 512 });
    expect(toEngineError(message).message).toBe(
      "This model's maximum context length is 512 tokens. However, your messages resulted in 2622 tokens.",
    );
  });

  it("is not seen in other errors", () => {
    expect(readContextOverflow("model requires more system memory (5.6 GiB)")).toBeUndefined();
    expect(toEngineError("CUDA error")).toMatchObject({
      code: "upstream_error",
      message: "CUDA error",
    });
  });
});
