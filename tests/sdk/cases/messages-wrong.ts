import { beforeAll, describe, expect, it } from "vitest";
import { postMessages } from "../ask-messages.ts";
import { type EngineGateway, say } from "../engine-gateway.ts";

/** The field that the answer must name, and what is wrong about the body. */
type Wrong = readonly [field: string, body: unknown];

const hello = { role: "user", content: "hello" };
const tool = { name: "get_time", input_schema: { type: "object" } };
const message = (wrong: unknown) => ({ messages: [wrong] });
const block = (wrong: unknown) => message({ role: "user", content: [wrong] });
const said = (wrong: unknown) => message({ role: "assistant", content: [wrong] });
const image = (source: unknown) => block({ type: "image", source });
const document = (source: unknown) => block({ type: "document", source });
const result = (wrong: object) => block({ type: "tool_result", tool_use_id: "a", ...wrong });
const aTool = (wrong: unknown) => ({ tools: [wrong] });
const choice = (tool_choice: unknown) => ({ tools: [tool], tool_choice });

const BLOCK = "messages[0].content[0]";

const wrongBodies: readonly Wrong[] = [
  ["The body", []],
  ["The body", "hello"],
  ["The body", 5],
  ["The body", null],
  ["max_tokens", { max_tokens: undefined }],
  ["max_tokens", { max_tokens: null }],
  ["max_tokens", { max_tokens: -1 }],
  ["max_tokens", { max_tokens: 1.5 }],
  ["max_tokens", { max_tokens: "100" }],
  ["messages", { messages: undefined }],
  ["messages", { messages: null }],
  ["messages", { messages: "hello" }],
  ["messages", { messages: hello }],
  ["messages", { messages: [] }],
  ["messages[0]", message("hello")],
  ["messages[0].role", message({ content: "hello" })],
  ["messages[0].role", message({ role: "tool", content: "hello" })],
  ["messages[0].role", message({ role: "developer", content: "hello" })],
  ["messages[0].content", message({ role: "user" })],
  ["messages[0].content", message({ role: "user", content: null })],
  ["messages[0].content", message({ role: "user", content: 5 })],
  ["messages[0].content", message({ role: "user", content: [] })],
  ["messages[0].content", message({ role: "assistant", content: null })],
  ["messages[0].content", message({ role: "system", content: 5 })],
  ["messages[1].content", { messages: [hello, { role: "user" }] }],
  [BLOCK, block("hello")],
  [BLOCK, block(null)],
  [`${BLOCK}.type`, block({ text: "hello" })],
  [`${BLOCK}.type`, block({ type: "video", source: {} })],
  [`${BLOCK}.file_id`, block({ type: "container_upload", file_id: "file_1" })],
  [`${BLOCK}.type`, block({ type: "thinking", thinking: "Hm" })],
  [`${BLOCK}.type`, block({ type: "tool_use", id: "a", name: "f", input: {} })],
  [`${BLOCK}.text`, block({ type: "text" })],
  [`${BLOCK}.text`, block({ type: "text", text: 5 })],
  [`${BLOCK}.cache_control`, block({ type: "text", text: "a", cache_control: "ephemeral" })],
  [`${BLOCK}.source`, block({ type: "image" })],
  [`${BLOCK}.source.type`, image({})],
  [`${BLOCK}.source.type`, image({ type: "file", file_id: "file_1" })],
  [`${BLOCK}.source.media_type`, image({ type: "base64", data: "AAAA" })],
  [`${BLOCK}.source.media_type`, image({ type: "base64", media_type: "text/html", data: "AAAA" })],
  [`${BLOCK}.source.data`, image({ type: "base64", media_type: "image/png" })],
  [`${BLOCK}.source.data`, image({ type: "base64", media_type: "image/png", data: "" })],
  [`${BLOCK}.source.url`, image({ type: "url" })],
  [`${BLOCK}.source.url`, image({ type: "url", url: "file:///etc/passwd" })],
  [`${BLOCK}.source.url`, image({ type: "url", url: "cat.png" })],
  [`${BLOCK}.source.type`, document({ type: "file", file_id: "file_1" })],
  [`${BLOCK}.source.media_type`, document({ type: "base64", media_type: "video/mp4", data: "A" })],
  [`${BLOCK}.source.data`, document({ type: "text" })],
  [`${BLOCK}.source.content`, document({ type: "content", content: 5 })],
  [`${BLOCK}.source.content[0].type`, document({ type: "content", content: [{ type: "x" }] })],
  [`${BLOCK}.title`, block({ type: "search_result", source: "a", content: [] })],
  [`${BLOCK}.content`, block({ type: "search_result", source: "a", title: "b", content: "c" })],
  [`${BLOCK}.tool_use_id`, block({ type: "tool_result", content: "x" })],
  [`${BLOCK}.tool_use_id`, result({ tool_use_id: 5 })],
  [`${BLOCK}.content`, result({ content: 5 })],
  [`${BLOCK}.content[0].type`, result({ content: [{ type: "video" }] })],
  [
    `${BLOCK}.content[0].source.url`,
    result({ content: [{ type: "image", source: { type: "url" } }] }),
  ],
  [`${BLOCK}.is_error`, result({ is_error: "yes" })],
  [`${BLOCK}.type`, said({ type: "image", source: {} })],
  [`${BLOCK}.type`, said({ type: "tool_result", tool_use_id: "a" })],
  [`${BLOCK}.thinking`, said({ type: "thinking", signature: "a" })],
  [`${BLOCK}.data`, said({ type: "redacted_thinking" })],
  [`${BLOCK}.id`, said({ type: "tool_use", name: "f", input: {} })],
  [`${BLOCK}.name`, said({ type: "tool_use", id: "a", input: {} })],
  [`${BLOCK}.input`, said({ type: "tool_use", id: "a", name: "f" })],
  [`${BLOCK}.input`, said({ type: "tool_use", id: "a", name: "f", input: "{}" })],
  ["system", { system: 5 }],
  ["system[0].type", { system: [{ type: "image" }] }],
  ["system[0].text", { system: [{ type: "text" }] }],
  ["model", { model: 5 }],
  ["stream", { stream: "yes" }],
  ["temperature", { temperature: 1.1 }],
  ["temperature", { temperature: -0.1 }],
  ["temperature", { temperature: "hot" }],
  ["top_p", { top_p: 1.1 }],
  ["top_k", { top_k: 1.5 }],
  ["top_k", { top_k: -1 }],
  ["stop_sequences", { stop_sequences: "END" }],
  ["stop_sequences[1]", { stop_sequences: ["a", 5] }],
  ["stop_sequences[0]", { stop_sequences: [""] }],
  ["tools", { tools: {} }],
  ["tools[0]", aTool("get_time")],
  ["tools[0].name", aTool({ input_schema: { type: "object" } })],
  ["tools[0].name", aTool({ name: "", input_schema: { type: "object" } })],
  ["tools[0].input_schema", aTool({ name: "f" })],
  ["tools[0].input_schema", aTool({ name: "f", input_schema: "none" })],
  ["tools[0].input_schema.type", aTool({ name: "f", input_schema: { type: "string" } })],
  ["tools[0].description", aTool({ ...tool, description: 5 })],
  ["tools[0].strict", aTool({ ...tool, strict: "yes" })],
  ["tool_choice", choice("auto")],
  ["tool_choice.type", choice({})],
  ["tool_choice.type", choice({ type: "required" })],
  ["tool_choice.name", choice({ type: "tool" })],
  ["tool_choice.name", choice({ type: "tool", name: "other" })],
  ["tool_choice.disable_parallel_tool_use", choice({ type: "auto", disable_parallel_tool_use: 1 })],
  ["thinking", { thinking: "high" }],
  ["thinking.type", { thinking: { type: "extreme" } }],
  ["thinking.budget_tokens", { thinking: { type: "enabled", budget_tokens: "many" } }],
  ["thinking.display", { thinking: { type: "adaptive", display: "loud" } }],
  ["output_config", { output_config: "high" }],
  ["output_config.effort", { output_config: { effort: "extreme" } }],
  ["output_config.format.type", { output_config: { format: { type: "json" } } }],
  ["output_config.format.schema", { output_config: { format: { type: "json_schema" } } }],
  ["output_format.schema", { output_format: { type: "json_schema", schema: "a" } }],
  ["metadata", { metadata: "x" }],
  ["metadata.ext.thinking", { metadata: { ext: { thinking: "extreme" } } }],
  ["metadata.ext.tools_scope", { metadata: { ext: { tools_scope: ["get_time"] } } }],
  ["ext.fallbacks", { ext: { fallbacks: "sim-small" } }],
];

/** Whatever is wrong is answered in the messages form with the field's name, and the engine never hears of it. */
export function wrongMessageCases(opened: () => EngineGateway): void {
  describe("7 a wrong field of POST /v1/messages is a 400 that names it", () => {
    let world: EngineGateway;
    beforeAll(() => {
      world = opened();
    });

    it.each(wrongBodies.map(([field, wrong]) => [field, withRest(wrong)]))(
      "%s: %s",
      async (field, body) => {
        const response = await postMessages(world, body);
        expect(response.status).toBe(400);
        expect(response.headers.get("content-type")).toBe("application/json");
        const name = field === "The body" ? field : `'${field}'`;
        const message = expect.stringContaining(field.startsWith("metadata.ext.t") ? field : name);
        expect(await response.json()).toEqual({
          type: "error",
          error: { type: "invalid_request_error", message },
          request_id: response.headers.get("request-id"),
        });
        expect(world.calls()).toEqual([]);
      },
    );

    it("goes on answering after all of them", async () => {
      const response = await postMessages(world, { max_tokens: 64, messages: say("fine") });
      expect(await response.json()).toMatchObject({ content: [{ text: "fine" }] });
    });

    it("counts at least sixty wrong bodies", () => {
      const different = new Set(wrongBodies.map((wrong) => JSON.stringify(wrong)));
      expect(different.size).toBeGreaterThanOrEqual(60);
    });
  });
}

/** The wrong part in a body that is right otherwise; streaming, so that a refusal must not be a stream. */
function withRest(wrong: unknown): string {
  const isPart = typeof wrong === "object" && wrong !== null && !Array.isArray(wrong);
  const body = isPart ? { max_tokens: 64, messages: [hello], stream: true, ...wrong } : wrong;
  return JSON.stringify(body);
}
