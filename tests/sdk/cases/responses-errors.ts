import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { readResponseEvents } from "../../codecs/responses/read-response-events.ts";
import { expectChatForm } from "../../support/clients/expect-chat-error.ts";
import type { Body, EngineGateway } from "../engine-gateway.ts";
import { postResponse } from "../post-response.ts";

/** The field that the answer must name, and what is wrong about the body. */
type Wrong = readonly [param: string | null, body: unknown];

const tool = { type: "function", name: "get_time" };
const item = (wrong: unknown) => ({ input: [wrong] });
const message = (content: unknown, role = "user") => item({ role, content });
const part = (wrong: unknown) => message([wrong]);
const image = (wrong: object) => part({ type: "input_image", ...wrong });
const file = (wrong: object) => part({ type: "input_file", ...wrong });
const call = (wrong: object) => item({ type: "function_call", ...wrong });
const custom = (wrong: object) => item({ type: "custom_tool_call", ...wrong });
const output = (wrong: object) => item({ type: "function_call_output", ...wrong });
const thought = (wrong: object) => item({ type: "reasoning", ...wrong });
const tools = (...wrong: readonly unknown[]) => ({ tools: wrong });
const choice = (tool_choice: unknown) => ({ tools: [tool], tool_choice });
const format = (wrong: unknown) => ({ text: { format: wrong } });

const PART = "input[0].content[0]";

const wrongBodies: readonly Wrong[] = [
  [null, []],
  [null, 5],
  [null, null],
  ["input", { input: undefined }],
  ["input", { input: null }],
  ["input", { input: "" }],
  ["input", { input: [] }],
  ["input", { input: 5 }],
  ["input", { input: { role: "user", content: "hello" } }],
  ["input[0]", item("hello")],
  ["input[0]", item(null)],
  ["input[0].type", item({ type: 5 })],
  ["input[0].role", item({})],
  ["input[0].role", item({ content: "hello" })],
  ["input[0].role", item({ role: "tool", content: "hello" })],
  ["input[0].content", item({ role: "user" })],
  ["input[0].content", message(null)],
  ["input[0].content", message(5)],
  ["input[0].content", message([])],
  ["input[0].content", message([], "developer")],
  ["input[0].content", message(5, "assistant")],
  ["input[1].content", { input: [{ role: "user", content: "hello" }, { role: "user" }] }],
  [PART, part("hello")],
  [`${PART}.type`, part({ text: "hello" })],
  [`${PART}.type`, part({ type: "text", text: "hello" })],
  [`${PART}.text`, part({ type: "input_text" })],
  [`${PART}.type`, message([{ type: "input_image", image_url: "x" }], "system")],
  [`${PART}.refusal`, message([{ type: "refusal", text: "x" }], "assistant")],
  [`${PART}.image_url`, image({})],
  [`${PART}.image_url`, image({ image_url: { url: "https://example.com/a.png" } })],
  [`${PART}.image_url`, image({ image_url: "file:///etc/passwd" })],
  [`${PART}.image_url`, image({ image_url: "data:text/html;base64,AAAA" })],
  [`${PART}.file_id`, image({ file_id: "file-1" })],
  [`${PART}.file_data`, file({})],
  [`${PART}.file_data`, file({ file_data: "a.pdf" })],
  [`${PART}.file_data`, file({ file_data: "data:text/plain;base64,/w==" })],
  [`${PART}.file_url`, file({ file_url: "ftp://example.com/a.pdf" })],
  [`${PART}.file_id`, file({ file_id: "file-1" })],
  [`${PART}.input_audio`, part({ type: "input_audio" })],
  ["input[0].call_id", call({ name: "f", arguments: "{}" })],
  ["input[0].name", call({ call_id: "c", arguments: "{}" })],
  ["input[0].arguments", call({ call_id: "c", name: "f" })],
  ["input[0].arguments", call({ call_id: "c", name: "f", arguments: {} })],
  ["input[0].input", custom({ call_id: "c", name: "f", input: {} })],
  ["input[0].call_id", output({ output: "x" })],
  ["input[0].output", output({ call_id: "c" })],
  ["input[0].output", output({ call_id: "c", output: 5 })],
  ["input[0].output[0].type", output({ call_id: "c", output: [{ type: "input_audio" }] })],
  ["input[0].summary", thought({ summary: "x" })],
  ["input[0].summary[0].text", thought({ summary: [{ type: "summary_text" }] })],
  ["input[0].encrypted_content", thought({ summary: [], encrypted_content: 5 })],
  ["instructions", { instructions: ["x"] }],
  ["model", { model: 5 }],
  ["stream", { stream: "yes" }],
  ["stream_options", { stream_options: "x" }],
  ["max_output_tokens", { max_output_tokens: 0 }],
  ["max_output_tokens", { max_output_tokens: 1.5 }],
  ["max_output_tokens", { max_output_tokens: "100" }],
  ["temperature", { temperature: -0.1 }],
  ["temperature", { temperature: "hot" }],
  ["top_p", { top_p: 1.1 }],
  ["top_k", { top_k: 1.5 }],
  ["top_logprobs", { top_logprobs: -1 }],
  ["stop[1]", { stop: ["a", 5] }],
  ["seed", { seed: "42" }],
  ["reasoning", { reasoning: "high" }],
  ["reasoning.effort", { reasoning: { effort: "extreme" } }],
  ["reasoning.effort", { reasoning: { effort: 5 } }],
  ["text", { text: "json" }],
  ["text.format", format("json")],
  ["text.format.type", format({})],
  ["text.format.type", format({ type: "yaml" })],
  ["text.format.name", format({ type: "json_schema", schema: {} })],
  ["text.format.schema", format({ type: "json_schema", name: "n" })],
  ["text.format.strict", format({ type: "json_schema", name: "n", schema: {}, strict: "yes" })],
  ["tools", { tools: "all" }],
  ["tools[0]", tools("get_time")],
  ["tools[0].name", tools({ type: "function" })],
  ["tools[0].name", tools({ type: "function", function: { name: "f" } })],
  ["tools[1].parameters", tools(tool, { ...tool, parameters: "none" })],
  ["tools[0].strict", tools({ ...tool, strict: "yes" })],
  ["tools[0].name", tools({ type: "custom" })],
  ["tools[0].format.type", tools({ type: "custom", name: "f", format: {} })],
  ["tools[0].tools", tools({ type: "namespace", name: "n" })],
  ["tools[0].tools[0].name", tools({ type: "namespace", name: "n", tools: [{}] })],
  ["tool_choice", choice(5)],
  ["tool_choice", choice("perhaps")],
  ["tool_choice.type", choice({})],
  ["tool_choice.name", choice({ type: "function", name: "other" })],
  ["tool_choice.name", choice({ type: "custom", name: "get_time" })],
  ["tool_choice.tools", choice({ type: "allowed_tools", mode: "auto" })],
  ["tool_choice.mode", choice({ type: "allowed_tools", mode: "x", tools: [] })],
  ["parallel_tool_calls", { parallel_tool_calls: "yes" }],
  ["include", { include: "all" }],
  ["metadata", { metadata: "x" }],
  ["metadata.ext", { metadata: { ext: "x" } }],
  ["metadata.ext.thinking", { metadata: { ext: { thinking: "extreme" } } }],
  ["metadata.ext.tools_scope", { metadata: { ext: { tools_scope: "all" } } }],
  ["metadata.ext.tools_scope", { metadata: { ext: { tools_scope: ["a"] } } }],
  ["ext.fallbacks", { ext: { fallbacks: "m" } }],
  ["ext.fallbacks", { ext: { fallbacks: Array(9).fill("m") } }],
  ["store", { store: "no" }],
  ["background", { background: true }],
  ["background", { background: "yes" }],
  ["previous_response_id", { previous_response_id: 5 }],
  ["conversation", { conversation: "conv_1" }],
  ["conversation", { conversation: { id: "conv_1" } }],
  ["prompt", { prompt: { id: "pmpt_1" } }],
  ["messages", { messages: [] }],
  ["max_tokens", { max_tokens: 5 }],
  ["response_format", { response_format: { type: "json_object" } }],
  ["reasoning_effort", { reasoning_effort: "low" }],
];

const tolerated: readonly Body[] = [
  { stream_options: { include_obfuscation: true }, truncation: "auto", store: true },
  { previous_response_id: null, conversation: null, prompt: null, background: false },
  { text: {}, reasoning: {}, include: [], tools: [], metadata: {} },
  {
    include: ["file_search_call.results"],
    service_tier: "flex",
    user: "u",
    safety_identifier: "s",
  },
  { max_tool_calls: 3, prompt_cache_key: "k", prompt_cache_retention: "24h", client_metadata: {} },
  { context_management: [{ type: "compaction" }], moderation: {}, something_new: { a: [1] } },
  { tools: [{ type: "image_generation" }], tool_choice: "required" },
];

export function responseErrorCases(opened: () => EngineGateway): void {
  describe("errors of the responses format", () => {
    let world: EngineGateway;

    beforeAll(() => {
      world = opened();
    });

    const post = (body: unknown) => postResponse(world, body);
    const caught = (params: object) =>
      world.openai.responses
        .create({ model: world.modelId("sim-chat"), input: "Say: hi", ...params } as never)
        .then(
          () => expect.fail("it was answered"),
          (error: unknown) => error,
        );

    it.each(wrongBodies)("400 naming %s for %j", async (param, wrong) => {
      const isFields = typeof wrong === "object" && wrong !== null && !Array.isArray(wrong);
      const response = await post(isFields ? { input: "hello", ...wrong } : wrong);
      const body = await response.json();
      expect({ status: response.status, body }).toMatchObject({ status: 400 });
      const error = expectChatForm(body);
      expect(error).toMatchObject({ type: "invalid_request_error", param });
      expect(["invalid_value", "unsupported_parameter"]).toContain(error.code);
      if (param !== null) expect(error.message).toContain(param);
      expect(world.asked()).toEqual([]);
    });

    it.each(tolerated)("200 for %j", async (fields) => {
      const response = await post({ input: "Say: hi", ...fields });
      expect(await response.json()).toMatchObject({ status: "completed", store: true });
    });

    it("says what to do in place of what needs a stored conversation", async () => {
      const error = await caught({ conversation: "conv_1" });
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error).toMatchObject({
        status: 400,
        code: "unsupported_parameter",
        param: "conversation",
        message: expect.stringMatching(/not stored.*whole conversation.*previous_response_id/),
      });
    });

    it("401, 404 and 400 in the chat form before the stream", async () => {
      for (const stream of [false, true]) {
        expect(await caught({ model: "asst_nope", stream })).toMatchObject({
          status: 404,
          code: "model_not_found",
          param: "model",
        });
        const long = { model: world.modelId("sim-small"), input: "word ".repeat(9_000), stream };
        expect(await caught(long)).toMatchObject({
          status: 400,
          code: "context_length_exceeded",
          message: expect.stringContaining("context"),
        });
      }
      const response = await fetch(`${world.gateway.url}/v1/responses`, { method: "POST" });
      expect(response.status).toBe(401);
      expectChatForm(await response.json());
      const broken = await post("{");
      expect(broken.status).toBe(400);
      expect(expectChatForm(await broken.json()).code).toBe("invalid_json");
    });

    it("passes on a refusal of the engine before the stream", async () => {
      const headers = { "retry-after": "7" };
      const respond = { status: 429, headers, body: { error: { message: "Slow down." } } };
      world.simulator.script({ respond, times: "always" });
      const error = await caught({ stream: true });
      expect(error).toBeInstanceOf(OpenAI.RateLimitError);
      expect(error).toMatchObject({ code: "rate_limit_exceeded" });
    });

    it("response.failed in the midst of a stream, after what was said until then", async () => {
      world.simulator.script({ text: "one two three four", error: { at: 3 } });
      const response = await post({ input: "x", stream: true });
      expect(response.status).toBe(200);
      const { last, events } = readResponseEvents(await response.text());
      expect(last.response).toMatchObject({ status: "failed", error: { code: "server_error" } });
      const heard = events.flatMap((event) =>
        event.type === "response.output_text.delta" ? [event.delta] : [],
      );
      expect(heard.join("")).toMatch(/^one/);
    });

    it("502 for a whole answer that breaks off", async () => {
      world.simulator.script({ text: "one two", cut: { at: 1, how: "reset" } });
      const response = await post({ input: "x" });
      expect(response.status).toBe(502);
      expect(expectChatForm(await response.json()).code).toBe("upstream_error");
    });
  });
}
