import { describe, expect, it } from "vitest";
import { chatCompletionsClient } from "../../../src/codecs/chat-completions/client.ts";
import type { ChatRequest } from "../../../src/core/chat/chat-request.ts";

const HI: ChatRequest = {
  model: "alias",
  messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  tools: [],
  parameters: {},
  stream: false,
};

function build(changes: Partial<ChatRequest>) {
  return JSON.parse(
    chatCompletionsClient.build({ ...HI, ...changes }, { name: "served", contextLength: 4096 }),
  );
}

describe("the body for an engine", () => {
  it("says no more than the request does", () => {
    expect(build({})).toEqual({
      model: "served",
      messages: [{ role: "user", content: "Hi" }],
      stream: false,
    });
  });

  it("always asks for usage of a stream", () => {
    expect(build({ stream: true })).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("has every parameter under its name", () => {
    const body = build({
      parameters: {
        temperature: 0,
        topP: 0.5,
        topK: -1,
        maxOutputTokens: 9,
        stop: ["a"],
        seed: 0,
        presencePenalty: 0,
        frequencyPenalty: 1,
        logprobs: false,
        topLogprobs: 0,
        responseFormat: {
          type: "json_schema",
          name: "n",
          schema: { type: "object" },
          strict: true,
        },
        extra: { min_p: 0.1, chat_template_kwargs: { enable_thinking: false } },
      },
    });
    expect(body).toMatchObject({
      temperature: 0,
      top_p: 0.5,
      top_k: -1,
      max_tokens: 9,
      stop: ["a"],
      seed: 0,
      presence_penalty: 0,
      frequency_penalty: 1,
      logprobs: false,
      top_logprobs: 0,
      response_format: {
        type: "json_schema",
        json_schema: { name: "n", schema: { type: "object" }, strict: true },
      },
      min_p: 0.1,
      chat_template_kwargs: { enable_thinking: false },
    });
  });

  it("is the gateway's where a further field has the same name", () => {
    const extra = {
      model: "x",
      messages: [],
      stream: true,
      stream_options: {},
      temperature: 9,
      tools: [],
    };
    const body = build({ parameters: { temperature: 1, extra } });
    expect(body).toMatchObject({ model: "served", stream: false, temperature: 1 });
    expect(body.messages).toHaveLength(1);
    expect(body.stream_options).toBeUndefined();
  });

  it("has tools, the choice of them and whether they may be called side by side", () => {
    const tools = [
      { name: "f", description: "d", parameters: { type: "object" }, strict: false },
      { name: "g" },
    ];
    const body = build({
      tools,
      toolChoice: { type: "tool", name: "f" },
      parallelToolCalls: false,
    });
    expect(body).toMatchObject({
      tools: [
        {
          type: "function",
          function: { name: "f", description: "d", parameters: { type: "object" }, strict: false },
        },
        { type: "function", function: { name: "g" } },
      ],
      tool_choice: { type: "function", function: { name: "f" } },
      parallel_tool_calls: false,
    });
    expect(build({ tools, toolChoice: { type: "required" } }).tool_choice).toBe("required");
    const without = build({ toolChoice: { type: "auto" }, parallelToolCalls: true });
    expect(Object.keys(without).sort()).toEqual(["messages", "model", "stream"]);
  });

  it("has messages in their order, with thoughts, calls, results, images and sound", () => {
    const { messages } = build({
      messages: [
        {
          role: "system",
          content: [
            { type: "text", text: "A" },
            { type: "text", text: "B" },
          ],
        },
        {
          role: "user",
          name: "u",
          content: [
            { type: "text", text: "See" },
            {
              type: "image",
              source: { kind: "url", url: "https://a.example/b.png" },
              detail: "low",
            },
            { type: "image", source: { kind: "base64", mediaType: "image/png", data: "AAAA" } },
            { type: "audio", data: "BBBB", format: "wav" },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "Hm" },
            { type: "tool-call", callId: "c1", name: "f", arguments: ' {"a" : 1e2} ' },
            { type: "tool-call", callId: "c2", name: "g", arguments: "" },
          ],
        },
        { role: "tool", callId: "c1", content: [{ type: "text", text: "1" }] },
        { role: "tool", callId: "c2", content: [] },
        { role: "system", content: [{ type: "text", text: "Be kind." }] },
        { role: "assistant", content: [{ type: "refusal", text: "No." }] },
        { role: "assistant", content: [] },
      ],
    });
    expect(messages).toEqual([
      {
        role: "system",
        content: [
          { type: "text", text: "A" },
          { type: "text", text: "B" },
        ],
      },
      {
        role: "user",
        name: "u",
        content: [
          { type: "text", text: "See" },
          { type: "image_url", image_url: { url: "https://a.example/b.png", detail: "low" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        reasoning_content: "Hm",
        tool_calls: [
          { id: "c1", type: "function", function: { name: "f", arguments: ' {"a" : 1e2} ' } },
          { id: "c2", type: "function", function: { name: "g", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: "1" },
      { role: "tool", tool_call_id: "c2", content: "" },
      { role: "system", content: "Be kind." },
      { role: "assistant", content: "No." },
      { role: "assistant", content: "" },
    ]);
  });
});
