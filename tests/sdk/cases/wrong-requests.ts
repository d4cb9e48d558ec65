import { beforeAll, describe, expect, it } from "vitest";
import { type EngineGateway, say } from "../engine-gateway.ts";

/** The field that the answer must name, and what is wrong about the body. */
type Wrong = readonly [param: string | null, body: unknown];

const hello = { role: "user", content: "hello" };
const tool = { type: "function", function: { name: "get_time" } };
const part = (wrong: unknown) => ({ messages: [{ role: "user", content: [wrong] }] });
const image = (url: unknown) => part({ type: "image_url", image_url: { url } });
const message = (wrong: unknown) => ({ messages: [wrong] });
const call = (wrong: unknown) => message({ role: "assistant", tool_calls: [wrong] });
const format = (json_schema: unknown) => ({
  response_format: { type: "json_schema", json_schema },
});
const aFunction = (wrong: object) => ({ tools: [{ type: "function", function: wrong }] });

const PART = "messages[0].content[0]";
const CALL = "messages[0].tool_calls[0]";

const wrongBodies: readonly Wrong[] = [
  [null, []],
  [null, "hello"],
  [null, 5],
  [null, null],
  [null, true],
  ["messages", { messages: undefined }],
  ["messages", { messages: null }],
  ["messages", { messages: "hello" }],
  ["messages", { messages: hello }],
  ["messages", { messages: [] }],
  ["messages[0]", message("hello")],
  ["messages[0]", message(null)],
  ["messages[0].role", message({})],
  ["messages[0].role", message({ content: "hello" })],
  ["messages[0].role", message({ role: "wizard", content: "hello" })],
  ["messages[0].role", message({ role: 7, content: "hello" })],
  ["messages[0].content", message({ role: "user" })],
  ["messages[0].content", message({ role: "user", content: null })],
  ["messages[0].content", message({ role: "user", content: 5 })],
  ["messages[0].content", message({ role: "user", content: {} })],
  ["messages[0].content", message({ role: "user", content: [] })],
  ["messages[0].content", message({ role: "system", content: null })],
  ["messages[0].content", message({ role: "system", content: [] })],
  ["messages[0].content", message({ role: "developer", content: 5 })],
  ["messages[0].content", message({ role: "assistant", content: 5 })],
  ["messages[0].content", message({ role: "tool", tool_call_id: "a", content: 5 })],
  ["messages[0].name", message({ role: "user", content: "hello", name: 5 })],
  ["messages[2].content", { messages: [hello, hello, { role: "user" }] }],
  [PART, part("hello")],
  [PART, part(null)],
  [`${PART}.type`, part({ text: "hello" })],
  [`${PART}.type`, part({ type: "video", video: "x" })],
  [`${PART}.text`, part({ type: "text" })],
  [`${PART}.text`, part({ type: "text", text: 5 })],
  [`${PART}.image_url`, part({ type: "image_url" })],
  [`${PART}.image_url`, part({ type: "image_url", image_url: "file:///etc/passwd" })],
  [`${PART}.image_url.url`, image(undefined)],
  [`${PART}.image_url.url`, image(5)],
  [`${PART}.image_url.url`, image("")],
  [`${PART}.image_url.url`, image("cat.png")],
  [`${PART}.image_url.url`, image("file:///etc/passwd")],
  [`${PART}.image_url.url`, image("ftp://example.com/cat.png")],
  [`${PART}.image_url.url`, image("data:text/html;base64,AAAA")],
  [`${PART}.image_url.url`, image("data:image/svg+xml,<svg></svg>")],
  [`${PART}.input_audio`, part({ type: "input_audio" })],
  [`${PART}.input_audio.data`, part({ type: "input_audio", input_audio: { format: "wav" } })],
  [`${PART}.type`, message({ role: "system", content: [{ type: "image_url", image_url: "x" }] })],
  ["messages[0].tool_call_id", message({ role: "tool", content: "done" })],
  ["messages[0].tool_call_id", message({ role: "tool", tool_call_id: 5, content: "done" })],
  ["messages[0].tool_calls", message({ role: "assistant", tool_calls: "all" })],
  [CALL, call("get_time")],
  [`${CALL}.id`, call({ type: "function", function: { name: "f", arguments: "{}" } })],
  [`${CALL}.function`, call({ id: "a", type: "function" })],
  [`${CALL}.function.name`, call({ id: "a", function: { arguments: "{}" } })],
  [`${CALL}.function.arguments`, call({ id: "a", function: { name: "f", arguments: 5 } })],
  ["model", { model: 5 }],
  ["model", { model: {} }],
  ["model", { model: ["sim-chat"] }],
  ["stream", { stream: "yes" }],
  ["stream", { stream: 1 }],
  ["stream_options", { stream_options: "usage" }],
  ["stream_options.include_usage", { stream_options: { include_usage: "yes" } }],
  ["temperature", { temperature: "hot" }],
  ["temperature", { temperature: -0.1 }],
  ["temperature", { temperature: [1] }],
  ["top_p", { top_p: 1.1 }],
  ["top_p", { top_p: -0.1 }],
  ["top_p", { top_p: "0.5" }],
  ["top_k", { top_k: 1.5 }],
  ["top_k", { top_k: -2 }],
  ["top_k", { top_k: "40" }],
  ["max_tokens", { max_tokens: -5 }],
  ["max_tokens", { max_tokens: 1.5 }],
  ["max_tokens", { max_tokens: "100" }],
  ["max_completion_tokens", { max_completion_tokens: -1 }],
  ["max_completion_tokens", { max_completion_tokens: {} }],
  ["stop", { stop: 5 }],
  ["stop", { stop: { word: "x" } }],
  ["stop[1]", { stop: ["a", 5] }],
  ["seed", { seed: "42" }],
  ["seed", { seed: 1.5 }],
  ["presence_penalty", { presence_penalty: "much" }],
  ["frequency_penalty", { frequency_penalty: {} }],
  ["logprobs", { logprobs: "yes" }],
  ["logprobs", { logprobs: 5 }],
  ["top_logprobs", { top_logprobs: -1 }],
  ["top_logprobs", { top_logprobs: 1.5 }],
  ["top_logprobs", { top_logprobs: true }],
  ["n", { n: 2 }],
  ["n", { n: 0 }],
  ["n", { n: -1 }],
  ["n", { n: 1.5 }],
  ["n", { n: "1" }],
  ["n", { n: [] }],
  ["response_format", { response_format: "json" }],
  ["response_format.type", { response_format: {} }],
  ["response_format.json_schema", format(undefined)],
  ["response_format.json_schema", format("schema")],
  ["response_format.json_schema.name", format({ schema: {} })],
  ["response_format.json_schema.schema", format({ name: "a", schema: "b" })],
  ["response_format.json_schema.strict", format({ name: "a", schema: {}, strict: "yes" })],
  ["reasoning_effort", { reasoning_effort: "extreme" }],
  ["reasoning_effort", { reasoning_effort: "" }],
  ["reasoning_effort", { reasoning_effort: "HIGH" }],
  ["reasoning_effort", { reasoning_effort: 5 }],
  ["reasoning_effort", { reasoning_effort: true }],
  ["tools", { tools: "all" }],
  ["tools", { tools: {} }],
  ["tools[0]", { tools: ["get_time"] }],
  ["tools[1].function", { tools: [tool, { type: "function", function: 5 }] }],
  ["tools[0].function.name", aFunction({})],
  ["tools[0].function.name", aFunction({ name: "" })],
  ["tools[0].function.name", aFunction({ name: 5 })],
  ["tools[0].function.description", aFunction({ name: "f", description: 5 })],
  ["tools[0].function.parameters", aFunction({ name: "f", parameters: "none" })],
  ["tools[0].function.parameters", aFunction({ name: "f", parameters: [] })],
  ["tools[0].function.strict", aFunction({ name: "f", strict: "yes" })],
  ["tool_choice", { tools: [tool], tool_choice: 5 }],
  ["tool_choice", { tools: [tool], tool_choice: "perhaps" }],
  [
    "tool_choice",
    { tools: [tool], tool_choice: { type: "function", function: { name: "other" } } },
  ],
  ["tool_choice.type", { tools: [tool], tool_choice: {} }],
  ["parallel_tool_calls", { tools: [tool], parallel_tool_calls: "yes" }],
  ["functions", { functions: [{ name: "f" }] }],
  ["function_call", { function_call: "auto" }],
  ["metadata", { metadata: "x" }],
  ["metadata", { metadata: ["x"] }],
  ["metadata.ext", { metadata: { ext: "x" } }],
  ["metadata.ext.thinking", { metadata: { ext: { thinking: 5 } } }],
  ["metadata.ext.thinking", { metadata: { ext: { thinking: "extreme" } } }],
  ["metadata.service.thinking", { metadata: { service: { thinking: "extreme" } } }],
  ["metadata.ext.tools_scope", { metadata: { ext: { tools_scope: "all" } } }],
  ["metadata.ext.tools_scope[0]", { metadata: { ext: { tools_scope: [5] } } }],
  ["metadata.ext.tools_scope", { metadata: { ext: { tools_scope: ["get_time"] } } }],
];

/** Numbers that JSON can write and no program can hold. */
const wrongTexts: readonly Wrong[] = [
  ["temperature", '{"messages":[{"role":"user","content":"hello"}],"temperature":1e400}'],
  ["max_tokens", '{"messages":[{"role":"user","content":"hello"}],"max_tokens":1e400}'],
  ["seed", '{"messages":[{"role":"user","content":"hello"}],"seed":-1e400}'],
];

/** Whatever is wrong is answered in the chat form with the field's name, and the engine never hears of it. */
export function wrongRequestCases(opened: () => EngineGateway): void {
  describe("7 a wrong field is a 400 that names it", () => {
    let world: EngineGateway;
    beforeAll(() => {
      world = opened();
    });

    it.each(wrongBodies.map(([param, wrong]) => [param ?? "the body", param, withRest(wrong)]))(
      "%s: %j %s",
      async (_, param, body) => {
        await expectRefused(world, param as string | null, body);
      },
    );

    it.each(wrongTexts)("%s beyond all numbers", async (param, text) => {
      await expectRefused(world, param, text);
    });

    it("counts at least sixty wrong bodies", () => {
      const different = new Set(wrongBodies.map((wrong) => JSON.stringify(wrong)));
      expect(different.size).toBeGreaterThanOrEqual(60);
    });
  });
}

async function expectRefused(world: EngineGateway, param: string | null, body: unknown) {
  const response = await world.post(typeof body === "string" ? body : JSON.stringify(body));
  expect(response.status).toBe(400);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("x-request-id")).toBeTruthy();
  const refusal = (await response.json()) as { error: Record<string, unknown> };
  expect(Object.keys(refusal)).toEqual(["error"]);
  expect(refusal.error).toEqual({
    message: expect.stringContaining(param ?? "The body"),
    type: "invalid_request_error",
    param,
    code: expect.stringMatching(/^(invalid_value|unsupported_parameter)$/),
  });
  expect(world.calls()).toEqual([]);

  const next = await world.post({ messages: say("fine") });
  expect(await next.json()).toMatchObject({ choices: [{ message: { content: "fine" } }] });
}

/** The wrong part in a body that is right otherwise; streaming, so that a refusal must not be a stream. */
function withRest(wrong: unknown): unknown {
  const isPart = typeof wrong === "object" && wrong !== null && !Array.isArray(wrong);
  return isPart ? { messages: [hello], stream: true, ...wrong } : JSON.stringify(wrong);
}
