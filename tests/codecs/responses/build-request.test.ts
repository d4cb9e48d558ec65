import { describe, expect, it } from "vitest";
import { responsesClient } from "../../../src/codecs/responses/client.ts";
import type {
  AssistantPart,
  ChatMessage,
  ChatRequest,
} from "../../../src/core/chat/chat-request.ts";
import { ServiceError } from "../../../src/core/service-error.ts";

const HI: ChatRequest = {
  model: "alias",
  messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  tools: [],
  parameters: {},
  stream: false,
};

function build(changes: Partial<ChatRequest>) {
  return JSON.parse(
    responsesClient.build({ ...HI, ...changes }, { name: "m-pro", contextLength: undefined }),
  );
}

const inputOf = (...messages: readonly ChatMessage[]) => build({ messages }).input;
const turn = (...content: readonly AssistantPart[]) => inputOf({ role: "assistant", content });
const SEAL = "openai.rs_1:gAAAA==";
const THOUGHT_ITEM = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Hm" }],
  encrypted_content: "gAAAA==",
};
const CALL = { type: "tool-call", callId: "c1", name: "f", arguments: ' {"a" : 1e2} ' } as const;
const CALL_ITEM = {
  type: "function_call",
  call_id: "c1",
  name: "f",
  arguments: ' {"a" : 1e2} ',
};

describe("the body", () => {
  it("stores nothing, asks for the seals of thoughts and says no more than the request does", () => {
    expect(build({})).toEqual({
      model: "m-pro",
      input: [{ role: "user", content: "Hi" }],
      store: false,
      include: ["reasoning.encrypted_content"],
      stream: false,
    });
    expect(build({ stream: true }).stream).toBe(true);
  });

  it("has every parameter that the format knows, and leaves out the others", () => {
    const body = build({
      parameters: {
        temperature: 0,
        topP: 0.5,
        topK: 4,
        maxOutputTokens: 9,
        stop: ["a"],
        seed: 1,
        presencePenalty: 1,
        frequencyPenalty: 1,
        logprobs: true,
        topLogprobs: 2,
        extra: { reasoning: { effort: "high", summary: "auto" }, verbosity: "low", user: "u" },
      },
    });
    expect(body).toEqual({
      model: "m-pro",
      input: [{ role: "user", content: "Hi" }],
      temperature: 0,
      top_p: 0.5,
      max_output_tokens: 9,
      top_logprobs: 2,
      reasoning: { effort: "high", summary: "auto" },
      text: { verbosity: "low" },
      user: "u",
      store: false,
      include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
      stream: false,
    });
  });

  it("is the gateway's where a further field has the same name", () => {
    const extra = {
      model: "x",
      input: "x",
      stream: true,
      store: true,
      include: [],
      temperature: 9,
      tools: [{}],
      tool_choice: "required",
    };
    const body = build({ parameters: { temperature: 1, extra } });
    expect(body).toMatchObject({ model: "m-pro", stream: false, store: false, temperature: 1 });
    expect(body.input).toEqual([{ role: "user", content: "Hi" }]);
    expect(body.include).toEqual(["reasoning.encrypted_content"]);
    expect(Object.keys(body)).not.toContain("tools");
    expect(Object.keys(body)).not.toContain("tool_choice");
  });

  it.each([
    [{ type: "text" }, { type: "text" }],
    [{ type: "json_object" }, { type: "json_object" }],
    [
      {
        type: "json_schema",
        name: "n",
        schema: { type: "object" },
        strict: true,
        description: "d",
      },
      {
        type: "json_schema",
        name: "n",
        schema: { type: "object" },
        strict: true,
        description: "d",
      },
    ],
    [
      { type: "json_schema", name: "n", schema: undefined },
      { type: "json_schema", name: "n", schema: {} },
    ],
  ] as const)("has the format %j", (responseFormat, format) => {
    expect(build({ parameters: { responseFormat } }).text).toEqual({ format });
  });

  it("has flat tools, strict only where that was asked, and the choice of them", () => {
    const tools = [
      { name: "f", description: "d", parameters: { type: "object" }, strict: true },
      { name: "g" },
    ];
    const flat = [
      {
        type: "function",
        name: "f",
        description: "d",
        parameters: { type: "object" },
        strict: true,
      },
      {
        type: "function",
        name: "g",
        parameters: { type: "object", properties: {} },
        strict: false,
      },
    ];
    const named = { type: "tool", name: "f" } as const;
    expect(build({ tools, toolChoice: named, parallelToolCalls: false })).toMatchObject({
      tools: flat,
      tool_choice: { type: "function", name: "f" },
      parallel_tool_calls: false,
    });
    for (const type of ["auto", "none", "required"] as const) {
      expect(build({ tools, toolChoice: { type } }).tool_choice).toBe(type);
    }
    const without = build({ toolChoice: named, parallelToolCalls: true });
    expect(Object.keys(without)).not.toContain("tool_choice");
    expect(Object.keys(without)).not.toContain("parallel_tool_calls");
  });
});

describe("the input", () => {
  it("has messages in their order, with images and documents", () => {
    const pdf = { kind: "base64", mediaType: "application/pdf", data: "JVBERi0=" } as const;
    const input = inputOf(
      { role: "system", content: [{ type: "text", text: "A" }] },
      {
        role: "user",
        name: "u",
        content: [
          { type: "text", text: "See" },
          { type: "image", source: { kind: "url", url: "https://a.example/b.png" }, detail: "low" },
          { type: "image", source: { kind: "base64", mediaType: "image/png", data: "AAAA" } },
          { type: "document", source: pdf, title: "a.pdf" },
          { type: "document", source: pdf },
          { type: "document", source: { kind: "url", url: "https://a.example/c.pdf" } },
        ],
      },
      {
        role: "system",
        content: [
          { type: "text", text: "B" },
          { type: "text", text: "C" },
        ],
      },
      { role: "user", content: [] },
    );
    const file_data = "data:application/pdf;base64,JVBERi0=";
    expect(input).toEqual([
      { role: "developer", content: "A" },
      {
        role: "user",
        content: [
          { type: "input_text", text: "See" },
          { type: "input_image", image_url: "https://a.example/b.png", detail: "low" },
          { type: "input_image", image_url: "data:image/png;base64,AAAA" },
          { type: "input_file", filename: "a.pdf", file_data },
          { type: "input_file", filename: "document.pdf", file_data },
          { type: "input_file", file_url: "https://a.example/c.pdf" },
        ],
      },
      {
        role: "developer",
        content: [
          { type: "input_text", text: "B" },
          { type: "input_text", text: "C" },
        ],
      },
      { role: "user", content: "" },
    ]);
  });

  it("refuses sound, naming its place", () => {
    const at = "messages[0].content[0]";
    const sound = () =>
      inputOf({ role: "user", content: [{ type: "audio", data: "A", format: "wav", at }] });
    expect(sound).toThrow(ServiceError);
    expect(sound).toThrow(expect.objectContaining({ code: "unsupported_parameter", param: at }));
  });

  it("has what the model said, thought and called as items in their order", () => {
    expect(
      turn(
        { type: "reasoning", text: "Hm", signature: SEAL },
        { type: "text", text: "A" },
        { type: "refusal", text: "No." },
        { type: "reasoning", text: "", redacted: "openai.rs_2:gBBBB" },
        CALL,
        { ...CALL, callId: "c2", arguments: "" },
        { type: "text", text: "B" },
      ),
    ).toEqual([
      THOUGHT_ITEM,
      {
        type: "message",
        role: "assistant",
        content: [
          { type: "output_text", text: "A" },
          { type: "refusal", refusal: "No." },
        ],
      },
      { type: "reasoning", id: "rs_2", summary: [], encrypted_content: "gBBBB" },
      CALL_ITEM,
      { ...CALL_ITEM, call_id: "c2", arguments: "{}" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "B" }] },
    ]);
    expect(turn()).toEqual([]);
  });

  it.each([undefined, "", "sig", "gemini.x", "gateway.x", "openai.", "openai.rs_1", "openai.:x"])(
    "has no thought whose seal is %j",
    (signature) => {
      expect(turn({ type: "reasoning", text: "Hm", signature }, CALL)).toEqual([CALL_ITEM]);
      expect(turn({ type: "reasoning", text: "", redacted: signature }, CALL)).toEqual([CALL_ITEM]);
    },
  );

  it("has no thought that nothing came of", () => {
    expect(turn(CALL, { type: "reasoning", text: "Hm", signature: SEAL })).toEqual([CALL_ITEM]);
  });

  it("has the results of calls under their ids, as text or as parts", () => {
    const long = `call_${"x".repeat(70)}`;
    const image = {
      type: "image",
      source: { kind: "url", url: "https://a.example/b.png" },
    } as const;
    const [asked, one, two, none] = inputOf(
      { role: "assistant", content: [{ ...CALL, callId: long }] },
      { role: "tool", callId: long, content: [{ type: "text", text: "1" }] },
      { role: "tool", callId: "c2", content: [{ type: "text", text: "2" }, image] },
      { role: "tool", callId: "c3", content: [] },
    );
    expect(asked.call_id).toMatch(/^[A-Za-z0-9]{32}$/);
    expect(one).toEqual({ type: "function_call_output", call_id: asked.call_id, output: "1" });
    expect(two).toEqual({
      type: "function_call_output",
      call_id: "c2",
      output: [
        { type: "input_text", text: "2" },
        { type: "input_image", image_url: "https://a.example/b.png" },
      ],
    });
    expect(none.output).toBe("");
  });

  it("has a thought again as it was read", () => {
    const item = { ...THOUGHT_ITEM, id: "rs_9", encrypted_content: "gC+/=:x" };
    const call = { ...CALL_ITEM, id: "fc_9" };
    const body = { id: "resp_9", status: "completed", output: [item, call] };
    const parts: AssistantPart[] = [];
    for (const event of responsesClient.readAnswer(JSON.stringify(body))) {
      if (event.type === "signature") {
        const { signature, redacted } = event;
        parts.push({ type: "reasoning", text: "Hm", signature, redacted }, CALL);
      }
    }
    expect(turn(...parts)).toEqual([item, CALL_ITEM]);
  });
});
